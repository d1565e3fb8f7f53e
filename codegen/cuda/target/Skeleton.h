//===- Skeleton.h - Interface of skeletons --------------------------------===//
//
// A skeleton is a kernel's frame in device code and the class that fills it.
// The class offers schedules, says which fusions each of them fits, estimates
// their time and emits the kernel's text. The schedule is an attribute of the
// cuda dialect that holds every choice: emission decides nothing and cannot
// fail.
//
// To add one, define an attribute in the .td of its folder, a class, and
//
//   template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<MapAttr>()
//
// in the class's file. The registry creates one for every attribute of the
// dialect, in the order of their definitions. An attribute without a class
// fails to link.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TARGET_SKELETON_H
#define FRIT_CODEGEN_CUDA_TARGET_SKELETON_H

#include "codegen/cuda/scalar/KernelText.h"
#include "codegen/cuda/target/CudaDialect.h"
#include "codegen/cuda/target/GpuArch.h"
#include "codegen/cuda/target/Problem.h"
#include "dialects/nn/Target.h"

#include <memory>

namespace frit::cuda {

/// The schedules that skeletons offer for a problem.
class Offers {
public:
  /// Collects at most `most` schedules of a skeleton that ranks tiles; with 1,
  /// only the default.
  explicit Offers(unsigned most) : most(most) {}

  bool wantsSeveral() const { return most > 1; }

  /// Adds a schedule that can run the fusion. The first one is the default.
  void add(nn::Schedule schedule);
  /// Adds a schedule to use only if tuning found it the fastest.
  void addAlternative(nn::Schedule schedule);

  const unsigned most;
  llvm::SmallVector<nn::Schedule> schedules, alternatives;
};

/// A contraction and a chain of operators after it, each reading its
/// predecessor, as candidates for one kernel.
struct Chain {
  explicit Chain(llvm::ArrayRef<mlir::Operation *> operators);

  mlir::Operation *contraction() const { return operators.front(); }

  llvm::ArrayRef<mlir::Operation *> operators;
  /// The chain as back-to-back convolutions, or else as a contraction with an
  /// epilogue.
  nn::Match<nn::ConvB2bInfo> convB2b;
  nn::Match<nn::Epilogue> epilogue;
};

/// A fusion with a schedule that fits it. Emission cannot fail.
class FittedKernel {
public:
  virtual ~FittedKernel() = default;

  /// Returns the text of the kernel `name`. Call once.
  virtual KernelText emit(llvm::StringRef name) = 0;
};

class Skeleton {
public:
  virtual ~Skeleton() = default;

  /// Returns the mnemonic of its attribute: "row_staged".
  virtual llvm::StringRef name() const = 0;
  /// Returns whether `schedule` is an attribute of this skeleton.
  virtual bool owns(nn::Schedule schedule) const = 0;

  /// Returns whether it is the fallback for fusions that no faster skeleton
  /// takes; a remark says so.
  virtual bool isGeneric() const { return false; }

  /// Returns whether tuning times its schedules.
  virtual bool isTuned() const { return false; }

  /// Returns NVRTC's approximate time for the skeleton's device code, which
  /// divides kernels among modules. Fitted to the models in test/bench.
  virtual double compileMilliseconds() const = 0;

  /// Adds the schedules that can run `problem`. Otherwise returns why there are
  /// none; no reason if the skeleton is for other kinds of fusion.
  virtual nn::Legality offer(Problem &problem, const Machine &machine,
                             Offers &offers) const = 0;

  /// Returns whether it computes `composite`. Otherwise the composite is
  /// decomposed.
  virtual bool keepsWhole(nn::CompositeOp composite,
                          const Machine &machine) const {
    return false;
  }
  /// Returns whether it computes a product whose matrix consists of codes.
  virtual bool canFuseCodes(nn::MatmulOp product,
                            const Machine &machine) const {
    return false;
  }
  /// Returns whether it computes a product whose rows of A are an nn.rms_norm.
  virtual bool canFuseNorm(nn::MatmulOp product, const Machine &machine) const {
    return false;
  }
  /// Returns whether it computes two products and what combines them.
  virtual bool canFusePair(llvm::ArrayRef<mlir::Operation *> operators,
                           const Machine &machine) const {
    return false;
  }
  /// Returns whether it accesses an operand or the result of a whole composite,
  /// with this element type, through strides.
  virtual bool canUseView(nn::CompositeOp composite, mlir::Type element,
                          const nn::StridedPlaces &places) const {
    return false;
  }
  /// Adds rewrites to a form that it computes fast. `machine` outlives them.
  virtual void populateRewrites(nn::TargetRewrites &rewrites,
                                const Machine &machine) const {}
  /// Returns whether a chain should be one kernel, because that takes no longer
  /// than the contraction alone.
  virtual bool takesChain(const Chain &chain, const Machine &machine) const {
    return false;
  }

  /// Returns the kernel's cost beside concurrent kernels; none if it is
  /// unknown.
  virtual std::optional<nn::StepCost> cost(Problem &problem,
                                           nn::Schedule schedule,
                                           const Machine &machine) const = 0;

  /// Returns why `schedule`, which may be user input, does not fit the fusion.
  /// CudaTarget asks this of every schedule that it chooses.
  virtual nn::Legality check(Problem &problem, nn::Schedule schedule,
                             const Machine &machine) const = 0;

  /// Returns the kernel of a schedule, or why the schedule does not fit the
  /// fusion. `problem` and `machine` outlive it.
  virtual nn::Match<std::unique_ptr<FittedKernel>>
  kernelOf(Problem &problem, nn::Schedule schedule,
           const Machine &machine) const = 0;
};

/// A skeleton whose schedules are `Attr`. `Kernel` is what such a schedule
/// makes of a fusion that it fits: all that the kernel's text is printed from.
template <class Attr, class Kernel> class SkeletonOf : public Skeleton {
public:
  llvm::StringRef name() const final { return Attr::getMnemonic(); }
  bool owns(nn::Schedule schedule) const final {
    return llvm::isa<Attr>(schedule);
  }
  std::optional<nn::StepCost> cost(Problem &problem, nn::Schedule schedule,
                                   const Machine &machine) const final {
    return costOf(problem, llvm::cast<Attr>(schedule), machine);
  }
  nn::Legality check(Problem &problem, nn::Schedule schedule,
                     const Machine &machine) const final {
    nn::Match<Kernel> kernel =
        fit(problem, llvm::cast<Attr>(schedule), machine);
    return kernel ? nn::Legality() : nn::Legality(kernel.mismatch());
  }
  nn::Match<std::unique_ptr<FittedKernel>>
  kernelOf(Problem &problem, nn::Schedule schedule,
           const Machine &machine) const final {
    auto own = llvm::cast<Attr>(schedule);
    nn::Match<Kernel> kernel = fit(problem, own, machine);
    if (!kernel)
      return kernel.mismatch();
    return std::unique_ptr<FittedKernel>(
        std::make_unique<Fitted>(*this, std::move(*kernel), problem, own));
  }

protected:
  virtual std::optional<nn::StepCost> costOf(Problem &problem, Attr schedule,
                                             const Machine &machine) const = 0;
  /// Returns what the kernel is printed from, or why the schedule does not fit
  /// the fusion. No other function asks that.
  virtual nn::Match<Kernel> fit(Problem &problem, Attr schedule,
                                const Machine &machine) const = 0;
  virtual KernelText print(Kernel &kernel, Problem &problem, Attr schedule,
                           llvm::StringRef name) const = 0;

private:
  class Fitted : public FittedKernel {
  public:
    Fitted(const SkeletonOf &skeleton, Kernel kernel, Problem &problem,
           Attr schedule)
        : skeleton(skeleton), kernel(std::move(kernel)), problem(problem),
          schedule(schedule) {}

    KernelText emit(llvm::StringRef name) override {
      KernelText text = skeleton.print(kernel, problem, schedule, name);
      text.headerMilliseconds += skeleton.compileMilliseconds();
      return text;
    }

  private:
    const SkeletonOf &skeleton;
    Kernel kernel;
    Problem &problem;
    Attr schedule;
  };
};

/// A skeleton whose schedules tuning times.
template <class Attr, class Kernel>
class TunedSkeletonOf : public SkeletonOf<Attr, Kernel> {
public:
  bool isTuned() const final { return true; }
};

/// Returns the cost of a memory-bound kernel whose threads have `perThread`
/// elements each of the largest tensor.
nn::StepCost costOfMemory(nn::FusionOp fusion, int64_t perThread,
                          const GpuArch &arch);

/// Returns why tiles that need `needed` blocks cannot have a launch of
/// `blocks`, which is 0 unless the kernel is persistent.
nn::Legality checkBlocks(int64_t blocks, int64_t needed);

/// Returns the blocks of such a launch.
inline int64_t launchBlocks(int64_t blocks, int64_t needed) {
  return blocks ? blocks : needed;
}

/// Creates the skeleton of an attribute. The skeleton's own file specializes
/// it.
template <class Attr> std::unique_ptr<Skeleton> makeSkeleton();

/// Returns all skeletons in order of preference. They live as long as the
/// program.
llvm::ArrayRef<std::unique_ptr<Skeleton>> skeletons();

/// Returns the skeleton of a schedule; null for a schedule of another target.
const Skeleton *skeletonOf(nn::Schedule schedule);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_TARGET_SKELETON_H
