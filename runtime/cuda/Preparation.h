//===- Preparation.h - Which weights are prepared together ----------------===//

#ifndef FRIT_CUDA_PREPARATION_H
#define FRIT_CUDA_PREPARATION_H

#include "runtime/exec/PlanView.h"

#include <vector>

namespace frit::cuda {

/// Steps of a prepare list, one after another, and the constants that they
/// read and that are nowhere kept: on the device only for these steps.
struct Window {
  size_t first = 0, count = 0;
  std::vector<uint32_t> constants; ///< each once
  uint64_t bytes = 0;              ///< of all of them, each aligned
};

/// What a constant takes among others.
uint64_t alignedBytes(const artifact::Constant &constant);

/// Cuts a prepare list where the constants would take more than `most` bytes;
/// one step may take more by itself.
std::vector<Window> windowsOf(const PlanView &plan,
                              std::span<const artifact::Step> list,
                              uint64_t most);

} // namespace frit::cuda

#endif // FRIT_CUDA_PREPARATION_H
