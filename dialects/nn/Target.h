//===- Target.h - Interface of passes to the target -----------------------===//
//
// Passes over nn do not depend on hardware. They ask this interface, which
// codegen/cpu and codegen/cuda implement. Pipeline.cpp passes the target to
// them.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_TARGET_H
#define FRIT_DIALECTS_NN_TARGET_H

#include "dialects/nn/KernelSize.h"
#include "dialects/nn/StridedView.h"
#include "dialects/nn/TargetRewrites.h"

namespace frit::nn {

/// Cost of operators: multiplications and additions of their contractions,
/// bytes that they read and write, and the least number of kernels.
struct Work {
  int64_t flops = 0, bytes = 0, kernels = 0;
};

/// Cost of a fusion's kernel in a chain of kernels.
struct StepCost {
  double microseconds = 0;
  double occupancy = 1; ///< fraction of the device that its blocks fill
};

/// Cost of branches in microseconds, compared with a chain of kernels.
struct BranchCosts {
  double fork = 0; ///< per successor of a kernel after the first
  double join = 0; ///< per predecessor of a kernel after the first
};

/// One `-march`. Immutable; passes may call it from several threads.
class Target {
public:
  virtual ~Target() = default;

  /// Returns the `-march` name: "sm_90a", "x86-64-v3".
  virtual llvm::StringRef arch() const = 0;

  /// Returns whether kernels run on the host's processor, compiled by LLVM.
  virtual bool isHost() const { return false; }

  /// Returns whether kernels may write a state's next value over the one
  /// before. They must read all operands of an element before they write its
  /// results.
  virtual bool overwritesState() const { return false; }

  /// Returns whether a library may be missing where the model runs, so that its
  /// calls get a kernel of our own to fall back on.
  virtual bool needsFallbacks() const { return false; }

  /// Returns the bytes that a library call may use as workspace.
  virtual int64_t workspaceBytes() const { return 0; }

  /// Returns the seconds in which one thread compiles a kernel of usual size.
  virtual double compileSeconds() const { return 0; }

  /// Adds the rewrites that make models faster on this target. It must outlive
  /// them.
  virtual void populateRewrites(TargetRewrites &rewrites) const {}

  /// Returns whether fusions with this composite have a schedule. Otherwise it
  /// is decomposed before fusion.
  virtual bool keepsWhole(CompositeOp composite) const = 0;

  /// Returns whether the kernel of a whole composite can access an operand or
  /// its result of this element type through strides. Otherwise the tensor is
  /// copied.
  virtual bool canUseView(CompositeOp composite, mlir::Type element,
                          const StridedPlaces &places) const {
    return false;
  }

  /// Returns whether the kernel of a product can compute its operand B from
  /// codes. Otherwise the numbers are stored by a kernel of their own.
  virtual bool canFuseCodes(MatmulOp product) const { return false; }

  /// Returns whether the kernel of a product can normalize its rows of A, an
  /// nn.rms_norm. Otherwise the normalized rows are stored.
  virtual bool canFuseNorm(MatmulOp product) const { return false; }

  /// Returns whether one kernel computes two products and the elementwise
  /// operators after them: `operators`, in any order, with those that compute
  /// operands inside the kernel.
  virtual bool canFusePair(llvm::ArrayRef<mlir::Operation *> operators) const {
    return false;
  }

  /// Returns whether `next`, which reads the last of `fused`, can join its
  /// kernel. `fused` is a contraction and the operators that have joined it.
  /// All other fusion rules are the same on every target.
  virtual bool canFuseEpilogue(llvm::ArrayRef<mlir::Operation *> fused,
                               mlir::Operation *next) const = 0;

  /// Returns the size limit for adding operators to a kernel. An operator that
  /// exceeds it by itself gets its own kernel.
  virtual KernelSize largestKernel() const = 0;

  /// Returns whether evaluating a condition at run time costs less than the
  /// `work` that it may save.
  virtual bool guards(const Work &work) const { return false; }

  /// Returns the cost of a scheduled fusion; none if it is unknown or the
  /// fusion must not run concurrently.
  virtual std::optional<StepCost> cost(FusionOp fusion) const {
    return std::nullopt;
  }

  /// Returns the cost of branches; none if kernels cannot run concurrently.
  virtual std::optional<BranchCosts> branchCosts() const {
    return std::nullopt;
  }

  /// Adds the dialects of its schedules.
  virtual void getDialects(mlir::DialectRegistry &registry) const = 0;

  /// Returns the schedule of a fusion. If no fast kernel fits, it is a generic
  /// one, and `-Rpass-missed=schedule` says why. Null after an error at the
  /// fusion.
  virtual Schedule schedule(FusionOp fusion) const = 0;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_TARGET_H
