//===- PaddedSlice.h - Slices that begin elsewhere for each size ----------===//

#ifndef FRIT_COMPILER_PADDING_PADDEDSLICE_H
#define FRIT_COMPILER_PADDING_PADDEDSLICE_H

#include "compiler/padding/SizeSamples.h"
#include "compiler/padding/values/PaddedValue.h"

#include "dialects/nn/NN.h"

namespace frit {

/// Where a slice of the large model begins in one dimension, if that depends on
/// the sizes of a call: an element that is counted from the end, the second of
/// two halves, or all elements in reverse.
class PaddedSlice {
public:
  /// Adds a comparison with a model of these sizes. Returns the slice's padded
  /// value, or nothing if `x` is not the leading elements of the large slice's
  /// operand, or another dimension begins elsewhere.
  std::optional<PaddedValue>
  add(nn::SliceOp small, llvm::ArrayRef<int64_t> sizes, nn::SliceOp large,
      llvm::ArrayRef<int64_t> largeSizes, const PaddedValue &x);

  const SizeSamples &start() const { return samples; }

  /// Replaces the slice by a gather of the elements from `first` on, an i64
  /// scalar.
  ///
  ///   %y = nn.slice %x {starts = [0, 63], sizes = [2, 1], steps = [1, 1]}
  /// ==>
  ///   %i = nn.add (nn.iota 0, 1 {shape = [1]}), %first
  ///   %y = nn.gather %x, (nn.max (nn.min %i, 63), 0) {axis = 1}
  void apply(nn::SliceOp slice, mlir::Value first) const;

private:
  int axis = -1;
  SizeSamples samples;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_PADDEDSLICE_H
