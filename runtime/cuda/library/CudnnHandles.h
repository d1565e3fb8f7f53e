//===- CudnnHandles.h - A pool of unused cuDNN handles --------------------===//

#ifndef FRIT_RUNTIME_CUDA_LIBRARY_CUDNNHANDLES_H
#define FRIT_RUNTIME_CUDA_LIBRARY_CUDNNHANDLES_H

#include "runtime/cuda/ContextWatch.h"
#include "runtime/cuda/library/CudnnApi.h"

#include <memory>
#include <mutex>
#include <vector>

namespace frit::cuda {

/// Pool of unused handles of one device, shared by its open models. A service
/// that creates a context per request must not grow: cudnnDestroy leaks 38 KiB
/// of host memory (cuDNN 9.14 and 9.19), so handles are reused. Thread-safe.
class CudnnHandles {
public:
  /// Returns the pool of `context`, the current one, for a library with the
  /// functions `dnn`. It lives as long as its owners. After a reset of the GPU
  /// the context has another pool.
  static std::shared_ptr<CudnnHandles> of(const CudnnApi &dnn,
                                          const Api &driver, Context context);

  CudnnHandles(const CudnnApi &dnn, const ContextWatch &context)
      : dnn(dnn), context(context) {}
  CudnnHandles(const CudnnHandles &) = delete;
  /// Requires that the device's context is current.
  ~CudnnHandles();

  /// Returns a handle, or null if cuDNN does not start.
  DnnHandle take();
  /// Abandons the handle if the GPU has been reset: cuDNN crashes when it gets
  /// one of a context that is gone.
  void give(DnnHandle handle);

private:
  /// A copy: its model may be closed before others that share the pool.
  const CudnnApi dnn;
  const ContextWatch context;
  std::mutex mutex;
  std::vector<DnnHandle> unused;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_LIBRARY_CUDNNHANDLES_H
