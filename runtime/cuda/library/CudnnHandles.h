//===- CudnnHandles.h - Handles of cuDNN that nobody uses -----------------===//

#ifndef FRIT_CUDA_CUDNNHANDLES_H
#define FRIT_CUDA_CUDNNHANDLES_H

#include "runtime/cuda/CudaApi.h"
#include "runtime/cuda/library/CudnnApi.h"

#include <memory>
#include <mutex>
#include <vector>

namespace frit::cuda {

/// Unused handles of one device, shared by its open models. A service that
/// makes a context for each request must not grow: cudnnDestroy leaves 38 KiB
/// of host memory behind (cuDNN 9.14 and 9.19), so handles are used again.
/// Every thread may call the functions.
class CudnnHandles {
public:
  /// Returns the handles of `context`, the current one, for a library whose
  /// functions are `dnn`. They live as long as someone holds them.
  static std::shared_ptr<CudnnHandles> of(const CudnnApi &dnn, Context context);

  explicit CudnnHandles(const CudnnApi &dnn) : dnn(dnn) {}
  CudnnHandles(const CudnnHandles &) = delete;
  /// The device's context must be current.
  ~CudnnHandles();

  /// Returns a handle, or null if cuDNN does not start.
  DnnHandle take();
  void give(DnnHandle handle);

private:
  /// A copy: its model may be closed before others that share the handles.
  const CudnnApi dnn;
  std::mutex mutex;
  std::vector<DnnHandle> unused;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_CUDNNHANDLES_H
