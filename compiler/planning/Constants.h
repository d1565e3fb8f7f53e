//===- Constants.h - Constants of a plan ----------------------------------===//

#ifndef FRIT_COMPILER_PLANNING_CONSTANTS_H
#define FRIT_COMPILER_PLANNING_CONSTANTS_H

#include "dialects/nn/NN.h"

#include "mlir/IR/SymbolTable.h"

namespace frit::planning {

/// The module's plan.constants. Constants with equal names and values share an
/// entry.
class Constants {
public:
  explicit Constants(mlir::ModuleOp module) : module(module), symbols(module) {}

  /// Returns the name of the constant's entry; creates it if needed.
  mlir::StringAttr get(nn::ConstantOp op) {
    return get(op.getName().value_or("constant"), op.getValue(), op.getLoc());
  }
  mlir::StringAttr get(llvm::StringRef wanted, mlir::ElementsAttr value,
                       mlir::Location loc);

private:
  mlir::StringAttr create(llvm::StringRef name, mlir::ElementsAttr value,
                          mlir::Location loc);

  /// Entries with the same wanted name; they get numbers as suffixes.
  struct Namesakes {
    int taken = 0; ///< suffixes tried so far
    llvm::DenseMap<mlir::Attribute, mlir::StringAttr> entries;
  };

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::StringMap<Namesakes> byName;
};

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_CONSTANTS_H
