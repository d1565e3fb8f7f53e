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
|* - A module may be used by any number of threads at once, a context and its *|
|*   peers by one at a time. There is no global state.                        *|
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
  /** No library accepts a step, and the model has no kernel for it. */
  FRIT_UNSUPPORTED = 6,
  /** The device reported a failure. After one in a kernel, such as an access
   *  to memory that does not exist, the driver refuses all work of the process
   *  on that GPU: contexts and modules can only be freed. */
  FRIT_DEVICE_ERROR = 7
} frit_status;

/** Describes this thread's last failed call in one line of UTF-8. Never null.
 *  Valid until this thread's next failing call. */
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
  FRIT_F4E2M1 = 19, /**< this and all below: one byte each */
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
 *  and all it points to need to live only until the call returns. */
typedef struct frit_tensor {
  const char *name; /**< as in the model; null means "by position" */
  void *data;
  frit_dtype dtype;
  uint32_t rank;
  const int64_t *dims; /**< `rank` of them; may be null when rank is 0 */
  frit_location location;
} frit_tensor;

/** Description of an input or output. It points into the module and lives as
 *  long. For symbolic dimensions, `dims` and `bytes` are the largest possible;
 *  see frit_module_symbol. */
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
  FRIT_NO_CUDA_GRAPH = 1u, /**< launch each step by itself, for debugging */
  FRIT_NO_CUBLAS = 2u,     /**< frit's own kernels instead of cuBLASLt */
  FRIT_NO_CUDNN = 4u,      /**< frit's own kernels instead of cuDNN */
  /** each kernel starts after its predecessor has ended, for debugging */
  FRIT_NO_PROGRAMMATIC_LAUNCH = 8u,
  /** only algorithms of libraries that give the same bits in every call on the
   *  same GPU; a model without any for a step does not open */
  FRIT_DETERMINISTIC = 16u
};

/** The program's own allocator. Called on any thread that is in a frit call,
 *  also on several at a time. As all functions that frit calls, they must
 *  return: an exception or a longjmp out of them is undefined. */
typedef struct frit_allocator {
  /** Returns `bytes` of memory that starts at a multiple of 256 bytes, or null
   *  if there is none: of the module's GPU, whose primary context is current,
   *  or of the host for the cpu target. */
  void *(*allocate)(void *user, size_t bytes);
  /** Takes back what `allocate` returned for as many bytes. All work that uses
   *  it has ended. */
  void (*release)(void *user, void *memory, size_t bytes);
  void *user;
} frit_allocator;

/** Start from FRIT_MODULE_OPTIONS_INIT; zero is the default of every field. */
typedef struct frit_module_options {
  size_t struct_bytes; /**< sizeof(frit_module_options) */

  /** "cuda" or "cuda:N" for a GPU, its UUID ("GPU-1b2e…", "MIG-…", or as much
   *  of it as is unique), "cpu", or "none" to inspect a model without running
   *  it. Null or "": the first GPU if there is a driver, a device and code in
   *  the model for it, otherwise the CPU. The driver counts the GPUs that
   *  CUDA_VISIBLE_DEVICES leaves. */
  const char *device;

  /** Folder of external weights. Null: the folder of the file that
   *  frit_module_load opened, or the working directory. */
  const char *weights_folder;

  uint32_t flags; /**< of frit_module_flags */

  /** Threads of the cpu target, the calling one included; 0: one per core. */
  uint32_t threads;

  /** Called with remarks that are no errors: a library is missing, a call runs
   *  without a CUDA graph. May be null. Runs on the thread that is in a frit
   *  call at that time; `message` is valid during the callback. */
  void (*remark)(void *user, const char *message);
  void *remark_user;

  /** The most bytes of the device's memory that the module, its contexts and
   *  their functions may have at a time; 0: no limit. What would exceed it
   *  fails with FRIT_OUT_OF_MEMORY. Code, graphs and what libraries allocate do
   *  not count; on the CPU neither do weights in mapped files. */
  uint64_t memory_limit;

  /** Allocates that memory; without functions the driver or malloc does. It is
   *  used until the module and all its contexts are gone. */
  frit_allocator allocator;
} frit_module_options;

#define FRIT_MODULE_OPTIONS_INIT                                               \
  {                                                                            \
    sizeof(frit_module_options), NULL, NULL, 0, 0, NULL, NULL, 0, {            \
      NULL, NULL, NULL                                                         \
    }                                                                          \
  }

/** Opens a model that is linked into the program: checks `image`, chooses a
 *  device, loads code and weights and runs the prepare steps. `options` may be
 *  null. The image must outlive the module. */
FRIT_API frit_status frit_module_open(const frit_image *image,
                                      const frit_module_options *options,
                                      frit_module **module);

/** Opens the model in the shared library `path`, which stays loaded until the
 *  module is closed. */
FRIT_API frit_status frit_module_load(const char *path,
                                      const frit_module_options *options,
                                      frit_module **module);

/** As frit_module_load, with weights of the program instead of those of the
 *  artifact or its files, which need not have them. Tensors are found by name
 *  (see frit_module_weight); type and shape must be the model's.
 *
 *  The module reads their memory, on the host or the module's GPU, which must
 *  stay until other weights take their place or the module is closed. On a GPU,
 *  weights in device memory that starts at a multiple of 256 bytes and that
 *  calls read as they are take no memory of the module. If the weights in that
 *  memory change, see frit_module_set_weights. */
FRIT_API frit_status frit_module_load_weights(
    const char *path, const frit_module_options *options,
    const frit_tensor *weights, uint32_t count, frit_module **module);

/** Calls `visit` with the name and time of each phase of opening the module. */
FRIT_API void frit_module_phases(const frit_module *module,
                                 void (*visit)(void *user, const char *name,
                                               double seconds),
                                 void *user);

/** Frees a module. Its contexts must have been destroyed. Null is ignored. */
FRIT_API void frit_module_close(frit_module *module);

/** Number of functions in the artifact, at least 1. A model compiled for
 *  inference has one, "main"; one compiled for training has "train_step" and
 *  "eval_step". frit_module_open and frit_module_load open the first. */
FRIT_API uint32_t frit_module_function_count(const frit_module *module);

/** The name of function `index`, in the artifact's order; null when there is no
 *  such index. Lives as long as the module. */
FRIT_API const char *frit_module_function_name(const frit_module *module,
                                               uint32_t index);

/** The name of the function that the module was opened for. Lives as long as
 *  the module. */
FRIT_API const char *frit_module_function(const frit_module *module);

/** Opens another function of the artifact of `module`, on the same device and
 *  with the same options. The result is a module of its own: its inputs,
 *  outputs, symbols, variants and targets are those of the function. What the
 *  functions have in common, such as the weights on a GPU, they share.
 *
 *  Every module is closed by itself, in any order: what they share is freed
 *  with the last of them. The image that frit_module_open was given must
 *  outlive all. */
FRIT_API frit_status frit_module_open_function(frit_module *module,
                                               const char *name,
                                               frit_module **function);

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

/** A symbolic dimension, such as "batch", and the sizes that a call may give
 *  it. Lives as long as the module. */
typedef struct frit_symbol_info {
  const char *name;
  int64_t least, most;
  /** Whether a call may give any size from `least` to `most`, its inputs being
   *  padded up to the next of `sizes`; otherwise only those in `sizes`. */
  int padded;
  uint32_t size_count;
  const int64_t *sizes; /**< compiled variants, ascending */
  /** Whether padding is masked out inside the model, because it combines
   *  elements along this dimension. */
  int masked;
} frit_symbol_info;

/** Number of symbolic dimensions; 0 if all shapes are static. */
FRIT_API uint32_t frit_module_symbol_count(const frit_module *module);
FRIT_API frit_status frit_module_symbol(const frit_module *module,
                                        uint32_t index, frit_symbol_info *info);

/** Per dimension of input or output `index`: the symbol that its length depends
 *  on, or -1. The array has `rank` entries and lives as long as the module. */
FRIT_API frit_status frit_module_input_symbols(const frit_module *module,
                                               uint32_t index,
                                               const int32_t **symbols);
FRIT_API frit_status frit_module_output_symbols(const frit_module *module,
                                                uint32_t index,
                                                const int32_t **symbols);

/** Number of counts: values computed on the device that give data-dependent
 *  output lengths, such as that of NonZero. 0 for most models. If there are
 *  any, a call on a GPU waits for the computation, copies the counts to the
 *  host (8 bytes each) and then copies the outputs: it synchronizes twice
 *  instead of once, and frit_run_async waits too. */
FRIT_API uint32_t frit_module_counts(const frit_module *module);

/** Per dimension of output `index`: the count that its length depends on, or
 *  -1. The array has `rank` entries and lives as long as the module. */
FRIT_API frit_status frit_module_output_counts(const frit_module *module,
                                               uint32_t index,
                                               const int32_t **counts);

/** Computes the shape of output `index` for inputs of these shapes. `dims` has
 *  room for the output's rank. The inputs' data are not read: a data-dependent
 *  dimension (see frit_module_output_counts) gets its upper bound. */
FRIT_API frit_status frit_module_output_dims(const frit_module *module,
                                             const frit_tensor *inputs,
                                             uint32_t input_count,
                                             uint32_t index, int64_t *dims);

/** A target in the artifact. Texts live as long as the module. Numbers that
 *  depend on shapes are those of the largest variant. */
typedef struct frit_target_info {
  const char *arch; /**< "sm_90a", "x86-64-v3" */
  int is_cuda;
  int chosen;                 /**< whether the module runs this one */
  uint32_t steps;             /**< per call: launches, library calls, copies */
  uint32_t launches;          /**< … of frit's own kernels */
  uint32_t library_calls;     /**< … planned for a library */
  uint32_t copies;            /**< … that only copy */
  uint32_t prepare_steps;     /**< run once, when a module is opened */
  uint64_t arena_bytes;       /**< scratch memory of a context */
  uint64_t arena_lower_bound; /**< peak of live bytes */
  uint64_t prepared_bytes;    /**< results of the prepare steps */
  uint64_t cubin_bytes;
  uint64_t ptx_bytes;
} frit_target_info;

FRIT_API uint32_t frit_module_target_count(const frit_module *module);
FRIT_API frit_status frit_module_target(const frit_module *module,
                                        uint32_t index, frit_target_info *info);

/** One variant on one target: the model compiled for one size of every symbol.
 */
typedef struct frit_variant_info {
  const int64_t *sizes; /**< per symbol; live as long as the module */
  uint32_t steps;       /**< per call */
  uint64_t arena_bytes; /**< scratch memory it needs */
  uint64_t arena_lower_bound;
} frit_variant_info;

/** Number of variants, ascending by size; 1 if all shapes are static. A call
 *  runs the first one that fits. */
FRIT_API uint32_t frit_module_variant_count(const frit_module *module);
FRIT_API frit_status frit_module_variant(const frit_module *module,
                                         uint32_t target, uint32_t index,
                                         frit_variant_info *info);

/** Number of state tensors: named tensors that a context keeps from call to
 *  call, such as a training step's parameters. All functions of an artifact
 * have the same ones. 0 for a model compiled for inference. */
FRIT_API uint32_t frit_module_state_count(const frit_module *module);

/** Describes state tensor `index`; its shape is fixed. */
FRIT_API frit_status frit_module_state(const frit_module *module,
                                       uint32_t index, frit_tensor_info *info);

/** Bytes of memory that the state takes, once for a context and its peers. */
FRIT_API uint64_t frit_module_state_bytes(const frit_module *module);

/** Returns how many of these bytes the ranks of a group divide among them: the
 *  optimizer's state of a step compiled with -fshard-optimizer. On the cpu
 *  target each rank has memory for all of it. */
FRIT_API uint64_t frit_module_sharded_state_bytes(const frit_module *module);

/** Number of weights: the constants of the model that are stored by name, in
 * the artifact or in a file. */
FRIT_API uint32_t frit_module_weight_count(const frit_module *module);

/** Describes weight `index`, as the model's file has it. */
FRIT_API frit_status frit_module_weight(const frit_module *module,
                                        uint32_t index, frit_tensor_info *info);

/** Replaces weights between calls: later calls of the module's contexts use
 *  these. Tensors are found and kept as in frit_module_load_weights. Those that
 *  are not named stay. Also to be called, with the same tensors, when the
 *  weights in their memory have changed.
 *
 *  All calls must have ended (frit_context_synchronize), and the memory must be
 *  written. Nothing changes if a tensor is wrong; if the call fails otherwise,
 *  the weights are undefined. Weights of a model with state are state. */
FRIT_API frit_status frit_module_set_weights(frit_module *module,
                                             const frit_tensor *weights,
                                             uint32_t count);

/** Bytes of weights in the model, embedded and external. */
FRIT_API uint64_t frit_module_weight_bytes(const frit_module *module);

/** The device of a module. Texts live as long as the module. */
typedef struct frit_device_info {
  const char *device; /**< "cuda:0", "cpu" or "none" */
  const char *name;   /**< "NVIDIA H200"; a cpu's model name */
  uint64_t memory_bytes;
  uint64_t free_bytes;   /**< now */
  uint64_t module_bytes; /**< that this module occupies */
  uint32_t threads;      /**< per context; 0 on a GPU */
  /** Peaks by the data sheet: memory bandwidth, and dense 16-bit matrix
   *  products. 0 if unknown. */
  double bytes_per_second, flops_per_second;
  /** Memory that a context takes for all its calls. On a GPU: arena, state,
   *  inputs and outputs. On the CPU: arena, state and scratch memory of the
   *  threads. 0 if the module runs nothing. */
  uint64_t context_bytes;
} frit_device_info;

FRIT_API frit_status frit_module_device(const frit_module *module,
                                        frit_device_info *info);

/*===----------------------------------------------------------------------===*\
|*                                  DLPack                                    *|
\*===----------------------------------------------------------------------===*/

/** Describes a tensor of another library for a call. `dl_tensor` is a DLTensor
 *  (dlpack.h). It must lie in host memory or on the module's GPU, be dense and
 *  row major, and have a type that frit has. The result has no name, and points
 *  to the DLTensor's shape and memory. */
FRIT_API frit_status frit_tensor_from_dlpack(const frit_module *module,
                                             const void *dl_tensor,
                                             frit_tensor *tensor);

/** Allocates a tensor of any contents in memory of the module's device, for
 *  other libraries to use. `managed` receives a DLManagedTensor (dlpack.h),
 *  whose owner calls its deleter; it may outlive the module. */
FRIT_API frit_status frit_dlpack_allocate(const frit_module *module,
                                          frit_dtype dtype, uint32_t rank,
                                          const int64_t *dims, void **managed);

/*===----------------------------------------------------------------------===*\
|*                                 Contexts                                   *|
\*===----------------------------------------------------------------------===*/

/** What one thread runs a module with: scratch memory, state, a stream, CUDA
 *  graphs. */
typedef struct frit_context frit_context;

/** Makes a context. Its state starts with the values that the model gives it;
 *  see frit_module_state. */
FRIT_API frit_status frit_context_create(frit_module *module,
                                         frit_context **context);

/** Makes a context of another function that shares the state and the stream of
 *  `context`: what a call of one writes to the state, the next call of the
 *  other reads. They also share scratch memory, and the buffers of
 *  frit_context_input_buffer, if the new context needs no more than `context`
 *  has. `function` must be a module of the same artifact, opened by
 *  frit_module_open_function from the module of `context` or the other way
 *  round, directly or not; it may be that module itself.
 *
 *  One thread at a time may use a context or one of its peers. Each is
 *  destroyed by itself, in any order: what they share is freed with the last.
 */
FRIT_API frit_status frit_context_create_peer(frit_module *function,
                                              frit_context *context,
                                              frit_context **peer);

/** What the ranks of a group have in common. One rank makes it, and gives the
 *  bytes to the others. */
typedef struct frit_group_id {
  char bytes[128];
} frit_group_id;

/** A rank's place in a group of processes, each with a context of the same
 *  artifact on a GPU of its own. */
typedef struct frit_group {
  uint32_t rank; /**< from 0 on */
  uint32_t size; /**< number of ranks, at least 1 */
  frit_group_id id;
} frit_group;

/** Makes the id of a new group of contexts of `module`. On a GPU it opens NCCL.
 */
FRIT_API frit_status frit_group_unique_id(const frit_module *module,
                                          frit_group_id *id);

/** Makes the calls of a context average gradients and losses over a group, in a
 *  function compiled with -fdata-parallel. From then on all ranks make the same
 *  calls of it. Without this, a context is a group of its own. Waits until all
 *  ranks have come. Peers' calls are not affected. The state of all ranks must
 * be the same; each keeps its part of what they divide.
 *
 *  On the cpu target the ranks are processes of one host. */
FRIT_API frit_status frit_context_join(frit_context *context,
                                       const frit_group *group);

/** Calls `visit` with the name and time of each phase of creating the context.
 */
FRIT_API void frit_context_phases(const frit_context *context,
                                  void (*visit)(void *user, const char *name,
                                                double seconds),
                                  void *user);

/** Waits for work on the context's stream and frees the context. Null is
 *  ignored. */
FRIT_API void frit_context_destroy(frit_context *context);

/** Runs the model and waits for the results.
 *
 *  Every input must be given, by name or by position; outputs only if wanted.
 *  Types and static dimensions must be the module's. The inputs' shapes set the
 *  symbolic dimensions, and outputs must have the shapes that
 *  frit_module_output_dims computes. Host tensors are copied to and from a GPU.
 *  Device tensors are used in place: they must start at multiples of 16 bytes
 *  and not overlap. If a library uses them, the last few sets of device
 *  pointers have a CUDA graph each; a call with others is copied to and from
 *  the context's own buffers, and the second call with them makes a graph.
 *
 *  Give an output with data-dependent dimensions, and its memory, their upper
 *  bounds. After the call its first bytes hold the valid elements, densely
 *  packed in the shape that frit_context_output_dims returns; the bytes after
 *  them are undefined.
 *
 *  On the CPU target an output may share memory with an input. When a call
 *  fails, the contents of the outputs are undefined; those of the state are too
 *  if the device reported the failure. */
FRIT_API frit_status frit_run(frit_context *context, const frit_tensor *inputs,
                              uint32_t input_count, const frit_tensor *outputs,
                              uint32_t output_count);

/** As frit_run, but all tensors are on the device and the call only enqueues
 *  the work on the context's stream. On the CPU target it does the work at
 *  once; if frit_module_counts is not 0, it waits for the counts. Steps that
 *  write state under a condition make it wait for the condition, if the driver
 *  has no conditional graph nodes or the call runs without a graph. */
FRIT_API frit_status frit_run_async(frit_context *context,
                                    const frit_tensor *inputs,
                                    uint32_t input_count,
                                    const frit_tensor *outputs,
                                    uint32_t output_count);

/** Waits for all work on the context's stream. */
FRIT_API frit_status frit_context_synchronize(frit_context *context);

/** Returns the shape that output `index` had in the context's last call,
 *  whether the caller asked for that output or not. `dims` has room for its
 *  rank. Data-dependent dimensions have their true length. */
FRIT_API frit_status frit_context_output_dims(const frit_context *context,
                                              uint32_t index, int64_t *dims);

/** Copies state tensors to the caller's memory. A tensor is found by its name
 *  or, if that is null, by its position in the call, as in frit_run; type and
 *  dimensions must be those of frit_module_state. A call may name any of them,
 *  in any order, each at most once. Nothing is copied if one of them is wrong.
 *
 *  The values are those after all earlier calls of the context and its peers.
 *  If a tensor is in host memory, the call waits for the context's stream and
 *  returns when all values are there; otherwise it only enqueues the copies.
 *
 *  A tensor without data (null) is not copied. If the context has joined a
 * group whose ranks divide the state, all of them make the call at the same
 * time with the same tensors, with or without data, so that each gets all it
 * asks for. */
FRIT_API frit_status frit_state_read(frit_context *context,
                                     const frit_tensor *tensors,
                                     uint32_t count);

/** Copies the caller's tensors to the state, which later calls of the context
 *  and its peers read. Tensors are found and checked as in frit_state_read, and
 *  have data. A rank keeps its part of what ranks divide.
 *
 *  Tensors of at most 16 bytes in host memory, such as a learning rate, are
 *  only enqueued; their memory may change as soon as the call returns. If a
 *  larger tensor is in host memory, the call waits for the context's stream and
 *  returns when all values are there. */
FRIT_API frit_status frit_state_write(frit_context *context,
                                      const frit_tensor *tensors,
                                      uint32_t count);

/** Copies the inputs of later calls to the device while calls run. A thread
 *  that has the inputs of call n + 1 when it makes call n does this:
 *
 *    frit_feed_take(feed, inputs);                 // those of call n
 *    frit_feed_send(feed, next, count);            // those of call n + 1
 *    frit_run(context, inputs, count, ...);        // call n, meanwhile
 *
 *  The thread of the context uses it. */
typedef struct frit_feed frit_feed;

/** Makes a feed for calls of `context`, which must outlive it. On a GPU it
 *  takes device memory for one more set of the largest inputs. */
FRIT_API frit_status frit_feed_create(frit_context *context, frit_feed **feed);

/** Waits for copies and calls, and frees the feed and the memory that it
 *  allocated. Null is ignored. */
FRIT_API void frit_feed_destroy(frit_feed *feed);

/** Allocates host memory for inputs, which lives as long as the feed: on a GPU
 *  page-locked, so that copies from it overlap calls. */
FRIT_API frit_status frit_feed_allocate(frit_feed *feed, size_t bytes,
                                        void **memory);

/** Begins to copy the inputs of a later call, all of them in host memory. They
 *  are found as in frit_run. Does not wait if the memory is the feed's own. The
 *  memory must stay as it is until the call that takes the inputs returns. What
 *  was sent before must have been taken. */
FRIT_API frit_status frit_feed_send(frit_feed *feed, const frit_tensor *inputs,
                                    uint32_t count);

/** Fills `inputs`, as many as were sent and in their order, with what to give
 *  to the next call of the context, and enqueues the work that puts them there.
 *  The host does not wait for the copies. The tensors are valid until the next
 *  time. */
FRIT_API frit_status frit_feed_take(frit_feed *feed, frit_tensor *inputs);

/** Makes the context and its peers enqueue their work on `stream`, a CUstream
 * of the module's device, until the next call of this. Null is the context's
 * own stream again, CU_STREAM_LEGACY (1) the default one. Work that is already
 *  enqueued comes before what is enqueued from now on; the host does not wait.
 *  The stream must live until the context has another or is destroyed. Has no
 *  effect on the cpu target. */
FRIT_API frit_status frit_context_set_stream(frit_context *context,
                                             void *stream);

/** The CUstream that calls of the context are enqueued on; null on the cpu
 *  target. */
FRIT_API void *frit_context_stream(const frit_context *context);

/** The context's own device buffer for input or output `index`, of
 *  frit_tensor_info's `bytes`; frit_run stages host tensors there. Binding it
 *  costs no new graph. Null when there is no such index. Lives as long as the
 *  context. Peers may have the same buffer for an input. An output that is
 *  shorter in an inner data-dependent dimension is not packed here: its rows
 *  keep the stride of the upper bound. */
FRIT_API void *frit_context_input_buffer(frit_context *context, uint32_t index);
FRIT_API void *frit_context_output_buffer(frit_context *context,
                                          uint32_t index);

/** One step of a call of the variant that ran last, or of the largest one
 *  before the first call. Texts live as long as the context. */
typedef struct frit_step_info {
  /** "launch", "gemm", "conv", "attention", "copy", "guard" (a condition for
   *  the steps after it), "all_reduce", "reduce_scatter", "all_gather" (which
   *  later steps do not wait for) or "await" (which waits for some of them) */
  const char *kind;
  const char *node;   /**< the model's nodes that it computes */
  const char *kernel; /**< the kernel, or the library's algorithm */
  double start;       /**< frit_profile: microseconds since the call began */
  double duration;    /**< frit_profile: microseconds */
  /** bytes of the tensors that it reads and writes, as far as it touches them;
   *  0 if frit_profile saw it skipped */
  uint64_t bytes;
  uint64_t flops;   /**< multiplications and additions of its products */
  int is_library;   /**< whether a library computes it, not frit's own code */
  uint32_t guarded; /**< of a guard: number of steps after it that it guards */
} frit_step_info;

FRIT_API uint32_t frit_context_step_count(const frit_context *context);

/** Describes step `index`; its times are 0. */
FRIT_API frit_status frit_context_step(const frit_context *context,
                                       uint32_t index, frit_step_info *info);

/** As frit_run, but step by step with a time stamp around each. Calls `visit`
 *  for every step in order when the results are there. State changes once, as
 *  in a call of frit_run. */
FRIT_API frit_status frit_profile(
    frit_context *context, const frit_tensor *inputs, uint32_t input_count,
    const frit_tensor *outputs, uint32_t output_count,
    void (*visit)(void *user, const frit_step_info *step), void *user);

/** A tensor that a step has written. */
typedef struct frit_step_result {
  frit_dtype dtype;
  uint64_t count;   /**< elements; 0 if the type is not known */
  const void *data; /**< in host memory, during the callback */
} frit_step_result;

/** As frit_run, but step by step, and without a graph. Calls `visit` after each
 *  step that ran with all that it has written: to find the first one with
 *  infinities, say. Results of a GPU are copied to the host, so it is slow. */
FRIT_API frit_status frit_trace(
    frit_context *context, const frit_tensor *inputs, uint32_t input_count,
    const frit_tensor *outputs, uint32_t output_count,
    void (*visit)(void *user, const frit_step_info *step,
                  const frit_step_result *results, uint32_t result_count),
    void *user);

#ifdef __cplusplus
}
#endif

#endif /* FRIT_RUNTIME_H */
