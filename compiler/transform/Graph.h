//===- Graph.h - What several passes ask about the graph ------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_GRAPH_H
#define FRIT_COMPILER_TRANSFORM_GRAPH_H

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace frit {

/// Whether the compiler may look at a constant's value. A weight may be swapped
/// after compiling, so only what no one would swap qualifies: unnamed
/// constants, integers (shapes and indices) and single numbers.
bool isFoldable(nn::ConstantOp constant);

/// The value of a foldable constant whose elements are all equal, or null.
mlir::DenseElementsAttr splatOf(mlir::Value value);

/// The element of such a constant as a number.
std::optional<double> splatNumber(mlir::Value value);
bool isSplat(mlir::Value value, double number);

/// A constant of `type` whose elements all are the one of `splat`.
mlir::Value createSplat(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::RankedTensorType type,
                        mlir::DenseElementsAttr splat);

/// A constant of `type` whose elements all are `number`.
mlir::Value createSplat(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::RankedTensorType type, double number);

/// Whether a value depends on constants only, by at most `depth` operators in a
/// row: it will be computed once at load.
bool dependsOnConstants(mlir::Value value, unsigned depth = 8);

/// Erases the operators that nothing needs.
void eraseDead(mlir::Block &block);

/// How diagnostics call an operator: the model's node, or else "nn.add".
std::string nodeName(mlir::Operation *op);

/// The nodes' locations of several operators as one.
mlir::Location fuseLocations(llvm::ArrayRef<mlir::Operation *> ops);

/// The result type of `op`, which has one result.
inline mlir::RankedTensorType resultType(mlir::Operation *op) {
  return nn::tensorType(op->getResult(0));
}

inline bool isFloat(mlir::Value value) {
  return llvm::isa<mlir::FloatType>(nn::tensorType(value).getElementType());
}

/// The dimensions that are not of size 1.
inline llvm::SmallVector<int64_t> withoutOnes(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> rest(shape);
  llvm::erase(rest, 1);
  return rest;
}

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_GRAPH_H
