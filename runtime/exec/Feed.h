//===- Feed.h - Inputs that are copied while calls run --------------------===//

#ifndef FRIT_RUNTIME_EXEC_FEED_H
#define FRIT_RUNTIME_EXEC_FEED_H

#include "runtime/exec/Status.h"
#include "runtime/system/System.h"

#include <memory>
#include <span>
#include <vector>

namespace frit {

/// One input of frit_feed_send.
struct FeedTensor {
  uint32_t index = 0; ///< input
  const void *data = nullptr;
  uint64_t bytes = 0; ///< at most the input's in any variant
};

/// Implements frit_feed for one kind of device. This base class is for the CPU,
/// where calls read the caller's memory: it copies nothing.
class InputFeed {
public:
  virtual ~InputFeed() = default;

  /// Returns host memory that lives as long as the feed, aligned so that calls
  /// read it in place.
  virtual Status allocate(uint64_t bytes, void *&memory);

  /// Begins to copy `tensors`. Their memory must not change until the call
  /// after the next take() has returned.
  virtual Status send(std::span<const FeedTensor> tensors) { return Status(); }

  /// Enqueues the copies of the sent tensors to the inputs of the next call.
  /// Sets the address of each.
  virtual Status take(std::span<const FeedTensor> tensors,
                      std::vector<void *> &places, frit_location &location);

private:
  struct Free {
    void operator()(void *memory) const { system::freeAligned(memory); }
  };
  std::vector<std::unique_ptr<void, Free>> memory;
};

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_FEED_H
