//===- Arguments.h - Add arguments and results to a function --------------===//

#ifndef FRIT_COMPILER_TRANSFORM_TRAINING_ARGUMENTS_H
#define FRIT_COMPILER_TRANSFORM_TRAINING_ARGUMENTS_H

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit {

/// Inserts an argument with these attributes before argument `index`.
mlir::BlockArgument
insertArgument(mlir::func::FuncOp main, unsigned index, mlir::Type type,
               llvm::ArrayRef<mlir::NamedAttribute> attributes,
               mlir::Location loc);

/// Adds a last argument.
mlir::BlockArgument addArgument(mlir::func::FuncOp main, mlir::Type type,
                                llvm::ArrayRef<mlir::NamedAttribute> attributes,
                                mlir::Location loc);

/// Replaces a named constant by an argument whose attribute `kind` is the
/// constant's name and whose `nn.initial` is its value.
mlir::BlockArgument replaceByArgument(mlir::func::FuncOp main,
                                      nn::ConstantOp constant,
                                      llvm::StringRef kind);

/// Adds a last result with these attributes.
void addResult(mlir::func::FuncOp main, mlir::Value value,
               llvm::ArrayRef<mlir::NamedAttribute> attributes);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_TRAINING_ARGUMENTS_H
