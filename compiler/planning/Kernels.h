//===- Kernels.h - Kernels of a program -----------------------------------===//

#ifndef FRIT_COMPILER_PLANNING_KERNELS_H
#define FRIT_COMPILER_PLANNING_KERNELS_H

#include "dialects/nn/NN.h"
#include "dialects/plan/Plan.h"

namespace frit::planning {

/// The kernels of a program. Fusions with the same text share one.
class Kernels {
public:
  explicit Kernels(plan::ProgramOp program) : program(program) {}

  /// Returns the kernel of `fusion`; creates it if needed.
  mlir::FlatSymbolRefAttr get(nn::FusionOp fusion);

private:
  mlir::StringAttr create(nn::FusionOp fusion);

  plan::ProgramOp program;
  llvm::StringMap<mlir::StringAttr> names;
  mlir::Operation *last = nullptr;
};

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_KERNELS_H
