//===- CudaGuards.h - Steps that run only where a condition says so -------===//

#ifndef FRIT_CUDA_CUDAGUARDS_H
#define FRIT_CUDA_CUDAGUARDS_H

#include "runtime/cuda/Driver.h"

namespace frit::cuda {

/// The kernel that tells a graph's conditional node what a condition is. It
/// takes a pointer to the condition's byte, the node's handle, and for which
/// value (0 or 1) the node's body is to run.
class GuardKernel {
public:
  explicit GuardKernel(const Gpu &gpu) : gpu(gpu) {}
  GuardKernel(const GuardKernel &) = delete;
  ~GuardKernel();

  /// Fails where the driver knows no conditional nodes.
  Status open();

  Function function() const { return kernel; }

private:
  const Gpu &gpu;
  Module module = nullptr;
  Function kernel = nullptr;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_CUDAGUARDS_H
