//===- Kernels.h - Kernels of a target ------------------------------------===//

#ifndef FRIT_COMPILER_PLANNING_KERNELS_H
#define FRIT_COMPILER_PLANNING_KERNELS_H

#include "dialects/nn/NN.h"
#include "dialects/plan/Plan.h"

namespace frit::planning {

/// The kernels of a target. Fusions with the same text share one.
class Kernels {
public:
  explicit Kernels(plan::TargetOp target) : target(target) {}

  /// Returns the kernel of `fusion`; creates it if needed.
  mlir::FlatSymbolRefAttr get(nn::FusionOp fusion);

private:
  mlir::StringAttr create(nn::FusionOp fusion);

  plan::TargetOp target;
  llvm::StringMap<mlir::StringAttr> names;
  mlir::Operation *last = nullptr;
};

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_KERNELS_H
