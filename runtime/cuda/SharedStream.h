//===- SharedStream.h - A stream of a GPU ---------------------------------===//

#ifndef FRIT_CUDA_SHAREDSTREAM_H
#define FRIT_CUDA_SHAREDSTREAM_H

#include "runtime/cuda/Driver.h"

namespace frit::cuda {

/// A stream with several owners, who may outlive the executor that made it.
struct SharedStream {
  explicit SharedStream(std::shared_ptr<const Gpu> gpu) : gpu(std::move(gpu)) {}
  SharedStream(const SharedStream &) = delete;
  ~SharedStream() {
    ContextScope scope(*gpu);
    if (stream)
      gpu->driver.streamDestroy(stream);
  }

  std::shared_ptr<const Gpu> gpu;
  Stream stream = nullptr;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_SHAREDSTREAM_H
