/*===- state.h - Read and write the tensors that calls keep ---------------===*\
|* A part of frit/runtime.h, which shows how the parts are used together.     *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_STATE_H
#define FRIT_STATE_H

#include "frit/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Number of state tensors: named tensors that a context keeps from call to
 *  call, such as a training step's parameters. All functions of an artifact
 *  have the same ones. 0 for a model compiled for inference. */
FRIT_API uint32_t frit_module_state_count(const frit_module *module);

/** Describes state tensor `index`; its shape is fixed. */
FRIT_API frit_status frit_module_state(const frit_module *module,
                                       uint32_t index, frit_tensor_info *info);

/** Returns what state tensor `index` is; FRIT_STATE_OTHER if there is no such
 *  index. */
FRIT_API frit_state_role frit_module_state_role(const frit_module *module,
                                                uint32_t index);

/** Bytes of memory that the state takes, once for a context and its peers. */
FRIT_API uint64_t frit_module_state_bytes(const frit_module *module);

/** Returns how many of these bytes are sharded over the ranks of a group: the
 *  optimizer's state of a step compiled with -fshard-optimizer. On the cpu
 *  target each rank allocates all of it. */
FRIT_API uint64_t frit_module_sharded_state_bytes(const frit_module *module);

/** Copies state tensors to the caller's memory. A tensor is found by its name
 *  or, if that is null, by its position in the call, as in frit_run; type and
 *  dimensions must be those of frit_module_state. A call may name any of them,
 *  in any order, each at most once. If one is wrong, nothing is copied.
 *
 *  The values are those after all earlier calls of the context and its peers.
 *  If a tensor is in host memory, the call waits for the context's stream and
 *  returns when all values are there; otherwise it only enqueues the copies.
 *
 *  A tensor whose data is null is not copied. If the context has joined a group
 *  that shards state, this is a collective call: all ranks make it with the
 *  same tensors, and each passes null data for those that it does not want. */
FRIT_API frit_status frit_state_read(frit_context *context,
                                     const frit_tensor *tensors,
                                     uint32_t count);

/** Copies the caller's tensors to the state, which later calls of the context
 *  and its peers read. Tensors are found and checked as in frit_state_read, and
 *  must have data. A rank keeps its shard of sharded state.
 *
 *  Tensors of at most 16 bytes in host memory, such as a learning rate, are
 *  only enqueued; their memory may change as soon as the call returns. If a
 *  larger tensor is in host memory, the call waits for the context's stream and
 *  returns when all values are there. */
FRIT_API frit_status frit_state_write(frit_context *context,
                                      const frit_tensor *tensors,
                                      uint32_t count);

#ifdef __cplusplus
}
#endif

#endif /* FRIT_STATE_H */
