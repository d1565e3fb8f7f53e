/*===- group.h - Train on several devices ---------------------------------===*\
|* A part of frit/runtime.h, which shows how the parts are used together.     *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_GROUP_H
#define FRIT_GROUP_H

#include "frit/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Identifies a group. One rank makes it and sends the bytes to the others. */
typedef struct frit_group_id {
  char bytes[128];
} frit_group_id;

/** A rank in a group of processes, each with a context of the same artifact on
 *  its own GPU. */
typedef struct frit_group {
  uint32_t rank; /**< from 0 on */
  uint32_t size; /**< number of ranks, at least 1 */
  frit_group_id id;
} frit_group;

/** Makes the id of a new group of contexts of `module`. On a GPU it opens NCCL.
 */
FRIT_API frit_status frit_group_unique_id(const frit_module *module,
                                          frit_group_id *id);

/** Makes the calls of a context average gradients and losses over a group; its
 *  function must be compiled with -fdata-parallel. Waits until all ranks have
 *  joined. From then on all ranks must make the same calls of the context. One
 *  that has not joined is a group of one rank. Peers' calls are not affected.
 *  All ranks must have the same state; each keeps its shard of sharded state.
 *
 *  On the cpu target the ranks are processes of one host. */
FRIT_API frit_status frit_context_join(frit_context *context,
                                       const frit_group *group);

#ifdef __cplusplus
}
#endif

#endif /* FRIT_GROUP_H */
