/*===- feed.h - Copy the next inputs during a call ------------------------===*\
|* A part of frit/runtime.h, which shows how the parts are used together.     *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_FEED_H
#define FRIT_FEED_H

#include "frit/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Copies the inputs of later calls to the device while a call runs. With the
 *  inputs of call n + 1 ready before call n, the loop is:
 *
 *    frit_feed_take(feed, inputs);                 // for call n
 *    frit_feed_send(feed, next, count);            // for call n + 1
 *    frit_run(context, inputs, count, ...);        // call n, meanwhile
 *
 *  Only the thread that uses the context may use its feed. */
typedef struct frit_feed frit_feed;

/** Makes a feed for calls of `context`, which must outlive it. On a GPU it
 *  allocates device memory for one more set of inputs of the largest variant.
 */
FRIT_API frit_status frit_feed_create(frit_context *context, frit_feed **feed);

/** Waits for copies and calls, and frees the feed and the memory that it
 *  allocated. Null is ignored. */
FRIT_API void frit_feed_destroy(frit_feed *feed);

/** Allocates host memory for inputs, which the feed frees. It is page-locked
 *  with a GPU, so that copies from it overlap calls. */
FRIT_API frit_status frit_feed_allocate(frit_feed *feed, size_t bytes,
                                        void **memory);

/** Starts to copy all inputs of a later call from host memory. They are matched
 *  by name or position as in frit_run. Returns without waiting if the memory is
 *  of frit_feed_allocate. The memory must not change until the call that uses
 *  the inputs returns. Previously sent inputs must have been taken. */
FRIT_API frit_status frit_feed_send(frit_feed *feed, const frit_tensor *inputs,
                                    uint32_t count);

/** Fills `inputs` with the device tensors of what was sent, in the same order
 *  and number, for the next call of the context. The context's stream waits for
 *  the copies; the host does not. The tensors are valid until the next
 *  frit_feed_take. */
FRIT_API frit_status frit_feed_take(frit_feed *feed, frit_tensor *inputs);

#ifdef __cplusplus
}
#endif

#endif /* FRIT_FEED_H */
