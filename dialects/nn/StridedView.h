//===- StridedView.h - Movement inside a fusion as strides ----------------===//
//
// A kernel that reads its operands through strides needs no copy of what
// slices, transposes, reshapes and broadcasts make of them:
//
//   ^bb0(%qkv: tensor<2x5x96xf16>):
//     %s = nn.slice %qkv {starts = [0, 0, 32], sizes = [2, 5, 32], ...}
//     %r = nn.reshape %s {shape = [2, 5, 4, 8]}
//     %k = nn.transpose %r {perm = [0, 2, 1, 3]}
//
// %k is %qkv at offset 32 with the strides 480, 8, 96 and 1. All of it is
// counted in elements.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_STRIDEDVIEW_H
#define FRIT_DIALECTS_NN_STRIDEDVIEW_H

#include "dialects/nn/Match.h"
#include "dialects/nn/NN.h"

namespace frit::nn {

/// Places in a row-major tensor: element i is at offset + Σ i[d] · strides[d].
struct StridedPlaces {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape, strides;

  /// All of a row-major tensor of a static shape.
  static StridedPlaces whole(llvm::ArrayRef<int64_t> shape);

  /// The same places under another shape of as many elements, or failure where
  /// their order is not one of strides.
  llvm::FailureOr<StridedPlaces> reshaped(llvm::ArrayRef<int64_t> to) const;

  /// NumPy's broadcast to a shape that fits: what repeats has stride 0.
  StridedPlaces broadcast(llvm::ArrayRef<int64_t> to) const;

  /// What a slice, transpose, reshape or expand of static shapes reads, if
  /// these are its operand's places.
  llvm::FailureOr<StridedPlaces> moved(mlir::Operation *op) const;
};

/// Where a slice begins whose elements lie side by side in its operand.
std::optional<int64_t> contiguousOffset(SliceOp slice);

/// What a value of a fusion's body is of one of its arguments.
struct StridedView : StridedPlaces {
  mlir::BlockArgument argument;
};

/// Follows slices, transposes, reshapes and expands from `value` back to an
/// argument of its block.
llvm::FailureOr<StridedView> describeRead(mlir::Value value);

/// Where the elements of a value end up among the values that its block yields.
struct StridedResult : StridedPlaces {
  unsigned result = 0;
};

/// Where the elements of a value end up in the result of the last of `chain`,
/// transposes and reshapes of which the first reads the value and each one the
/// one before.
llvm::FailureOr<StridedPlaces>
describeWrite(llvm::ArrayRef<mlir::Operation *> chain);

/// Follows the transposes and reshapes that alone read `value` to the block's
/// terminator.
llvm::FailureOr<StridedResult> describeWrite(mlir::Value value);

/// One operand of an attention as its kernel reads or writes it. Strides are
/// of batch, head (or group), position and element; 0 where a mask repeats.
struct AttentionOperand {
  mlir::BlockArgument argument; ///< none for the result
  int64_t offset = 0;
  int64_t strides[4] = {0, 0, 0, 0};
};

/// A fusion of one attention and the movement around it.
struct AttentionInfo {
  AttentionOp op;
  AttentionOperand q, k, v, result;
  /// Of batch, head, query and key.
  std::optional<AttentionOperand> mask;
  int64_t batch = 0, heads = 0, groups = 0, queries = 0, keys = 0;
  int64_t size = 0, valueSize = 0;
  float scale = 1;
  bool causal = false;
};

/// The whole of a fusion whose only result is its attention's, moved or not; or
/// why it is none.
Match<AttentionInfo> describeAttention(FusionOp fusion);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_STRIDEDVIEW_H
