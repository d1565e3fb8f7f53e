/*===- feed.h - Copy the next inputs during a call ------------------------===*\
|* A part of frit/runtime.h, which shows how the parts are used together.     *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_FEED_H
#define FRIT_FEED_H

#include "frit/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Copies the inputs of later calls to the device while calls run. If the
 *  inputs of call n + 1 are ready before call n, a thread does this:
 *
 *    frit_feed_take(feed, inputs);                 // those of call n
 *    frit_feed_send(feed, next, count);            // those of call n + 1
 *    frit_run(context, inputs, count, ...);        // call n, meanwhile
 *
 *  Only the thread of the context may use it. */
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
 *  memory must not change until the call that takes the inputs returns.
 *  Previously sent inputs must have been taken. */
FRIT_API frit_status frit_feed_send(frit_feed *feed, const frit_tensor *inputs,
                                    uint32_t count);

/** Fills `inputs`, as many as were sent and in their order, with the tensors
 *  for the next call of the context, and enqueues the work that fills their
 *  memory. The host does not wait for the copies. The tensors are valid until
 *  the next call of this. */
FRIT_API frit_status frit_feed_take(frit_feed *feed, frit_tensor *inputs);

#ifdef __cplusplus
}
#endif

#endif /* FRIT_FEED_H */
