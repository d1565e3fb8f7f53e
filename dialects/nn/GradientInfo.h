//===- GradientInfo.h - Describe gradients for libraries ------------------===//

#ifndef FRIT_DIALECTS_NN_GRADIENTINFO_H
#define FRIT_DIALECTS_NN_GRADIENTINFO_H

#include "dialects/nn/Match.h"
#include "dialects/nn/StridedView.h"
#include "dialects/nn/training/Gradient.h"

namespace frit::nn {

/// An nn.conv_grad_input or nn.conv_grad_weight. A 1-d one has a height of 1.
/// See artifact::Conv for the fields.
struct ConvGradientInfo {
  bool ofWeight = false;
  /// dy and w, or x and dy.
  mlir::Value a, b;
  int64_t strides[2] = {1, 1}, dilations[2] = {1, 1};
  int64_t pads[4] = {0, 0, 0, 0}; ///< top, left, bottom, right
  int64_t groups = 1;
  bool channelsLast = false, tf32 = false;
  /// Whether equal pads on both sides would give windows at the same places.
  bool hasEqualPads = false;
};

/// Describe such an operator, or a fusion of nothing else; or return why it is
/// none.
Match<ConvGradientInfo> describeConvGradient(mlir::Operation *op);
Match<ConvGradientInfo> describeConvGradient(FusionOp fusion);

/// A fusion of one nn.attention_grad and the data movement before it, perhaps
/// with sums of columns of its result (nn.column_sums).
struct AttentionGradientInfo {
  AttentionGradOp op;
  AttentionOperand q, k, v, dy;
  std::optional<AttentionOperand> y;     ///< unless delta is an operand
  std::optional<AttentionOperand> delta; ///< a column per query
  AttentionOperand stats;                ///< a column per query
  std::optional<AttentionOperand> mask;  ///< a column per key, or ranges
  /// Rows of a part of the sums, which are the second result.
  std::optional<int64_t> sumHeight;
  /// Gradients, as parts of the result.
  AttentionOperand dq, dk, dv;
  int64_t batch = 0, heads = 0, groups = 0, queries = 0, keys = 0, size = 0;
};

/// Describes such a fusion, or returns why it is none.
Match<AttentionGradientInfo> describeAttentionGradient(FusionOp fusion);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_GRADIENTINFO_H
