/*===- profile.h - Time and trace the steps of a call ---------------------===*\
|* A part of frit/runtime.h, which shows how the parts are used together.     *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_PROFILE_H
#define FRIT_PROFILE_H

#include "frit/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A step of the variant that ran last; before the first call, of the largest
 *  variant. Texts live as long as the context. */
typedef struct frit_step_info {
  /** "launch", "gemm", "conv", "attention", "copy", "guard" (a condition for
   *  the steps after it), "all_reduce", "reduce_scatter" or "all_gather" (later
   *  steps do not wait for these three), or "await" (waits for some of them) */
  const char *kind;
  const char *node;   /**< the model's nodes that it computes */
  const char *kernel; /**< the kernel, or the library's algorithm */
  double start;       /**< frit_profile: microseconds since the call began */
  double duration;    /**< frit_profile: microseconds */
  /** bytes that it reads and writes, without the elements of its tensors that
   * it does not access; 0 if it was skipped in frit_profile */
  uint64_t bytes;
  uint64_t flops;   /**< multiplications and additions of its contractions */
  int is_library;   /**< whether a library computes it, not frit's own code */
  uint32_t guarded; /**< of a guard: number of steps after it that it guards */
} frit_step_info;

FRIT_API uint32_t frit_context_step_count(const frit_context *context);

/** Describes step `index`; its times are 0. */
FRIT_API frit_status frit_context_step(const frit_context *context,
                                       uint32_t index, frit_step_info *info);

/** Runs a call step by step, with time stamps around each, and otherwise as
 *  frit_run. Calls `visit` for every step, in order, once the results are
 *  there. State is updated once. */
FRIT_API frit_status frit_profile(
    frit_context *context, const frit_tensor *inputs, uint32_t input_count,
    const frit_tensor *outputs, uint32_t output_count,
    void (*visit)(void *user, const frit_step_info *step), void *user);

/** Stands for a step where no step of the call computed a tensor: it is an
 *  input or a weight, say. */
#define FRIT_NO_STEP UINT32_MAX

/** A tensor that a step reads or writes. */
typedef struct frit_step_tensor {
  frit_dtype dtype;
  uint64_t count;   /**< elements; 0 if the type is not known */
  const void *data; /**< in host memory, during the callback */
  int is_result;    /**< whether the step wrote it, rather than only read it */
  /** the last step that wrote any of it; FRIT_NO_STEP if none did */
  uint32_t step;
} frit_step_tensor;

/** Runs a call step by step without a CUDA graph, and otherwise as frit_run.
 *  After each step that ran, calls `visit` with the tensors that it wrote: to
 *  find the first infinity, say. If `operands` is not 0, `visit` also gets the
 *  tensors that the step read, as they were before it. Slow on a GPU, since all
 *  these tensors are copied to the host. */
FRIT_API frit_status frit_trace(
    frit_context *context, const frit_tensor *inputs, uint32_t input_count,
    const frit_tensor *outputs, uint32_t output_count, int operands,
    void (*visit)(void *user, const frit_step_info *step,
                  const frit_step_tensor *tensors, uint32_t tensor_count),
    void *user);

#ifdef __cplusplus
}
#endif

#endif /* FRIT_PROFILE_H */
