//===- SharedStream.h - The stream that calls run on ----------------------===//

#ifndef FRIT_RUNTIME_CUDA_SHAREDSTREAM_H
#define FRIT_RUNTIME_CUDA_SHAREDSTREAM_H

#include "runtime/cuda/Driver.h"

namespace frit::cuda {

/// The stream of a context and its peers: its own or the caller's. Has several
/// owners, which may outlive the executor that created it.
struct SharedStream {
  explicit SharedStream(std::shared_ptr<const Gpu> gpu) : gpu(std::move(gpu)) {}
  SharedStream(const SharedStream &) = delete;
  ~SharedStream() {
    ContextScope scope(*gpu);
    if (changed)
      gpu->driver.eventDestroy(changed);
    if (own)
      gpu->driver.streamDestroy(own);
  }

  /// Creates the own stream. The GPU's context must be current, also in `use`.
  Status open() {
    FRIT_TRY(gpu->driver.check(
        gpu->driver.streamCreate(&own, kStreamNonBlocking), "make a stream"));
    stream = own;
    return Status();
  }

  /// Enqueues later work on `next`, or on the own stream if that is null. It is
  /// ordered after earlier work, because calls share memory.
  Status use(Stream next) {
    if (!next)
      next = own;
    if (next == stream)
      return Status();
    const Driver &driver = gpu->driver;
    Result result = kSuccess;
    if (!changed)
      result = driver.eventCreate(&changed, kEventDisableTiming);
    if (result == kSuccess)
      result = driver.eventRecord(changed, stream);
    if (result == kSuccess)
      result = driver.streamWaitEvent(next, changed, 0);
    FRIT_TRY(driver.check(result, "change to another stream"));
    stream = next;
    return Status();
  }

  std::shared_ptr<const Gpu> gpu;
  Stream own = nullptr; ///< graphs are captured on it in any case
  Stream stream = nullptr;

private:
  Event changed = nullptr;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_SHAREDSTREAM_H
