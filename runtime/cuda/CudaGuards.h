//===- CudaGuards.h - Steps that run only if a condition holds ------------===//

#ifndef FRIT_RUNTIME_CUDA_CUDAGUARDS_H
#define FRIT_RUNTIME_CUDA_CUDAGUARDS_H

#include "runtime/cuda/Driver.h"

namespace frit::cuda {

/// The kernel that sets the handle of a conditional node. Parameters: a pointer
/// to the condition's byte, the handle, and the value (0 or 1) for which the
/// node's body runs.
class GuardKernel {
public:
  explicit GuardKernel(const Gpu &gpu) : gpu(gpu) {}
  GuardKernel(const GuardKernel &) = delete;
  ~GuardKernel();

  /// Loads the kernel. Fails if the driver has no conditional nodes.
  Status open();

  Function function() const { return kernel; }

private:
  const Gpu &gpu;
  Module module = nullptr;
  Function kernel = nullptr;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_CUDAGUARDS_H
