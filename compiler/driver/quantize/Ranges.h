//===- Ranges.h - Ranges of activations -----------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_QUANTIZE_RANGES_H
#define FRIT_COMPILER_DRIVER_QUANTIZE_RANGES_H

#include "compiler/transform/quantize/ProductScales.h"

namespace frit {

/// How the largest magnitude that has a code of its own is chosen; larger ones
/// get the last code.
enum class Calibrator {
  max,        ///< the largest
  percentile, ///< all but one in 10,000 are within it
  entropy     ///< the codes' distribution diverges least from the numbers'
};

/// What is known about the numbers of a tensor in several calls. First all
/// calls are added by `addRange`; then, unless the calibrator is `max`, again
/// by `addCounts`.
class TensorRange {
public:
  /// Adds numbers, in rows of `columns`; 0: they have no columns.
  void addRange(llvm::ArrayRef<float> numbers, int64_t columns);
  void addCounts(llvm::ArrayRef<float> numbers);

  /// Divides the columns by factors, before counts are added. Then bounds are
  /// those of the columns' magnitudes.
  void smooth(std::vector<float> factors);

  /// Returns whether a number was not finite.
  bool isInfinite() const { return !isFinite; }
  /// Returns whether all numbers were 0, or so small that they have no scale.
  bool isZero() const;
  /// Returns the largest magnitude of each column.
  llvm::ArrayRef<float> columns() const { return columnMost; }

  /// Sets the code, of integers, the scale and the zero point of `row`.
  void choose(Calibrator calibrator, ProductScales &row) const;
  /// The same for floats of 8 bits, which have no entropy calibrator.
  void chooseFloats(Calibrator calibrator, ProductScales &row) const;

private:
  float threshold(Calibrator calibrator, unsigned levels) const;

  float low = 0, high = 0; ///< 0 is always within
  bool isFinite = true;
  std::vector<float> columnMost, factors;
  std::vector<uint64_t> counts; ///< of magnitudes
};

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_QUANTIZE_RANGES_H
