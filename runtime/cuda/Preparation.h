//===- Preparation.h - Divide the prepare steps by memory -----------------===//

#ifndef FRIT_RUNTIME_CUDA_PREPARATION_H
#define FRIT_RUNTIME_CUDA_PREPARATION_H

#include "runtime/plan/PlanView.h"

#include <vector>

namespace frit::cuda {

/// Consecutive steps of a prepare list, and the constants that they need on the
/// device and that are not kept afterwards.
struct Window {
  size_t first = 0, count = 0;
  std::vector<uint32_t> constants; ///< without duplicates
  uint64_t bytes = 0;              ///< of the constants, each aligned
};

/// Divides a prepare list so that each window's constants take at most `most`
/// bytes, or the window is a single step.
std::vector<Window> windowsOf(const PlanView &plan,
                              std::span<const artifact::Step> list,
                              uint64_t most);

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_PREPARATION_H
