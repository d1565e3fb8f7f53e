//===- ServeFault.cpp - Modules on a GPU that a fault breaks --------------===//

#include "ServeFault.h"
#include "ServedModel.h"

#include <dlfcn.h>

using namespace frit::test;

static frit_status callOnce(frit_module *module, const char *what) {
  frit_context *context = nullptr;
  frit_status status = frit_context_create(module, &context);
  if (!status) {
    Arrays inputs = makeInputs(module, 1), outputs = makeOutputs(module);
    status = run(context, inputs, outputs);
  }
  printf("%s: %s%s%s\n", what, frit_status_name(status), status ? ": " : "",
         status ? frit_last_error() : "");
  frit_context_destroy(context);
  return status;
}

/// Resets the device while modules use it, like cudaDeviceReset.
static void resetDevice() {
  using Reset = int (*)(int);
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto reset =
      driver
          ? reinterpret_cast<Reset>(dlsym(driver, "cuDevicePrimaryCtxReset_v2"))
          : nullptr;
  printf("reset: %d\n", reset ? reset(0) : -1);
}

int frit::test::breakDevice(const std::string &path, bool resets) {
  ServedModel model, other;
  frit_context *context = nullptr;
  if (model.open(path, "cuda") || other.open(path, "cuda") ||
      frit_context_create(model.module, &context))
    stop(path.c_str());
  Arrays inputs = makeInputs(model.module, 1);
  Arrays outputs = makeOutputs(model.module);
  if (run(context, inputs, outputs))
    stop("call");
  if (resets) {
    resetDevice();
  } else { // unallocated memory
    inputs.tensors[0].data = reinterpret_cast<void *>(uintptr_t(1) << 44);
    inputs.tensors[0].location = FRIT_DEVICE;
  }
  frit_status status = run(context, inputs, outputs);
  printf("the call: %s: %s\n", frit_status_name(status), frit_last_error());
  bool good = status == FRIT_DEVICE_ERROR;
  frit_context_destroy(context);
  callOnce(other.module, "another module of the process");
  {
    ServedModel late;
    if (late.open(path, "cuda"))
      printf("opened beside them: %s\n", frit_last_error());
    else
      callOnce(late.module, "opened beside them");
  }
  frit_module_close(model.module);
  frit_module_close(other.module);
  model.module = other.module = nullptr;
  ServedModel next;
  if (next.open(path, "cuda")) {
    printf("opened after all are closed: %s\n", frit_last_error());
    resetDevice();
    if (next.open(path, "cuda")) {
      printf("opened after a reset: %s\n", frit_last_error());
      return 1;
    }
  }
  good &= callOnce(next.module, "opened at last") == FRIT_OK;
  printf("%s\n", good ? "recovered" : "FAILED");
  return !good;
}
