//===- Kernels.h - The kernels of a program -------------------------------===//

#ifndef FRIT_COMPILER_PLANNING_KERNELS_H
#define FRIT_COMPILER_PLANNING_KERNELS_H

#include "dialects/nn/NN.h"
#include "dialects/plan/Plan.h"

namespace frit::planning {

/// The kernels of a program; fusions with the same text are one kernel.
class Kernels {
public:
  explicit Kernels(plan::ProgramOp program) : program(program) {}

  /// The kernel that does what `fusion` does, made where there is none.
  mlir::FlatSymbolRefAttr get(nn::FusionOp fusion);

private:
  mlir::StringAttr create(nn::FusionOp fusion);

  plan::ProgramOp program;
  llvm::StringMap<mlir::StringAttr> names;
  mlir::Operation *last = nullptr;
};

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_KERNELS_H
