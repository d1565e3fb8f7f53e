//===- SparseConstants.h - Constant matrices that are 2:4 sparse ----------===//
//
// A matrix is 2:4 sparse along k if of each four neighbours, counted from the
// first one on, two at most are not 0. Its rows are those of a product's result
// column: k runs along them, or down the constant's columns if it is
// transposed.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_SPARSE_SPARSECONSTANTS_H
#define FRIT_COMPILER_TRANSFORM_SPARSE_SPARSECONSTANTS_H

#include "dialects/nn/NN.h"

#include <map>
#include <optional>

namespace frit {

/// A constant matrix of floats with k along its rows.
class SparseConstant {
public:
  /// Returns nothing unless it is a matrix of f32 or 16-bit floats, of which
  /// each may have another value, with k a multiple of 4.
  static std::optional<SparseConstant> of(mlir::ElementsAttr value,
                                          bool transposed);

  int64_t rows, columns;

  /// Returns the row and first column of the first four neighbours of which
  /// more than two are not 0.
  std::optional<std::pair<int64_t, int64_t>> findDense() const;

  /// Returns the constant with the two of four neighbours whose magnitudes are
  /// largest, of equal ones the first, and zeros; and the part of the sum of
  /// squares that these have.
  std::pair<mlir::ElementsAttr, double> prune() const;

private:
  size_t placeOf(int64_t row, int64_t column) const {
    return size_t(row * rowStride + column * columnStride);
  }
  bool isZero(int64_t row, int64_t column) const;
  float at(int64_t row, int64_t column) const;

  mlir::RankedTensorType type;
  const char *data;
  int64_t rowStride, columnStride, bytes; ///< in elements; of an element
};

/// The pruned values of weights, by value and whether it is transposed, which
/// the functions of a model share.
using PrunedWeights = std::map<std::pair<const void *, bool>,
                               std::pair<mlir::ElementsAttr, double>>;

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_SPARSE_SPARSECONSTANTS_H
