//===- Problem.h - What a fusion computes ---------------------------------===//
//
// One description of a fusion: its product, convolution or attention, with its
// prologue and epilogue. Targets choose a schedule by it. Their kernels are
// emitted from it, and so are the plan's library calls, which the artifact and
// the runtime read (artifact::Gemm, Conv, Attention).
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_PROBLEM_H
#define FRIT_DIALECTS_NN_PROBLEM_H

#include "dialects/nn/GradientInfo.h"
#include "dialects/nn/Match.h"
#include "dialects/nn/StridedView.h"
#include "dialects/nn/contraction/Contraction.h"

namespace frit::nn {

/// A fusion as one of several forms, each matched on first use. The fusion must
/// not change meanwhile. Not thread-safe.
class Problem {
public:
  explicit Problem(FusionOp fusion);

  /// The kind of operator that dominates a fusion: the first of these that one
  /// of its operators has.
  enum class Kind {
    custom, ///< nn.custom, a user's kernel
    attention,
    moments,           ///< nn.merge_moments
    attentionGradient, ///< nn.attention_grad
    segmentSum,        ///< nn.segment_sum
    convGradient,      ///< nn.conv_grad_input or nn.conv_grad_weight
    quantized,         ///< nn.quantized_conv
    contraction,
    dequantization, ///< nn.dequantize, without the product that reads it
    depthwise,
    groupNorm, ///< nn.group_norm
    reduction,
    transpose,
    elementwise
  };
  Kind kind() const { return dominant; }
  FusionOp fusion() const { return op; }
  mlir::MLIRContext *context() { return op.getContext(); }

  /// Return the whole fusion in one of these forms, or why it has none.
  const Match<GemmInfo> &gemm();
  const Match<GemmInfo> &preparedGemm();
  const Match<ConvInfo> &conv();
  const Match<ConvB2bInfo> &convB2b();
  const Match<AttentionInfo> &attention();
  const Match<ConvGradientInfo> &convGradient();
  const Match<AttentionGradientInfo> &attentionGradient();

  /// Returns the operands of a contraction by role: A, B, those of a second
  /// convolution, those of its stages by kind. Empty for other fusions.
  llvm::SmallVector<mlir::Value> operands();

private:
  FusionOp op;
  Kind dominant = Kind::elementwise;
  std::optional<Match<GemmInfo>> gemmInfo, preparedInfo;
  std::optional<Match<ConvInfo>> convInfo;
  std::optional<Match<ConvB2bInfo>> convB2bInfo;
  std::optional<Match<AttentionInfo>> attentionInfo;
  std::optional<Match<ConvGradientInfo>> convGradientInfo;
  std::optional<Match<AttentionGradientInfo>> attentionGradientInfo;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_PROBLEM_H
