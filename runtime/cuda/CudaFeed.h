//===- CudaFeed.h - Inputs that are copied to the GPU while calls run -----===//

#ifndef FRIT_RUNTIME_CUDA_CUDAFEED_H
#define FRIT_RUNTIME_CUDA_CUDAFEED_H

#include "runtime/cuda/DeviceMemory.h"
#include "runtime/cuda/SharedStream.h"
#include "runtime/exec/Feed.h"

namespace frit::cuda {

/// Copies inputs to device memory of its own on its own stream. From there, a
/// copy on the device moves the inputs to the context's buffers, so that calls
/// need only one graph. Events order the two streams; the host waits for
/// neither.
class CudaFeed final : public InputFeed {
public:
  /// Creates a feed for calls on `queue`. `buffers` are a context's own inputs,
  /// which have room for `sizes` bytes.
  CudaFeed(std::shared_ptr<const Gpu> gpu, std::shared_ptr<SharedStream> queue,
           std::vector<DevicePointer> buffers)
      : gpu(std::move(gpu)), driver(this->gpu->driver), queue(std::move(queue)),
        buffers(std::move(buffers)), sent(this->gpu) {}
  ~CudaFeed() override;

  Status open(std::span<const uint64_t> sizes);
  Status allocate(uint64_t bytes, void *&memory) override;
  Status send(std::span<const FeedTensor> tensors) override;
  Status take(std::span<const FeedTensor> tensors, std::vector<void *> &places,
              frit_location &location) override;

private:
  std::shared_ptr<const Gpu> gpu;
  const Driver &driver;
  std::shared_ptr<SharedStream> queue;
  std::vector<DevicePointer> buffers;

  SharedMemory sent;             ///< holds one set of inputs
  std::vector<uint64_t> offsets; ///< of the inputs in `sent`
  Stream stream = nullptr;       ///< of the copies from the host
  Event arrived = nullptr;       ///< `sent` is filled
  Event left = nullptr;          ///< `sent` may be overwritten
  std::vector<void *> pinned;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_CUDAFEED_H
