//===- MergeVariants.h - One program for several shapes of a model --------===//

#ifndef FRIT_COMPILER_PLANNING_MERGEVARIANTS_H
#define FRIT_COMPILER_PLANNING_MERGEVARIANTS_H

#include "dialects/plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace frit::planning {

/// The constants of several plans, where equal ones are one.
class ConstantPool {
public:
  /// `symbols` are those of the module that the constants go to.
  explicit ConstantPool(mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// Moves the constants of `from` to the pool and makes its buffers name what
  /// they are called there.
  void take(mlir::ModuleOp from);

private:
  mlir::StringAttr add(plan::ConstantOp constant);

  mlir::SymbolTable &symbols;
  llvm::DenseMap<mlir::Attribute, mlir::StringAttr> byValue;
  /// By the name they came with: values too large to be unique are compared
  /// with those of the same name.
  llvm::StringMap<llvm::SmallVector<plan::ConstantOp>> byName;
};

/// Moves the main list of `from` to `into`, a program for the same target whose
/// constants are in the same pool, and calls it `name`. Kernels that are equal
/// become one, as does what is prepared from the same weights in the same way;
/// what is left of `from`'s prepare list follows `into`'s. Memory must have
/// been planned in both.
void mergeVariant(plan::ProgramOp into, plan::ProgramOp from,
                  llvm::StringRef name);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_MERGEVARIANTS_H
