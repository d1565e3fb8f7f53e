//===- Target.h - What passes ask about the machine they compile for ------===//
//
// Passes over nn know no hardware. What depends on it they ask through this
// interface, which codegen/cpu and codegen/cuda implement and Pipeline.cpp
// hands to the passes.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_TARGET_H
#define FRIT_DIALECTS_NN_TARGET_H

#include "dialects/nn/KernelSize.h"
#include "dialects/nn/StridedView.h"

namespace frit::nn {

/// What operators take: multiplications and additions of their contractions,
/// bytes that they read and write, and the fewest kernels that compute them.
struct Work {
  int64_t flops = 0, bytes = 0, kernels = 0;
};

/// What the kernel of a fusion takes, behind others in a chain.
struct StepCost {
  double microseconds = 0;
  double share = 1; ///< of the machine that its blocks fill
};

/// What it costs to leave a chain of kernels, microseconds.
struct BranchCosts {
  double fork = 0; ///< of each that follows a kernel, but the first
  double join = 0; ///< of each that a kernel follows, but the first
};

/// One `-march`. Immutable; passes may call it from several threads.
class Target {
public:
  virtual ~Target() = default;

  /// "sm_90a", "x86-64-v3".
  virtual llvm::StringRef arch() const = 0;

  /// Whether `conv` runs faster with its channels last.
  virtual bool prefersChannelsLast(ConvOp conv) const = 0;

  /// Whether `conv`, of one spatial dimension, or of three and of one group,
  /// runs faster as one of two.
  virtual bool prefersConv2D(ConvOp conv) const { return false; }

  /// Whether `conv`, which prefers its channels last, runs faster where squares
  /// of its strides become channels.
  virtual bool prefersSpaceToDepth(ConvOp conv) const { return false; }

  /// Whether `conv`, with its channels last and a filter for each, runs faster
  /// as an nn.depthwise_conv.
  virtual bool prefersDepthwise(ConvOp conv) const { return false; }

  /// Whether a fusion with this composite whole has a schedule; otherwise it is
  /// decomposed before fusion.
  virtual bool keepsWhole(CompositeOp composite) const = 0;

  /// Whether the kernel of a composite that is kept whole reads an operand of
  /// this element type, or writes its result, at such places of a tensor.
  /// Otherwise it gets a tensor of its own.
  virtual bool takesView(CompositeOp composite, mlir::Type element,
                         const StridedPlaces &places) const {
    return false;
  }

  /// Whether `next`, which reads the last of `fused` (a matmul, conv or
  /// depthwise_conv and what has joined it so far), can join its kernel.
  /// Everything else about fusion is the same on every target.
  virtual bool takesEpilogue(llvm::ArrayRef<mlir::Operation *> fused,
                             mlir::Operation *next) const = 0;

  /// The size that joining operators may give a kernel. An operator that is
  /// larger by itself has a kernel to itself.
  virtual KernelSize largestKernel() const = 0;

  /// Of how many neighbours of a row the kernel of `product` takes moments
  /// where nn.moments reads its result; it then also multiplies rows normalised
  /// by such moments, and adds them. 0: of none.
  virtual int64_t momentWidth(MatmulOp product) const { return 0; }

  /// Whether moments of so many rows are merged once, by a kernel of its own,
  /// and not by every product that normalises by them.
  virtual bool mergesMoments(int64_t rows) const { return false; }

  /// Whether asking for a condition while the steps run costs less than `work`
  /// that would then not be done.
  virtual bool guards(const Work &work) const { return false; }

  /// What running a scheduled fusion costs, if it may run beside others and is
  /// known.
  virtual std::optional<StepCost> cost(FusionOp fusion) const {
    return std::nullopt;
  }

  /// What branches cost; nothing where kernels run one after another only.
  virtual std::optional<BranchCosts> branchCosts() const {
    return std::nullopt;
  }

  /// The schedule of a fusion. Every fusion has one: what no fast skeleton
  /// takes is generic, and `-Rpass-missed=schedule` says why.
  virtual ScheduleAttr schedule(FusionOp fusion) const = 0;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_TARGET_H
