//===- Arguments.h - Add arguments and results to a function --------------===//

#ifndef FRIT_COMPILER_TRAINING_ARGUMENTS_H
#define FRIT_COMPILER_TRAINING_ARGUMENTS_H

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit {

/// The attribute of weights that products or convolutions read.
inline constexpr llvm::StringLiteral kMultiplied = "nn.multiplied";

/// The attribute of constants that are statistics of frozen norms. They never
/// train, whatever the patterns of `train` match.
inline constexpr llvm::StringLiteral kFrozen = "nn.frozen";

/// The attribute of the result that is the share of a loss's items that count.
inline constexpr llvm::StringLiteral kShare = "nn.share";

/// The output of an evaluation that is the number of items that its loss is the
/// mean over.
inline constexpr llvm::StringLiteral kLossCount = "loss_count";

/// The attribute of a quotient that is a mean over items of which some count:
/// the most that may.
inline constexpr llvm::StringLiteral kMostItems = "nn.most_items";

/// Inserts an argument with these attributes before argument `index`.
mlir::BlockArgument
insertArgument(mlir::func::FuncOp main, unsigned index, mlir::Type type,
               llvm::ArrayRef<mlir::NamedAttribute> attributes,
               mlir::Location loc);

/// Adds a last argument.
mlir::BlockArgument addArgument(mlir::func::FuncOp main, mlir::Type type,
                                llvm::ArrayRef<mlir::NamedAttribute> attributes,
                                mlir::Location loc);

/// Replaces named constants by last arguments, whose attribute `kind` is the
/// constant's name and whose `nn.initial` is its value. Those that products or
/// convolutions read have the attribute kMultiplied.
void replaceByArguments(mlir::func::FuncOp main,
                        llvm::ArrayRef<nn::ConstantOp> constants,
                        llvm::StringRef kind);

/// Adds a last result with these attributes.
void addResult(mlir::func::FuncOp main, mlir::Value value,
               llvm::ArrayRef<mlir::NamedAttribute> attributes);

/// Adds a last result, the next value of the state that the argument `before`
/// is: `after`, tied to the argument by an nn.update.
void addNextValue(mlir::func::FuncOp main, mlir::BlockArgument before,
                  mlir::Value after);

/// Adds last results at once: the function's type has all of them, so one after
/// another takes time and memory of their number's square.
void addResults(mlir::func::FuncOp main, llvm::ArrayRef<mlir::Value> values,
                llvm::ArrayRef<mlir::DictionaryAttr> attributes);

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_ARGUMENTS_H
