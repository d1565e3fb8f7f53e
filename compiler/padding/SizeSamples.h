//===- SizeSamples.h - Fit a number to the sizes of a call ----------------===//

#ifndef FRIT_COMPILER_PADDING_SIZESAMPLES_H
#define FRIT_COMPILER_PADDING_SIZESAMPLES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace frit {

/// The number factor · ⌊(scale · size of a symbol + shift) / divisor⌋ + offset,
/// to which the size of a second symbol times secondFactor is added. Rows that
/// a window with a stride leaves are such numbers, those of an image that was
/// resized by 3/2, and entries of two lists. 0 ≤ shift < divisor.
struct SizeExpr {
  unsigned symbol = 0;
  int64_t factor = 1, offset = 0;
  int64_t divisor = 1, shift = 0;
  int64_t scale = 1;
  unsigned second = 0;
  int64_t secondFactor = 0;

  int64_t operator()(llvm::ArrayRef<int64_t> sizes) const {
    return factor * ((scale * sizes[symbol] + shift) / divisor) + offset +
           secondFactor * sizes[second];
  }
  /// Returns whether an extent, which the runtime evaluates, can say it.
  bool isExtent() const { return scale == 1 && secondFactor == 0; }
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
  /// none or the number is fixed. Prefers the smallest divisor.
  std::optional<SizeExpr> fit() const;
  /// Returns whether all samples are what the expression says.
  bool match(const SizeExpr &expr) const;
  /// Returns whether samples of other sizes may tell that fit() is wrong: it
  /// divides by a short stride, and no sample has one of the remainders that
  /// there are of sizes which are multiples of these numbers, one per symbol.
  bool isAmbiguous(llvm::ArrayRef<int64_t> multiples) const;

  /// Returns sizes from `least` to `large`, multiples of these numbers, for
  /// which a number tells whether fit() is wrong: it divides by a long stride
  /// or is a ratio, and another expression matches all samples but differs for
  /// these sizes. Nothing if there are none.
  std::optional<llvm::SmallVector<int64_t, 2>>
  findProbe(llvm::ArrayRef<int64_t> least, llvm::ArrayRef<int64_t> large,
            llvm::ArrayRef<int64_t> multiples) const;

private:
  /// An expression that matches all samples, also with any larger shift up to
  /// `lastShift`.
  struct Solution {
    SizeExpr expr;
    int64_t lastShift;
  };
  void solve(unsigned symbol, int64_t divisor,
             llvm::SmallVectorImpl<Solution> &solutions) const;
  void solveRatio(unsigned symbol, int64_t divisor,
                  llvm::SmallVectorImpl<Solution> &solutions) const;
  std::optional<SizeExpr> fit(unsigned symbol, int64_t divisor, int64_t shift,
                              int64_t scale) const;
  std::optional<SizeExpr> fitSum(unsigned symbol, unsigned second) const;

  llvm::SmallVector<std::pair<llvm::SmallVector<int64_t, 2>, int64_t>> samples;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_SIZESAMPLES_H
