//===- Float8Bounds.h - What numbers of a row cannot exceed ---------------===//
//
// The scale of a row is known before the row if a bound of its numbers is. Of a
// product, that is the norm of the row that it multiplies times the largest
// norm of a column (Cauchy and Schwarz), and what follows the product may make
// little more of it. So the product's kernel rounds what it computes: it needs
// no kernel for the largest number. A loose bound costs range, of which floats
// of 8 bits have some to spare: 2^18 and 2^32 between their largest and least
// number. Of random weights, rows of a product are some 2^6 below the bound,
// and rows of gradients, whose norm is bounded by their largest number, some
// 2^8.

#ifndef FRIT_COMPILER_TRANSFORM_QUANTIZE_FLOAT8BOUNDS_H
#define FRIT_COMPILER_TRANSFORM_QUANTIZE_FLOAT8BOUNDS_H

#include "dialects/nn/NN.h"

namespace frit {

class Float8Bounds {
public:
  void clear() { products.clear(); }

  /// Records a matrix of sums of codes: of `rows`, before they were rounded,
  /// with a scale each, and of weights with the scales `factors`, or without.
  /// The latter are products of gradients in e5m2.
  void addSums(mlir::Value sums, mlir::Value rows, mlir::Value scale,
               mlir::Value factors) {
    products[sums] = {rows, scale, factors};
  }

  /// Returns a value as a matrix of its rows if it has a bound, else the value
  /// itself. Operators between the sums and the value become ones of matrices.
  mlir::Value flatten(mlir::Value value);

  /// Builds the bound of each row of a matrix, with a column, or returns null
  /// if none is known.
  mlir::Value ofRows(nn::NNBuilder &b, mlir::Value matrix);

private:
  struct Sums {
    mlir::Value rows, scale, factors;
  };

  bool isBounded(mlir::Value value) const;
  mlir::Value matrixOf(mlir::Value value);
  mlir::Value build(nn::NNBuilder &b, mlir::Value matrix);
  static mlir::Value boundSums(nn::NNBuilder &b, const Sums &sums);

  llvm::DenseMap<mlir::Value, Sums> products;
};

/// Replaces the gradient of a GELU by a product with its slope, which the
/// kernel that computes the GELU stores: the slope takes long to compute again.
/// Other values are returned as they are.
mlir::Value shareGeluSlope(mlir::Value gradient);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_QUANTIZE_FLOAT8BOUNDS_H
