//===- Problem.h - A fusion as skeletons see it ---------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TARGET_PROBLEM_H
#define FRIT_CODEGEN_CUDA_TARGET_PROBLEM_H

#include "codegen/cuda/scalar/LinalgFusion.h"
#include "codegen/cuda/target/GpuArch.h"
#include "dialects/nn/ContractionInfo.h"
#include "dialects/nn/Match.h"
#include "dialects/nn/Schedule.h"
#include "dialects/nn/StridedView.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>

namespace frit::cuda {

/// A fusion, and what several skeletons ask of it, worked out when it is first
/// asked. In one thread.
class Problem {
public:
  explicit Problem(nn::FusionOp fusion);

  /// What dominates a fusion: the first of these that one of its operators is.
  enum class Kind {
    attention,
    moments,           ///< nn.merge_moments
    attentionGradient, ///< nn.attention_grad
    convGradient,      ///< nn.conv_grad_input or nn.conv_grad_weight
    contraction,
    depthwise,
    reduction,
    transpose,
    elementwise
  };
  Kind kind() const { return kind_; }
  nn::FusionOp fusion() const { return op; }
  mlir::MLIRContext *context() { return op.getContext(); }

  const LinalgFusion &lowered();

  /// The fusion as a whole, as one of these.
  const nn::Match<nn::GemmInfo> &gemm();
  const nn::Match<nn::ConvInfo> &conv();
  const nn::Match<nn::ConvB2bInfo> &convB2b();
  const nn::Match<nn::AttentionInfo> &attention();

  /// What `decide` chooses for the fusion; asked once. Skeletons of one family
  /// share a decision, each offers its part of it.
  using Decide = nn::Match<nn::Schedule>(Problem &, const Machine &);
  const nn::Match<nn::Schedule> &decideOnce(Decide *decide,
                                            const Machine &machine);

private:
  nn::FusionOp op;
  Kind kind_ = Kind::elementwise;
  std::optional<LinalgFusion> linalg;
  std::optional<nn::Match<nn::GemmInfo>> gemmInfo;
  std::optional<nn::Match<nn::ConvInfo>> convInfo;
  std::optional<nn::Match<nn::ConvB2bInfo>> convB2bInfo;
  std::optional<nn::Match<nn::AttentionInfo>> attentionInfo;
  llvm::DenseMap<Decide *, nn::Match<nn::Schedule>> decisions;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_TARGET_PROBLEM_H
