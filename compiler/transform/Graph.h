//===- Graph.h - Queries about the graph ----------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_GRAPH_H
#define FRIT_COMPILER_TRANSFORM_GRAPH_H

#include "dialects/nn/Fold.h"

#include "mlir/IR/IRMapping.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace frit {

/// Returns the value of a foldable constant whose elements are all equal, or
/// null.
mlir::DenseElementsAttr splatOf(mlir::Value value);

/// Returns the element of a foldable splat as a number.
std::optional<double> splatNumber(mlir::Value value);
bool isSplat(mlir::Value value, double number);

/// Creates a constant of `type` that repeats the element of `splat`.
mlir::Value createSplat(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::RankedTensorType type,
                        mlir::DenseElementsAttr splat);

/// Creates a constant of `type` whose elements are all `number`.
mlir::Value createSplat(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::RankedTensorType type, double number);

/// Returns whether a value depends on constants only, through chains of at most
/// `depth` operators. It is then computed once, at load.
bool dependsOnConstants(mlir::Value value, unsigned depth = 8);

/// Returns whether `w` is a weight of numbers that are all stored.
bool isPlainWeight(mlir::Value w);

/// Returns whether a value that depends on constants only has one reader, and
/// so has each value that it is computed from.
bool isReadOnce(mlir::Value value);

/// Returns whether a value is a weight that trains.
bool isParameter(mlir::Value value);

/// Returns whether a value exists before `op`.
bool isBefore(mlir::Value value, mlir::Operation *op);

/// Returns the operators between `op` and `end`, later in its block, that
/// depend on `op`, in order; none if `end` depends on it or if they are `most`
/// or more.
std::optional<llvm::SmallVector<mlir::Operation *>>
dependentsBefore(mlir::Operation *op, mlir::Operation *end, size_t most);

/// Erases the operators whose results are unused.
void eraseDead(mlir::Block &block);

/// Returns an operator's name in diagnostics: the model's node, or else
/// "nn.add".
std::string nodeName(mlir::Operation *op);

/// Clones the operators of a fusion's body to where `b` inserts, with its
/// inputs as `values` maps them. Returns what the fusion yields.
llvm::SmallVector<mlir::Value> cloneBody(mlir::OpBuilder &b,
                                         nn::FusionOp fusion,
                                         const mlir::IRMapping &values);

/// Fuses the node locations of several operators.
mlir::Location fuseLocations(llvm::ArrayRef<mlir::Operation *> ops);

/// Returns the result type of `op`, which has one result.
inline mlir::RankedTensorType resultType(mlir::Operation *op) {
  return nn::tensorType(op->getResult(0));
}

inline bool isFloat(mlir::Value value) {
  return llvm::isa<mlir::FloatType>(nn::tensorType(value).getElementType());
}

/// Returns `shape` without its dimensions of size 1.
inline llvm::SmallVector<int64_t> withoutOnes(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> rest(shape);
  llvm::erase(rest, 1);
  return rest;
}

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_GRAPH_H
