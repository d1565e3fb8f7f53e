//===- Pools.h - Constants and states of several plans --------------------===//

#ifndef FRIT_COMPILER_PLANNING_POOLS_H
#define FRIT_COMPILER_PLANNING_POOLS_H

#include "dialects/plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace frit::planning {

/// Constants of several plans, without duplicates.
class ConstantPool {
public:
  /// `symbols` is the symbol table of the module that gets the constants.
  explicit ConstantPool(mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// Moves the constants of `from`, a plan of `function`, to the pool and
  /// updates its buffers and states to their new names.
  void take(mlir::ModuleOp from, llvm::StringRef function);

private:
  mlir::StringAttr add(plan::ConstantOp constant, llvm::StringRef function);
  plan::ConstantOp findEqual(plan::ConstantOp constant,
                             llvm::StringRef function);

  mlir::SymbolTable &symbols;
  llvm::DenseMap<mlir::Attribute, mlir::StringAttr> byValue;
  /// Constants by original name. Values too large to be uniqued are compared
  /// with those of the same name, and with those of other functions.
  llvm::StringMap<llvm::SmallVector<plan::ConstantOp>> byName;
  llvm::DenseMap<mlir::Type, llvm::SmallVector<plan::ConstantOp>> byType;
  /// By function, the constants that it has.
  llvm::StringMap<llvm::DenseSet<mlir::StringAttr>> ofFunction;
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

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_POOLS_H
