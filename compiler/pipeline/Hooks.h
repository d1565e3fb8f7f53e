//===- Hooks.h - Callbacks of a pipeline ----------------------------------===//

#ifndef FRIT_COMPILER_PIPELINE_HOOKS_H
#define FRIT_COMPILER_PIPELINE_HOOKS_H

#include "codegen/artifact/Serialize.h"
#include "codegen/cpu/CpuKernels.h"
#include "codegen/cuda/compile/CompileModules.h"

#include "mlir/Support/Timing.h"

namespace frit {

/// The stages after which a compilation may end, in order.
enum class Stage {
  imported,   ///< a module of nn for each variant
  simplified, ///< the same after the target-independent passes
  fused,      ///< scheduled fusions, for each target and variant
  plan,       ///< one module with all functions and targets
  cuda,       ///< the kernels' CUDA C++
  device,     ///< each CUDA target's kernels in one module of device code
  artifact,   ///< code of every target and the serialised plan
};

/// The parts of an object or a shared library.
struct CompiledModel {
  mlir::ModuleOp plans;
  const plan::FunctionShapes &shapes;
  const artifact::Image &image;
  llvm::MutableArrayRef<cpu::KernelModule> host; ///< of all host targets
  llvm::ArrayRef<cpu::UserSource> sources;       ///< users' C that `host` calls
};

/// Callbacks of a pipeline: progress of the work, and each stage's result to
/// print, keep or write. A callback that fails, after reporting an error, ends
/// the compilation.
class PipelineHooks {
public:
  virtual ~PipelineHooks() = default;

  /// Called when work that may take seconds begins ("optimise for sm_90a") and
  /// ends.
  virtual void begin(const llvm::Twine &work) {}
  virtual void end() {}
  /// Called when `done` of `total` parts of the work are finished; `next` is an
  /// unfinished one. Never called by two threads at a time.
  virtual void update(size_t done, size_t total, llvm::StringRef next) {}
  /// Begins work, and ends it when this is destroyed.
  class Work {
  public:
    Work(PipelineHooks &hooks, const llvm::Twine &what) : hooks(hooks) {
      hooks.begin(what);
    }
    Work(const Work &) = delete;
    ~Work() { hooks.end(); }

  private:
    PipelineHooks &hooks;
  };

  /// Called with a line about finished work.
  virtual void say(const llvm::Twine &message) {}

  /// Called with a line that users see in any case.
  virtual void tell(const llvm::Twine &message) {}

  /// Called before an error about kernels that do not compile.
  virtual void blame(cuda::Culprit culprit) {}

  /// Returns whether to compile for `arch`. Called before any work for it.
  virtual mlir::FailureOr<bool> wantsTarget(llvm::StringRef arch) {
    return true;
  }

  /// Called with each module of a stage. `name` has the variant and target:
  /// "main_8.sm_90a.fused".
  virtual llvm::LogicalResult keep(Stage stage, mlir::ModuleOp module,
                                   const llvm::Twine &name) {
    return llvm::success();
  }
  /// Called with the CUDA C++ of a target: "sm_90a".
  virtual llvm::LogicalResult keepCuda(llvm::StringRef text,
                                       llvm::StringRef arch) {
    return llvm::success();
  }
  /// Called with the device code of a target.
  virtual llvm::LogicalResult keepDeviceCode(const artifact::TargetCode &code,
                                             llvm::StringRef arch) {
    return llvm::success();
  }
  /// Called with the kernels of a host target.
  virtual llvm::LogicalResult
  keepHostCode(llvm::ArrayRef<cpu::KernelModule> kernels,
               llvm::TargetMachine &machine, llvm::StringRef arch) {
    return llvm::success();
  }
  /// Called with the last stage.
  virtual llvm::LogicalResult keepArtifact(const CompiledModel &model,
                                           mlir::TimingScope &timing) {
    return llvm::success();
  }
};

} // namespace frit

#endif // FRIT_COMPILER_PIPELINE_HOOKS_H
