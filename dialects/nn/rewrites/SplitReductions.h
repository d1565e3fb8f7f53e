//===- SplitReductions.h - Long sums in two steps -------------------------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_SPLITREDUCTIONS_H
#define FRIT_DIALECTS_NN_REWRITES_SPLITREDUCTIONS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit::nn {

/// A target's answers to the pass `split-reductions` (a target rewrite).
struct SplitReductionsRewrite {
  /// Returns the number of parts in which a reduction of leading dimensions is
  /// faster, a divisor of the number of reduced elements; 1 to keep it whole.
  std::function<int64_t(ReduceOp)> parts;
  /// Returns whether a value of this many bytes that a kernel writes is still
  /// in L2 for the kernel after the next.
  std::function<bool(int64_t bytes)> fitsCache;
};

/// A target's answer to the pass `split-reductions`: which convolutions can
/// take batch statistics in their own kernels.
struct ColumnMomentsRewrite {
  /// Returns the rows per part for which the convolution's kernel can also
  /// compute moments of columns (nn.column_moments), after the given fused
  /// operators; 0 if it cannot.
  std::function<int64_t(ConvOp, llvm::ArrayRef<mlir::Operation *>)> height;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_SPLITREDUCTIONS_H
