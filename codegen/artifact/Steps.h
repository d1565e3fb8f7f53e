//===- Steps.h - Add steps to the tables of a plan ------------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_STEPS_H
#define FRIT_CODEGEN_ARTIFACT_STEPS_H

#include "codegen/artifact/Tables.h"
#include "dialects/plan/Plan.h"

namespace frit::artifact {

/// Adds command lists to the tables. The caller first adds the constants,
/// states and kernels that the steps use, to the tables and to the maps below.
class StepWriter {
public:
  explicit StepWriter(Tables &tables) : tables(tables) {}

  /// Adds the steps of a list; null has none. The constants that a `main` list
  /// reads stay on the device.
  Range addList(plan::CommandListOp list, bool isMain);

  llvm::DenseMap<mlir::StringAttr, uint32_t> constants; ///< table entries
  llvm::DenseMap<mlir::StringAttr, uint64_t> states;    ///< offsets in bytes
  /// Kernels of the current program and their entries.
  llvm::DenseMap<mlir::StringAttr, std::pair<uint32_t, plan::KernelOp>> kernels;

private:
  void addStep(mlir::Operation *op, const plan::Follows &follows, bool isMain);
  void setKernel(Step &step, mlir::FlatSymbolRefAttr name);
  void addBuffer(mlir::Value value, bool written, bool isMain);

  Tables &tables;
};

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_STEPS_H
