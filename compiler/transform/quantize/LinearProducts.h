//===- LinearProducts.h - Products with matrices of weights ---------------===//

#ifndef FRIT_COMPILER_TRANSFORM_QUANTIZE_LINEARPRODUCTS_H
#define FRIT_COMPILER_TRANSFORM_QUANTIZE_LINEARPRODUCTS_H

#include "dialects/nn/NN.h"

namespace frit {

/// A product or convolution of the forward pass that reads weights.
struct LinearProduct {
  mlir::Operation *op;
  /// Whether no other operator that reads a matrix of weights, such as the
  /// gather of an embedding, lies before it, or behind it.
  bool isFirst, isLast;
};

/// The products with weights on which a function's first result, its loss,
/// depends.
class LinearProducts {
public:
  explicit LinearProducts(mlir::Block &block);

  llvm::ArrayRef<LinearProduct> list() const { return products; }

  /// Returns whether the loss depends on an operator. The backward pass and the
  /// updates are the others.
  bool isForward(mlir::Operation *op) const { return forward.contains(op); }

private:
  llvm::DenseSet<mlir::Operation *> forward;
  llvm::SmallVector<LinearProduct> products;
};

/// Returns whether a value is a matrix, or a tensor of more dimensions, of a
/// model's weights: a state or a constant with a name, at most cast and moved.
bool isWeightMatrix(mlir::Value value);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_QUANTIZE_LINEARPRODUCTS_H
