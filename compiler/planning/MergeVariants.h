//===- MergeVariants.h - Merge the plans of a model's variants ------------===//

#ifndef FRIT_COMPILER_PLANNING_MERGEVARIANTS_H
#define FRIT_COMPILER_PLANNING_MERGEVARIANTS_H

#include "dialects/plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace frit::planning {

/// Constants of several plans, without duplicates.
class ConstantPool {
public:
  /// `symbols` is the symbol table of the module that gets the constants.
  explicit ConstantPool(mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// Moves the constants of `from` to the pool and updates its buffers and
  /// states to their new names.
  void take(mlir::ModuleOp from);

private:
  mlir::StringAttr add(plan::ConstantOp constant);

  mlir::SymbolTable &symbols;
  llvm::DenseMap<mlir::Attribute, mlir::StringAttr> byValue;
  /// Constants by original name. Values too large to be uniqued are compared
  /// only with those of the same name.
  llvm::StringMap<llvm::SmallVector<plan::ConstantOp>> byName;
};

/// States of several plans. Plans share the states of the same name.
class StatePool {
public:
  /// `symbols` is the symbol table of the module that gets the states.
  explicit StatePool(mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// Moves the states of `from` to the pool and updates its buffers to their
  /// new names. Fails, with an error, if a state of the same name is here and
  /// has another type or other members. Constants must be in their pool.
  mlir::LogicalResult take(mlir::ModuleOp from);

private:
  mlir::SymbolTable &symbols;
  llvm::StringMap<plan::StateOp> byName; ///< by original name
};

/// Moves the main list of `from` to `into`, under `name`. Both are programs for
/// the same function and target with the same constant pool. Equal kernels are
/// shared, as is prepared memory that is computed from the same weights in the
/// same way; the rest of `from`'s prepare list is appended to that of `into`.
/// Memory must have been planned in both.
void mergeVariant(plan::ProgramOp into, plan::ProgramOp from,
                  llvm::StringRef name);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_MERGEVARIANTS_H
