//===- SearchCodes.h - Round weights by what products read ----------------===//
//
// GPTQ (Frantar et al. 2022, arXiv:2210.17323): the columns of a matrix are
// rounded in order, and what a column's rounding changes in the product is
// compensated by the columns that follow. The moments of the product's input
// say how much each can.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_QUANTIZE_SEARCHCODES_H
#define FRIT_COMPILER_TRANSFORM_QUANTIZE_SEARCHCODES_H

#include "compiler/transform/quantize/WeightCodes.h"

#include <vector>

namespace frit {

/// Σ xᵀ·x of the rows x that a product reads. One that is far longer than most
/// counts as if it were twice as long as the median row.
class InputMoments {
public:
  explicit InputMoments(int64_t columns);

  /// Adds rows. Not thread-safe; runs on all cores.
  void add(llvm::ArrayRef<float> rows);

  /// Adds what others have summed, of as many columns.
  void add(const InputMoments &others);

  /// Returns whether all numbers were finite, and their sums in f32.
  bool isFinite() const;

  /// Returns e · Σ · eᵀ: the square of the change of the product by a change of
  /// a row of the matrix.
  double changeBy(llvm::ArrayRef<float> row) const;

  /// Returns the upper triangular U, in rows, of which UᵀU is the inverse of
  /// the moments, whose diagonal is raised by the share `damping` of its mean,
  /// or more if that is singular. Empty if there is none.
  std::vector<float> factorInverse(double damping) const;

  int64_t columns() const { return size; }

private:
  void evenOut(llvm::MutableArrayRef<float> rows);

  int64_t size;
  std::vector<float> sums;    ///< the upper triangle
  std::vector<float> squares; ///< of the lengths of the first rows
};

/// Rounds a matrix as roundWeights does, but so that its product with rows of
/// such moments changes least; `inverse` is their factorInverse().
std::optional<WeightCodes> searchCodes(mlir::ElementsAttr matrix,
                                       bool transposed, WeightFormat format,
                                       llvm::ArrayRef<float> inverse);

/// Visits the first `most` rows of a matrix and what searchCodes makes of them;
/// without `inverse`, what roundWeights does.
void tryCodes(mlir::ElementsAttr matrix, bool transposed, WeightFormat format,
              llvm::ArrayRef<float> inverse, int64_t most,
              llvm::function_ref<void(llvm::ArrayRef<float> numbers,
                                      llvm::ArrayRef<float> made)>
                  visit);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_QUANTIZE_SEARCHCODES_H
