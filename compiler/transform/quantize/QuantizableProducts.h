//===- QuantizableProducts.h - What can be computed in 8 bits -------------===//

#ifndef FRIT_COMPILER_TRANSFORM_QUANTIZE_QUANTIZABLEPRODUCTS_H
#define FRIT_COMPILER_TRANSFORM_QUANTIZE_QUANTIZABLEPRODUCTS_H

#include "dialects/nn/NN.h"

#include "mlir/IR/BuiltinOps.h"

namespace frit {

/// A convolution or a product with a matrix of weights that can be quantized.
struct QuantizableProduct {
  std::string node; ///< its name in tables of scales
  mlir::Operation *op;

  mlir::Value input() const { return op->getOperand(0); }
  mlir::Value weights() const { return op->getOperand(1); }
  bool isConv() const;
  /// Filters, or columns of the result.
  int64_t columns() const;
  /// Numbers in a row of the input of a product of matrices.
  int64_t depth() const;
  /// Whether this is a product of matrices whose input's rows are rows of a
  /// norm's result.
  bool readsNorm() const;
};

/// Returns the products of f32 in the function main that the passes after this
/// one compute in 8 bits if they are quantized, in their order. The model is
/// simplified.
std::vector<QuantizableProduct> findQuantizable(mlir::ModuleOp module);

/// Makes the results of main the inputs of its quantizable products, each once,
/// and then the largest weight of each row of the products of matrices.
/// Returns, for each product, the result that is its input and the one with its
/// weights.
struct ObservedProduct {
  unsigned input;
  std::optional<unsigned> weights;
};
std::vector<ObservedProduct> observeProducts(mlir::ModuleOp module);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_QUANTIZE_QUANTIZABLEPRODUCTS_H
