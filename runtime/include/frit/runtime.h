/*===- runtime.h - Run a compiled model -----------------------------------===*\
|*                                                                            *|
|* The C interface of the frit runtime. A program opens a model once, makes a *|
|* context for each thread that runs it, and calls frit_run:                  *|
|*                                                                            *|
|*   #include "model.h"                         // written by fritc           *|
|*   #include "frit/runtime.h"                                                *|
|*                                                                            *|
|*   frit_module *module;                                                     *|
|*   frit_context *context;                                                   *|
|*   if (frit_module_open(&model_image, NULL, &module) ||                     *|
|*       frit_context_create(module, &context))                               *|
|*     return fail(frit_last_error());                                        *|
|*   frit_tensor x, y;                                                        *|
|*   frit_module_input_tensor(module, 0, pixels, &x);                         *|
|*   frit_module_output_tensor(module, 0, scores, &y);                        *|
|*   if (frit_run(context, &x, 1, &y, 1))                                     *|
|*     return fail(frit_last_error());                                        *|
|*                                                                            *|
|* Conventions                                                                *|
|* - Every call that can fail returns a frit_status; FRIT_OK is 0. After a    *|
|*   failure frit_last_error() says what was wrong. Results behind pointers   *|
|*   are written only on success.                                             *|
|* - Sizes are in bytes, dimensions in elements, times in microseconds.       *|
|* - Tensors are dense and row major.                                         *|
|* - A module may be used by any number of threads at once, a context by one  *|
|*   at a time. There is no global state.                                     *|
|* - Nothing here throws, exits or writes to the standard streams.            *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_RUNTIME_H
#define FRIT_RUNTIME_H

#include "frit/image.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRIT_API __attribute__((visibility("default")))

/*===----------------------------------------------------------------------===*\
|*                                  Errors                                    *|
\*===----------------------------------------------------------------------===*/

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
  /** A step has neither a library that takes it nor a kernel of its own. */
  FRIT_UNSUPPORTED = 6,
  /** The device reported a failure. */
  FRIT_DEVICE_ERROR = 7
} frit_status;

/** What went wrong in this thread's last failed call, in one line of UTF-8.
 *  Never null. Valid until this thread's next failing call. */
FRIT_API const char *frit_last_error(void);

/** The name of a status, such as "out of memory". Static. */
FRIT_API const char *frit_status_name(frit_status status);

/** The runtime's version, such as "0.1.0". Static. */
FRIT_API const char *frit_version(void);

/*===----------------------------------------------------------------------===*\
|*                                  Tensors                                   *|
\*===----------------------------------------------------------------------===*/

typedef enum frit_dtype {
  FRIT_F32 = 1,
  FRIT_F64 = 2,
  FRIT_F16 = 3,
  FRIT_BF16 = 4,
  FRIT_I8 = 5,
  FRIT_I16 = 6,
  FRIT_I32 = 7,
  FRIT_I64 = 8,
  FRIT_U8 = 9,
  FRIT_U16 = 10,
  FRIT_U32 = 11,
  FRIT_U64 = 12,
  FRIT_BOOL = 13, /**< one byte, 0 or 1 */
  FRIT_F8E4M3 = 14,
  FRIT_F8E5M2 = 15,
  FRIT_F8E4M3FNUZ = 16,
  FRIT_F8E5M2FNUZ = 17,
  FRIT_F8E8M0 = 18,
  FRIT_F4E2M1 = 19, /**< a byte each, as are all below */
  FRIT_I4 = 20,
  FRIT_U4 = 21,
  FRIT_I2 = 22,
  FRIT_U2 = 23
} frit_dtype;

/** Bytes of one element; 0 for a value that is no frit_dtype. */
FRIT_API size_t frit_dtype_size(frit_dtype dtype);

/** "f32", "i64", "bool" …; "?" for a value that is no frit_dtype. Static. */
FRIT_API const char *frit_dtype_name(frit_dtype dtype);

typedef enum frit_location {
  FRIT_HOST = 0,  /**< memory of this process */
  FRIT_DEVICE = 1 /**< memory of the module's GPU; on the cpu target, of this
                       process too */
} frit_location;

/** A tensor that the caller owns. `data` must hold all its elements. The struct
 *  and what it points to need to live only as long as the call it is given to.
 */
typedef struct frit_tensor {
  const char *name; /**< as in the model; null means "by position" */
  void *data;
  frit_dtype dtype;
  uint32_t rank;
  const int64_t *dims; /**< `rank` of them; may be null when rank is 0 */
  frit_location location;
} frit_tensor;

/** What a module says of an input or output. Everything in it belongs to the
 *  module and lives as long. Where the model leaves dimensions open, `dims` and
 *  `bytes` are the largest there may be; see frit_module_symbol. */
typedef struct frit_tensor_info {
  const char *name;
  frit_dtype dtype;
  uint32_t rank;
  const int64_t *dims;
  uint64_t bytes;
} frit_tensor_info;

/*===----------------------------------------------------------------------===*\
|*                                  Modules                                   *|
\*===----------------------------------------------------------------------===*/

/** A model, made ready for one device: its code and its weights. */
typedef struct frit_module frit_module;

enum frit_module_flags {
  FRIT_NO_CUDA_GRAPH = 1u, /**< launch step by step, to find a culprit */
  FRIT_NO_CUBLAS = 2u,     /**< frit's own kernels instead of cuBLASLt */
  FRIT_NO_CUDNN = 4u,      /**< frit's own kernels instead of cuDNN */
  /** each kernel starts after the one before has ended, to find a culprit */
  FRIT_NO_PROGRAMMATIC_LAUNCH = 8u
};

/** Start from FRIT_MODULE_OPTIONS_INIT. All of it may be zero. */
typedef struct frit_module_options {
  size_t struct_bytes; /**< sizeof(frit_module_options) */

  /** "cuda" or "cuda:N" for a GPU, "cpu", or "none" to look at a model without
   *  running it. Null or "" takes the GPU if there is a driver, a device and
   *  code in the model for it, and else the cpu. */
  const char *device;

  /** Where files of external weights are. Null: the folder of the file that
   *  frit_module_load opened, or the working directory. */
  const char *weights_folder;

  uint32_t flags; /**< of frit_module_flags */

  /** Threads of the cpu target, the calling one included; 0: one per core. */
  uint32_t threads;

  /** Called with what is worth knowing but no error: a missing library, a call
   *  that runs without a graph. Null: not told. Called on the thread that is in
   *  a frit call at that time; `message` is valid during the call. */
  void (*remark)(void *user, const char *message);
  void *remark_user;
} frit_module_options;

#define FRIT_MODULE_OPTIONS_INIT                                               \
  {sizeof(frit_module_options), NULL, NULL, 0, 0, NULL, NULL}

/** Opens the model that is linked into this program as `image`: checks it,
 *  chooses a device, loads code and weights and runs what is to be computed
 *  once. `options` may be null. The image must outlive the module. */
FRIT_API frit_status frit_module_open(const frit_image *image,
                                      const frit_module_options *options,
                                      frit_module **module);

/** Opens the model in the shared library `path`, which stays loaded until the
 *  module is closed. */
FRIT_API frit_status frit_module_load(const char *path,
                                      const frit_module_options *options,
                                      frit_module **module);

/** Tells in order what opening the module spent its time on. */
FRIT_API void frit_module_phases(const frit_module *module,
                                 void (*visit)(void *user, const char *name,
                                               double seconds),
                                 void *user);

/** Frees a module. Its contexts must have been destroyed. Null is ignored. */
FRIT_API void frit_module_close(frit_module *module);

/** The model's name, as its source file gives it. Lives as long as the module.
 */
FRIT_API const char *frit_module_name(const frit_module *module);

FRIT_API uint32_t frit_module_input_count(const frit_module *module);
FRIT_API uint32_t frit_module_output_count(const frit_module *module);

/** Describes input or output `index`, in the model's order. */
FRIT_API frit_status frit_module_input(const frit_module *module,
                                       uint32_t index, frit_tensor_info *info);
FRIT_API frit_status frit_module_output(const frit_module *module,
                                        uint32_t index, frit_tensor_info *info);

/** Fills `tensor` to describe input or output `index` with host memory `data`,
 *  ready to be given to frit_run. */
FRIT_API frit_status frit_module_input_tensor(const frit_module *module,
                                              uint32_t index, const void *data,
                                              frit_tensor *tensor);
FRIT_API frit_status frit_module_output_tensor(const frit_module *module,
                                               uint32_t index, void *data,
                                               frit_tensor *tensor);

/** A dimension that the model leaves open, such as "batch", and the sizes that
 *  a call may give it. Everything in it lives as long as the module. */
typedef struct frit_symbol_info {
  const char *name;
  int64_t least, most;
  /** Whether every size from `least` to `most` is taken, inputs being padded
   *  up to the next of `sizes`; otherwise only those in `sizes` are. */
  int padded;
  uint32_t size_count;
  const int64_t *sizes; /**< that there are variants of the model for, rising */
  /** Whether the model combines elements along the dimension, so that a call's
   *  size masks those that it is padded by. */
  int masked;
} frit_symbol_info;

/** How many dimensions the model leaves open; 0 where all shapes are fixed. */
FRIT_API uint32_t frit_module_symbol_count(const frit_module *module);
FRIT_API frit_status frit_module_symbol(const frit_module *module,
                                        uint32_t index, frit_symbol_info *info);

/** For each dimension of input or output `index`, which symbol its length
 *  depends on, or -1. As many as its rank; live as long as the module. */
FRIT_API frit_status frit_module_input_symbols(const frit_module *module,
                                               uint32_t index,
                                               const int32_t **symbols);
FRIT_API frit_status frit_module_output_symbols(const frit_module *module,
                                                uint32_t index,
                                                const int32_t **symbols);

/** How many numbers a call counts on the device before it is known how long
 *  some outputs are, such as the results of NonZero: 0 for most models. Where
 *  there are any, a call on a GPU waits for the model to be computed, copies
 *  each number to the host (8 bytes) and only then copies the outputs: two
 *  waits instead of one, and frit_run_async waits too. */
FRIT_API uint32_t frit_module_counts(const frit_module *module);

/** For each dimension of output `index`, which of these numbers its length
 *  depends on, or -1. As many as its rank; live as long as the module. */
FRIT_API frit_status frit_module_output_counts(const frit_module *module,
                                               uint32_t index,
                                               const int32_t **counts);

/** Writes the shape that output `index` has when frit_run is given inputs of
 *  these shapes to `dims`, which has room for the output's rank. The data of
 *  the inputs is not looked at: of a dimension whose length they decide (see
 *  frit_module_output_counts) it is the most there may be. */
FRIT_API frit_status frit_module_output_dims(const frit_module *module,
                                             const frit_tensor *inputs,
                                             uint32_t input_count,
                                             uint32_t index, int64_t *dims);

/** One set of code in the artifact. Texts live as long as the module. What
 *  depends on shapes is that of the largest. */
typedef struct frit_target_info {
  const char *arch; /**< "sm_90a", "x86-64-v3" */
  int is_cuda;
  int chosen;                 /**< the module runs this one */
  uint32_t steps;             /**< per call: launches, library calls, copies */
  uint32_t launches;          /**< … of frit's own kernels */
  uint32_t library_calls;     /**< … planned for a library */
  uint32_t copies;            /**< … that only copy */
  uint32_t prepare_steps;     /**< run once, when a module is opened */
  uint64_t arena_bytes;       /**< scratch memory of a context */
  uint64_t arena_lower_bound; /**< what no placement could beat */
  uint64_t prepared_bytes;    /**< what the prepare steps leave behind */
  uint64_t cubin_bytes;
  uint64_t ptx_bytes;
} frit_target_info;

FRIT_API uint32_t frit_module_target_count(const frit_module *module);
FRIT_API frit_status frit_module_target(const frit_module *module,
                                        uint32_t index, frit_target_info *info);

/** The model for one size of every symbol, on one target. */
typedef struct frit_variant_info {
  const int64_t *sizes; /**< of each symbol; live as long as the module */
  uint32_t steps;       /**< per call */
  uint64_t arena_bytes; /**< of a context it needs this much */
  uint64_t arena_lower_bound;
} frit_variant_info;

/** How many variants there are: 1 where all shapes are fixed. A call runs the
 *  first whose sizes suffice; they ascend. */
FRIT_API uint32_t frit_module_variant_count(const frit_module *module);
FRIT_API frit_status frit_module_variant(const frit_module *module,
                                         uint32_t target, uint32_t index,
                                         frit_variant_info *info);

/** Bytes of weights, embedded and external, as the model holds them. */
FRIT_API uint64_t frit_module_weight_bytes(const frit_module *module);

/** Where a module runs. Texts live as long as the module. */
typedef struct frit_device_info {
  const char *device; /**< "cuda:0", "cpu" or "none" */
  const char *name;   /**< "NVIDIA H200"; a cpu's model name */
  uint64_t memory_bytes;
  uint64_t free_bytes;   /**< now */
  uint64_t module_bytes; /**< what this module holds there */
  uint32_t threads;      /**< that a context uses; 0 on a GPU */
  /** Peaks by the data sheet: of memory, and of dense products of 16-bit
   * floats. 0 where unknown. */
  double bytes_per_second, flops_per_second;
  /** What creating a context takes there, and all that its calls need: the
   *  arena, on a GPU inputs and outputs of its own, on a cpu what the threads
   *  of products and convolutions work in. 0 where nothing runs. */
  uint64_t context_bytes;
} frit_device_info;

FRIT_API frit_status frit_module_device(const frit_module *module,
                                        frit_device_info *info);

/*===----------------------------------------------------------------------===*\
|*                                 Contexts                                   *|
\*===----------------------------------------------------------------------===*/

/** What one thread needs to run a module: scratch memory, a stream, a graph. */
typedef struct frit_context frit_context;

FRIT_API frit_status frit_context_create(frit_module *module,
                                         frit_context **context);

/** The same of making the context. */
FRIT_API void frit_context_phases(const frit_context *context,
                                  void (*visit)(void *user, const char *name,
                                                double seconds),
                                  void *user);

/** Waits for what is under way and frees the context. Null is ignored. */
FRIT_API void frit_context_destroy(frit_context *context);

/** Computes the model and waits for the results.
 *
 *  Every input must be given, by name or by position; of the outputs, those
 *  that are wanted. Types and shapes must be the module's; what it leaves open
 *  of them the inputs decide, and outputs must have the shapes that
 *  frit_module_output_dims tells. Host tensors are copied to and from a GPU.
 * Device tensors are used in place: they must start at multiples of 16 bytes
 * and not overlap each other. A new set of device pointers costs a graph
 * instantiation, and the last few sets are remembered.
 *
 *  An output of which the data decide how many entries there are is given as
 *  the most there may be, and so must its memory. After the call its first
 *  bytes hold the entries that there are, densely, in the shape that
 *  frit_context_output_dims tells; those behind are undefined.
 *
 *  On the cpu target, output memory may be the memory of an input.
 *  When a call fails, the outputs' contents are undefined. */
FRIT_API frit_status frit_run(frit_context *context, const frit_tensor *inputs,
                              uint32_t input_count, const frit_tensor *outputs,
                              uint32_t output_count);

/** As frit_run, but all tensors are on the device and the call only puts the
 *  work on the context's stream. On the cpu target it does the work; where
 *  frit_module_counts is not 0 it waits for the counts. */
FRIT_API frit_status frit_run_async(frit_context *context,
                                    const frit_tensor *inputs,
                                    uint32_t input_count,
                                    const frit_tensor *outputs,
                                    uint32_t output_count);

/** Waits for everything that was put on the context's stream. */
FRIT_API frit_status frit_context_synchronize(frit_context *context);

/** Writes the shape that output `index` had in the context's last call to
 *  `dims`, which has room for its rank; whether it was asked for or not. That
 *  is the shape it was given with, or less of it where the data decide. */
FRIT_API frit_status frit_context_output_dims(const frit_context *context,
                                              uint32_t index, int64_t *dims);

/** The context's CUstream; null on the cpu target. */
FRIT_API void *frit_context_stream(const frit_context *context);

/** The context's own device memory for input or output `index`, of the size
 *  that frit_tensor_info tells: where frit_run puts host inputs and takes host
 *  outputs from. Binding it costs no new graph. Null when there is no such
 *  index. Lives as long as the context. An output that the data cut in an inner
 *  dimension is not made dense in it: its rows are as far apart as the most
 *  there may be makes them. */
FRIT_API void *frit_context_input_buffer(frit_context *context, uint32_t index);
FRIT_API void *frit_context_output_buffer(frit_context *context,
                                          uint32_t index);

/** One step of a call of the variant that ran last, or of the largest before
 *  any did. Texts live as long as the context. */
typedef struct frit_step_info {
  /** "launch", "gemm", "conv", "attention", "copy" or "guard", which decides
   *  whether steps behind it run */
  const char *kind;
  const char *node;   /**< the model's nodes that it computes */
  const char *kernel; /**< the kernel, or the library's pick */
  double start;       /**< frit_profile: microseconds since the call began */
  double duration;    /**< frit_profile: microseconds */
  /** Of the tensors that it reads and writes, without what it gathers or slices
   *  others of; 0 where frit_profile skipped it */
  uint64_t bytes;
  uint64_t flops; /**< multiplications and additions of its products */
  int is_library; /**< whether a library computes it, not frit's own code */
  uint32_t
      guarded; /**< of a guard: how many steps behind it it decides about */
} frit_step_info;

FRIT_API uint32_t frit_context_step_count(const frit_context *context);

/** Describes step `index`; its times are 0. */
FRIT_API frit_status frit_context_step(const frit_context *context,
                                       uint32_t index, frit_step_info *info);

/** As frit_run, but step by step with a time stamp around each; `visit` is
 *  called for every step in order once the results are there. */
FRIT_API frit_status frit_profile(
    frit_context *context, const frit_tensor *inputs, uint32_t input_count,
    const frit_tensor *outputs, uint32_t output_count,
    void (*visit)(void *user, const frit_step_info *step), void *user);

#ifdef __cplusplus
}
#endif

#endif /* FRIT_RUNTIME_H */
