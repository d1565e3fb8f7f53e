/*===- context.h - Run models ---------------------------------------------===*\
|* A part of frit/runtime.h, which shows how the parts are used together.     *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_CONTEXT_H
#define FRIT_CONTEXT_H

#include "frit/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Everything that one thread needs to run a module: scratch memory, state, a
 *  stream, CUDA graphs. */
typedef struct frit_context frit_context;

/** Makes a context. Its state is initialized to the values of the model; see
 *  frit_module_state. */
FRIT_API frit_status frit_context_create(frit_module *module,
                                         frit_context **context);

/** Makes a context of another function that shares the state and the stream of
 *  `context`: the next call of one reads the state that a call of the other has
 *  written. They also share scratch memory, and the buffers of
 *  frit_context_input_buffer, if the new context needs no more than `context`
 *  has. `function` must be a module of the same artifact, opened by
 *  frit_module_open_function from the module of `context`, directly or through
 *  other functions, or vice versa; it may be that module itself.
 *
 *  One thread at a time may use a context or one of its peers. Each is
 *  destroyed separately, in any order: shared memory is freed with the last.
 */
FRIT_API frit_status frit_context_create_peer(frit_module *function,
                                              frit_context *context,
                                              frit_context **peer);

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
 *  and not overlap. If library calls use them, the context keeps a CUDA graph
 *  for each of the last few sets of device pointers. The first call with new
 *  pointers copies to and from the context's own buffers; the second captures
 *  their graph.
 *
 *  For an output with data-dependent dimensions, pass their upper bounds and
 *  memory for as many elements. After the call the valid elements are at its
 *  start, densely packed in the shape that frit_context_output_dims returns;
 *  the bytes after them are undefined.
 *
 *  On the CPU target an output may share memory with an input. When a call
 *  fails, the contents of the outputs are undefined; those of the state are too
 *  if the device reported the failure. */
FRIT_API frit_status frit_run(frit_context *context, const frit_tensor *inputs,
                              uint32_t input_count, const frit_tensor *outputs,
                              uint32_t output_count);

/** As frit_run, but all tensors are on the device and the call only enqueues
 *  the work on the context's stream. On the CPU target it does the work at
 *  once. If frit_module_counts is not 0, it waits for the counts. If a
 * condition guards steps that write state, and the driver lacks conditional
 * graph nodes or the call runs without a graph, it waits for that condition. */
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

/** Makes the context and its peers enqueue their work on `stream`, a CUstream
 *  of the module's device. Null selects the context's own stream again, and
 *  CU_STREAM_LEGACY (1) the default stream. Later work runs after the work that
 *  is already enqueued; the host does not wait. The stream must live until it
 *  is replaced or the context is destroyed. Has no effect on the cpu target. */
FRIT_API frit_status frit_context_set_stream(frit_context *context,
                                             void *stream);

/** Returns the CUstream that calls of the context are enqueued on; null on the
 *  cpu target. All work of a call is ordered with this stream, even if the call
 *  forks to other streams. The caller's events therefore order it with other
 *  work, and the host need not wait:
 *
 *    cuStreamWaitEvent(frit_context_stream(context), inputsWritten, 0);
 *    frit_run_async(context, inputs, input_count, outputs, output_count);
 *    cuEventRecord(outputsWritten, frit_context_stream(context));
 */
FRIT_API void *frit_context_stream(const frit_context *context);

/** Returns the context's own device buffer for input or output `index`, of
 *  frit_tensor_info's `bytes`. frit_run stages host tensors there; a call that
 *  passes the buffer itself needs no new CUDA graph. Null if there is no such
 *  index, or for strings. Lives as long as the context. Peers may share an
 * input's buffer. An output that is shorter in an inner data-dependent
 * dimension is not packed here: its rows keep the stride of the upper bound. */
FRIT_API void *frit_context_input_buffer(frit_context *context, uint32_t index);
FRIT_API void *frit_context_output_buffer(frit_context *context,
                                          uint32_t index);

#ifdef __cplusplus
}
#endif

#endif /* FRIT_CONTEXT_H */
