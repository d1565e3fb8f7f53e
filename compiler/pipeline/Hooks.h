//===- Hooks.h - What a pipeline tells and gives its caller ---------------===//

#ifndef FRIT_COMPILER_PIPELINE_HOOKS_H
#define FRIT_COMPILER_PIPELINE_HOOKS_H

#include "codegen/artifact/Serialize.h"
#include "codegen/cpu/UserCode.h"

#include "mlir/Support/Timing.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace frit {

/// The stages after which a compilation may end, in order.
enum class Stage {
  imported,   ///< a module of nn for each variant
  simplified, ///< the same after the passes that hold for every target
  fused,      ///< scheduled fusions, for each target and variant
  plan,       ///< one module with the program of every target
  cuda,       ///< the kernels' CUDA C++
  device,     ///< each CUDA program's kernels in one module of device code
  artifact,   ///< code of every target and the serialised plan
};

/// What becomes an object or a shared library.
struct CompiledModel {
  mlir::ModuleOp plans;
  const plan::FunctionShapes &shapes;
  const artifact::Image &image;
  llvm::Module &host; ///< with the kernels of all host targets
  llvm::TargetMachine &machine;
  llvm::ArrayRef<cpu::UserSource> sources; ///< users' C that `host` calls
};

/// Who runs a pipeline is told of the work, and given what each stage makes: to
/// print, to keep or to write. To fail there, after an error is reported, ends
/// the compilation.
class PipelineHooks {
public:
  virtual ~PipelineHooks() = default;

  /// Work that may take seconds begins, "optimise for sm_90a", and ends.
  virtual void begin(const llvm::Twine &work) {}
  virtual void end() {}
  /// Of the work, `done` of `total` parts are finished; `next` is one that is
  /// not. By one thread at a time.
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

  /// A line about what was done.
  virtual void say(const llvm::Twine &message) {}

  /// Whether to compile for `arch`, asked before any of its work.
  virtual mlir::FailureOr<bool> takesTarget(llvm::StringRef arch) {
    return true;
  }

  /// The modules of a stage. `name` tells those of variants and targets apart:
  /// "main_8.sm_90a.fused".
  virtual llvm::LogicalResult keep(Stage stage, mlir::ModuleOp module,
                                   const llvm::Twine &name) {
    return llvm::success();
  }
  /// The CUDA C++ of a program. Of code, `name` is the target, with the
  /// function before it unless it is "main": "sm_90a", "train_step.sm_90a".
  virtual llvm::LogicalResult keepCuda(llvm::StringRef text,
                                       llvm::StringRef name) {
    return llvm::success();
  }
  /// The device code of a program.
  virtual llvm::LogicalResult keepDeviceCode(const artifact::TargetCode &code,
                                             llvm::StringRef name) {
    return llvm::success();
  }
  /// The kernels of a program for a host.
  virtual llvm::LogicalResult keepHostCode(llvm::Module &kernels,
                                           llvm::TargetMachine &machine,
                                           llvm::StringRef name) {
    return llvm::success();
  }
  /// The last stage.
  virtual llvm::LogicalResult keepArtifact(const CompiledModel &model,
                                           mlir::TimingScope &timing) {
    return llvm::success();
  }
};

} // namespace frit

#endif // FRIT_COMPILER_PIPELINE_HOOKS_H
