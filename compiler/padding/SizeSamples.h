//===- SizeSamples.h - Fit a number to the sizes of a call ----------------===//

#ifndef FRIT_COMPILER_PADDING_SIZESAMPLES_H
#define FRIT_COMPILER_PADDING_SIZESAMPLES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace frit {

/// The number factor · size of a symbol + offset.
struct SizeExpr {
  unsigned symbol = 0;
  int64_t factor = 1, offset = 0;

  int64_t operator()(llvm::ArrayRef<int64_t> sizes) const {
    return factor * sizes[symbol] + offset;
  }
  auto operator<=>(const SizeExpr &) const = default;
};

/// Samples of a number (the length of a dimension or a constant) for some sizes
/// of the symbols.
class SizeSamples {
public:
  void add(llvm::ArrayRef<int64_t> sizes, int64_t value);
  /// Returns whether the number is the same for all sizes.
  bool isFixed() const;
  /// Returns the expression that matches all samples, or nothing if there is
  /// none or the number is fixed.
  std::optional<SizeExpr> fit() const;

private:
  llvm::SmallVector<std::pair<llvm::SmallVector<int64_t, 2>, int64_t>> samples;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_SIZESAMPLES_H
