/*===- profile.h - Time and trace the steps of a call ---------------------===*\
|* A part of frit/runtime.h, which shows how the parts are used together.     *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_PROFILE_H
#define FRIT_PROFILE_H

#include "frit/context.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/** In place of a step, for a tensor that no step of the call computed: an input
 *  or a weight, say. */
#define FRIT_NO_STEP UINT32_MAX

/** A tensor that a step reads or writes. */
typedef struct frit_step_tensor {
  frit_dtype dtype;
  uint64_t count;   /**< elements; 0 if the type is not known */
  const void *data; /**< in host memory, during the callback */
  int is_result;    /**< whether the step wrote it; otherwise it only read it */
  /** the last step that wrote it or a part of it; FRIT_NO_STEP if none did */
  uint32_t step;
} frit_step_tensor;

/** As frit_run, but step by step, and without a graph. Calls `visit` after each
 *  step that ran with all that it has written: to find the first one with
 *  infinities, say. If `operands` is not 0, `visit` also gets what the step
 *  read, as it was before the step. Tensors of a GPU are copied to the host, so
 *  it is slow. */
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
