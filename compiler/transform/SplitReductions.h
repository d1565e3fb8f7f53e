//===- SplitReductions.h - Long sums in two steps -------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_SPLITREDUCTIONS_H
#define FRIT_COMPILER_TRANSFORM_SPLITREDUCTIONS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit {

/// A target's answers to the pass `split-reductions` (a target rewrite).
struct SplitReductionsRewrite {
  /// Returns in how many parts a reduction of leading dimensions is faster; the
  /// number divides that of the reduced elements. 1: as it is.
  std::function<int64_t(nn::ReduceOp)> parts;
  /// Returns whether a value of so many bytes that a kernel writes is still in
  /// cache for the one after the next.
  std::function<bool(int64_t bytes)> fitsCache;
};

/// A target's answer to the pass `split-reductions`: which convolutions can
/// take batch statistics in their own kernels.
struct ColumnMomentsRewrite {
  /// Returns the rows of a part of which the convolution's kernel also takes
  /// the moments of columns (nn.column_moments), after the operators that
  /// follow in it; 0 if it takes none.
  std::function<int64_t(nn::ConvOp, llvm::ArrayRef<mlir::Operation *>)> height;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_SPLITREDUCTIONS_H
