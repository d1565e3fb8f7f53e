/*===- module.h - Open and inspect models ---------------------------------===*\
|* A part of frit/runtime.h, which shows how the parts are used together.     *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_MODULE_H
#define FRIT_MODULE_H

#include "frit/image.h"
#include "frit/roles.h"
#include "frit/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A model, made ready for one device: its code and its weights. */
typedef struct frit_module frit_module;

enum frit_module_flags {
  FRIT_NO_CUDA_GRAPH = 1u, /**< launch each step by itself, for debugging */
  FRIT_NO_CUBLAS = 2u,     /**< frit's own kernels instead of cuBLASLt */
  FRIT_NO_CUDNN = 4u,      /**< frit's own kernels instead of cuDNN */
  /** no programmatic dependent launch: each kernel starts after its predecessor
   *  has ended, for debugging */
  FRIT_NO_PROGRAMMATIC_LAUNCH = 8u,
  /** only library algorithms that give the same bits in every call on the same
   *  GPU; a model with a step that has none does not open */
  FRIT_DETERMINISTIC = 16u
};

/** The program's own allocator. Its functions run on whichever threads are in a
 *  frit call, possibly on several at once. Like all callbacks they must return:
 *  leaving them by an exception or longjmp is undefined behavior. */
typedef struct frit_allocator {
  /** Returns `bytes` of memory that starts at a multiple of 256 bytes, or null
   *  if there is none: of the module's GPU, whose primary context is current,
   *  or of the host for the cpu target. */
  void *(*allocate)(void *user, size_t bytes);
  /** Frees what `allocate` returned for `bytes`. All work that uses it has
   *  ended. */
  void (*release)(void *user, void *memory, size_t bytes);
  void *user;
} frit_allocator;

/** Start from FRIT_MODULE_OPTIONS_INIT; zero is the default of every field. */
typedef struct frit_module_options {
  size_t struct_bytes; /**< sizeof(frit_module_options) */

  /** "cuda" or "cuda:N", a GPU's UUID ("GPU-1b2e…", "MIG-…", or a prefix that
   *  is unique), "cpu", or "none" to inspect a model without running it. N
   *  counts the GPUs that CUDA_VISIBLE_DEVICES leaves. Null or "": the first
   *  GPU if there is a driver, a device and code in the model for it, otherwise
   *  the CPU. */
  const char *device;

  /** Folder of external weights. Null: the folder of the file that
   *  frit_module_load opened, or the working directory. */
  const char *weights_folder;

  uint32_t flags; /**< of frit_module_flags */

  /** Threads of the cpu target, the calling one included; 0: one per core. */
  uint32_t threads;

  /** Called for what is worth knowing but no error: a missing library, a call
   *  that runs without a CUDA graph. May be null. Runs on the thread of the
   * frit call that has the remark; `message` is valid during the callback. */
  void (*remark)(void *user, const char *message);
  void *remark_user;

  /** Limit in bytes of the device memory that the module, its functions and
   *  their contexts hold at a time; 0: none. An allocation beyond it fails with
   *  FRIT_OUT_OF_MEMORY. Code, graphs and allocations of libraries do not
   *  count, nor do weights in mapped files on the CPU. */
  uint64_t memory_limit;

  /** Allocates that memory, until the module and all its contexts are gone. By
   *  default the driver or malloc does. */
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

/** As frit_module_load, with the program's weights in place of those in the
 *  artifact or its files, which may lack them. Tensors are found by name (see
 *  frit_module_weight); type and shape must be the model's.
 *
 *  The module reads the tensors' memory, on the host or the module's GPU, which
 *  must stay valid until the weights are replaced or the module is closed. On a
 *  GPU, a weight is not copied if it is in device memory at a multiple of 256
 *  bytes and calls read it unchanged. After changing weights in that memory,
 *  call frit_module_set_weights. */
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
 *  inference has one, "main", or those that fritc's -fentry names; one compiled
 *  for training has a training step and an evaluation step for each batch size.
 *  frit_module_open and frit_module_load open the first. */
FRIT_API uint32_t frit_module_function_count(const frit_module *module);

/** Returns the name of function `index`, in the artifact's order; null if there
 *  is no such index. Lives as long as the module. */
FRIT_API const char *frit_module_function_name(const frit_module *module,
                                               uint32_t index);

/** Returns the name of the module's function. Lives as long as the module. */
FRIT_API const char *frit_module_function(const frit_module *module);

/** Returns what the module's function computes. */
FRIT_API frit_function_role frit_module_role(const frit_module *module);

/** Opens another function of the artifact of `module`, on the same device and
 *  with the same options. The result is a module of its own, with the inputs,
 *  outputs, symbols and variants of that function. Modules of an artifact
 *  share the code and the weights on the device.
 *
 *  Close every module, in any order: shared memory is freed with the last of
 *  them. The image passed to frit_module_open must outlive them all. */
FRIT_API frit_status frit_module_open_function(frit_module *module,
                                               const char *name,
                                               frit_module **function);

/** Returns the model's name in its source file. Lives as long as the module. */
FRIT_API const char *frit_module_name(const frit_module *module);

FRIT_API uint32_t frit_module_input_count(const frit_module *module);
FRIT_API uint32_t frit_module_output_count(const frit_module *module);

/** Describes input or output `index`, in the model's order. */
FRIT_API frit_status frit_module_input(const frit_module *module,
                                       uint32_t index, frit_tensor_info *info);
FRIT_API frit_status frit_module_output(const frit_module *module,
                                        uint32_t index, frit_tensor_info *info);

/** Elements of an input that the model takes as indices, such as the rows of an
 *  embedding: those of a box of the largest variant's tensor. A call takes
 * fewer indices of an open dimension where that has fewer entries. frit_run and
 *  frit_feed_send fail if one in host memory is out of range; in device memory
 *  nothing is checked (see fritc -fcheck-indices). Pointers live as long as the
 *  module. */
typedef struct frit_index_range {
  const int64_t *first, *sizes; /**< the box: one entry per dimension */
  int64_t least, most;
  int64_t other;   /**< a value that is taken too; `least` if there is none */
  const char *use; /**< "node 'embed' indexes entries of 'table'" */
} frit_index_range;

FRIT_API uint32_t frit_module_index_range_count(const frit_module *module,
                                                uint32_t input);
FRIT_API frit_status frit_module_index_range(const frit_module *module,
                                             uint32_t input, uint32_t index,
                                             frit_index_range *range);

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
  /** Whether a call may give any size from `least` to `most` that is a
   *  multiple of `multiple`, its inputs being padded up to the next of `sizes`;
   *  otherwise only those in `sizes`. */
  int padded;
  uint32_t size_count;
  const int64_t *sizes; /**< compiled variants, ascending */
  /** Whether padding is masked out inside the model, because it combines
   *  elements along this dimension. */
  int masked;
  /** Every size must be a multiple of this; 1 for most models. */
  uint32_t multiple;
} frit_symbol_info;

/** Number of symbolic dimensions; 0 if all shapes are static. */
FRIT_API uint32_t frit_module_symbol_count(const frit_module *module);
FRIT_API frit_status frit_module_symbol(const frit_module *module,
                                        uint32_t index, frit_symbol_info *info);

/** frit_module_input_symbols: the length is a sum with symbols in it. */
#define FRIT_SUM_OF_SYMBOLS (-2)

/** Per dimension of input `index`: the symbol that is its length, -1 if the
 *  length is fixed, or FRIT_SUM_OF_SYMBOLS. Of output `index`: the symbol that
 *  its length depends on, or -1. The array has `rank` entries and lives as long
 *  as the module. */
FRIT_API frit_status frit_module_input_symbols(const frit_module *module,
                                               uint32_t index,
                                               const int32_t **symbols);
FRIT_API frit_status frit_module_output_symbols(const frit_module *module,
                                                uint32_t index,
                                                const int32_t **symbols);

/** Number of counts: lengths of outputs that the device computes, such as that
 *  of NonZero. 0 for most models. If there are any, a call on a GPU waits for
 *  them, copies them to the host (8 bytes each) and then copies the outputs: it
 *  synchronizes twice instead of once, and frit_run_async waits too. */
FRIT_API uint32_t frit_module_counts(const frit_module *module);

/** Per dimension of output `index`: the count that its length depends on, or
 *  -1. The array has `rank` entries and lives as long as the module. */
FRIT_API frit_status frit_module_output_counts(const frit_module *module,
                                               uint32_t index,
                                               const int32_t **counts);

/** Computes the shape of input `index` for the sizes of all symbols, in their
 *  order; `dims` has room for the input's rank. Fails if no variant takes these
 *  sizes. */
FRIT_API frit_status frit_module_input_dims(const frit_module *module,
                                            const int64_t *sizes,
                                            uint32_t index, int64_t *dims);

/** Computes the shape of output `index` for inputs of these shapes; `dims` has
 *  room for the output's rank. Does not read the inputs' data: a data-dependent
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

/** Number of weights: the constants of the model that are stored by name, in
 *  the artifact or in a file. */
FRIT_API uint32_t frit_module_weight_count(const frit_module *module);

/** Describes weight `index` as it is in the model's file. */
FRIT_API frit_status frit_module_weight(const frit_module *module,
                                        uint32_t index, frit_tensor_info *info);

/** Number of files that hold weights beside the artifact. */
FRIT_API uint32_t frit_module_weight_file_count(const frit_module *module);

/** Returns the path of such a file, in the folder of external weights; null if
 *  there is no such index. Lives as long as the module. */
FRIT_API const char *frit_module_weight_file(const frit_module *module,
                                             uint32_t index);

/** Replaces weights for later calls of the module's contexts. Tensors are found
 *  and used as in frit_module_load_weights; weights that are not named stay.
 *  Call it with the same tensors after changing the weights in their memory.
 *
 *  All calls must have ended (frit_context_synchronize), and so must all writes
 *  to the tensors. Nothing changes if a tensor is wrong; if the call fails
 *  otherwise, the weights are undefined. A model with state keeps its weights
 *  there: use frit_state_write. */
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
  /** Memory that a context holds for its calls. On a GPU: arena, state, inputs
   *  and outputs. On the CPU: arena, state and scratch memory of the threads. 0
   *  if the module was opened on "none". */
  uint64_t context_bytes;
  /** On the CPU: most memory that a context takes beyond that, once calls need
   *  copies of all inputs and outputs. A copy is needed of a tensor that does
   *  not start at a multiple of 64 bytes, that is padded in this call or that
   *  shares memory with an output, and of an output that is not given. */
  uint64_t copy_bytes;
} frit_device_info;

FRIT_API frit_status frit_module_device(const frit_module *module,
                                        frit_device_info *info);

#ifdef __cplusplus
}
#endif

#endif /* FRIT_MODULE_H */
