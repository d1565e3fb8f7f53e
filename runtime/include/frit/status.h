/*===- status.h - Errors --------------------------------------------------===*\
|* A part of frit/runtime.h, which shows how the parts are used together.     *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_STATUS_H
#define FRIT_STATUS_H

/* FRIT_BUILDS_DLL: in the units of the runtime. Programs need no attribute to
   import a function. */
#if defined(_WIN32) && defined(FRIT_BUILDS_DLL)
#define FRIT_API __declspec(dllexport)
#elif defined(_WIN32)
#define FRIT_API
#else
#define FRIT_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum frit_status {
  FRIT_OK = 0,
  /** The call is wrong: an unknown name, a wrong shape or type, a null. */
  FRIT_INVALID_ARGUMENT = 1,
  /** The artifact is damaged, or was written for another runtime. */
  FRIT_BAD_MODEL = 2,
  /** No driver or device, or no code in the model that runs on it. */
  FRIT_NO_DEVICE = 3,
  /** The host's or the device's memory does not suffice. */
  FRIT_OUT_OF_MEMORY = 4,
  /** A file is missing, unreadable or too short. */
  FRIT_IO_ERROR = 5,
  /** No library accepts a step, and the model has no kernel for it. */
  FRIT_UNSUPPORTED = 6,
  /** The device reported a failure. After a failure in a kernel, such as an
   *  illegal memory access, the driver refuses all further work of the process
   *  on that GPU: contexts and modules can only be freed. */
  FRIT_DEVICE_ERROR = 7
} frit_status;

/** Describes this thread's last failed call in one line of UTF-8. Never null.
 *  Valid until this thread's next failing call. */
FRIT_API const char *frit_last_error(void);

/** Returns the name of a status, such as "out of memory". Static. */
FRIT_API const char *frit_status_name(frit_status status);

/** Returns the runtime's version, such as "0.1.0". Static. */
FRIT_API const char *frit_version(void);

#ifdef __cplusplus
}
#endif

#endif /* FRIT_STATUS_H */
