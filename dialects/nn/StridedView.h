//===- StridedView.h - Data movement in a fusion as strides ---------------===//
//
// Describes slices, transposes, reshapes and broadcasts in a fusion as strides.
// A kernel that reads its operands through strides needs no copies of them:
//
//   ^bb0(%qkv: tensor<2x5x96xf16>):
//     %s = nn.slice %qkv {starts = [0, 0, 32], sizes = [2, 5, 32], ...}
//     %r = nn.reshape %s {shape = [2, 5, 4, 8]}
//     %k = nn.transpose %r {perm = [0, 2, 1, 3]}
//
// %k is %qkv at offset 32 with strides 480, 8, 96 and 1, all in elements.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_STRIDEDVIEW_H
#define FRIT_DIALECTS_NN_STRIDEDVIEW_H

#include "dialects/nn/Match.h"
#include "dialects/nn/NN.h"

namespace frit::nn {

/// Positions in a row-major tensor: element i is at offset + Σ i[d] ·
/// strides[d].
struct StridedPlaces {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape, strides;

  /// Returns the positions of a whole row-major tensor.
  static StridedPlaces whole(llvm::ArrayRef<int64_t> shape);

  /// Returns the positions under another shape with as many elements. Fails if
  /// strides cannot express them.
  llvm::FailureOr<StridedPlaces> reshaped(llvm::ArrayRef<int64_t> to) const;

  /// Broadcasts to a compatible shape; repeated dimensions get stride 0.
  StridedPlaces broadcast(llvm::ArrayRef<int64_t> to) const;

  /// Returns the positions that a slice, transpose, reshape or expand reads if
  /// these are its operand's. Shapes must be static.
  llvm::FailureOr<StridedPlaces> moved(mlir::Operation *op) const;
};

/// Returns the offset of a slice whose elements are contiguous in its operand.
std::optional<int64_t> contiguousOffset(SliceOp slice);

/// A value of a fusion's body as a strided view of an argument.
struct StridedView : StridedPlaces {
  mlir::BlockArgument argument;
};

/// Follows slices, transposes, reshapes and expands from `value` back to an
/// argument of its block.
llvm::FailureOr<StridedView> describeRead(mlir::Value value);

/// The positions of a value's elements in one of the block's results.
struct StridedResult : StridedPlaces {
  unsigned result = 0;
};

/// Returns the positions of a value's elements in the result of the last of
/// `chain`: transposes and reshapes, the first of which reads the value and
/// each other one its predecessor.
llvm::FailureOr<StridedPlaces>
describeWrite(llvm::ArrayRef<mlir::Operation *> chain);

/// Follows `value` to the block's terminator through transposes and reshapes
/// that are its only readers.
llvm::FailureOr<StridedResult> describeWrite(mlir::Value value);

/// An operand or result of an attention as its kernel accesses it. Strides are
/// those of batch, head (or group), position and element; 0 where a mask is
/// broadcast.
struct AttentionOperand {
  mlir::BlockArgument argument; ///< none for the result and computed queries
  int64_t offset = 0;
  int64_t strides[4] = {0, 0, 0, 0};
};

/// Describes an operand of an attention, whose dimensions are aligned to the
/// last of four.
llvm::FailureOr<AttentionOperand> describeOperand(mlir::Value value);

/// Rows that an attention's kernel appends to a state of keys or values.
struct AppendedRows {
  UpdateOp update;
  unsigned resultIndex; ///< of the fusion: the state afterwards
};

/// A fusion of one attention and the data movement around it, perhaps with its
/// statistics, or with the rows that it first appends to its keys and values.
struct AttentionInfo {
  AttentionOp op;
  /// Results of the fusion.
  unsigned resultIndex = 0;
  std::optional<unsigned> statsIndex;
  AttentionOperand q, k, v, result;
  /// Strides of batch, head, query and key, or end of a range.
  std::optional<AttentionOperand> mask;
  int64_t batch = 0, heads = 0, groups = 0, queries = 0, keys = 0;
  int64_t size = 0, valueSize = 0;
  float scale = 1;
  bool causal = false;
  /// Either both or none.
  std::optional<AppendedRows> newKeys, newValues;
  /// Whether the fusion computes Q. Its strides are then those of a contiguous
  /// tensor. Only with new keys.
  bool computesQueries = false;

  bool appends() const { return newKeys.has_value(); }
};

/// Describes a fusion whose results are an attention's, possibly moved, and its
/// statistics; or returns why it is none.
Match<AttentionInfo> describeAttention(FusionOp fusion);

/// Describes a fusion whose results are an attention's, possibly moved, and the
/// states to which it appended keys and values. It may compute anything that
/// the rows and the queries depend on.
Match<AttentionInfo> describeAppendingAttention(FusionOp fusion);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_STRIDEDVIEW_H
