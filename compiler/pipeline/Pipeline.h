//===- Pipeline.h - From a model to code, in order ------------------------===//

#ifndef FRIT_COMPILER_PIPELINE_PIPELINE_H
#define FRIT_COMPILER_PIPELINE_PIPELINE_H

#include "codegen/cpu/CpuKernels.h"
#include "codegen/cuda/target/CudaTarget.h"
#include "compiler/import/Import.h"
#include "compiler/padding/ImportVariants.h"
#include "compiler/pipeline/PipelinePasses.h"
#include "compiler/planning/Plans.h"
#include "compiler/transform/training/Training.h"

#include "llvm/Support/MemoryBuffer.h"

namespace frit {

/// Options of a compilation. The passes read them too.
struct PipelineOptions {
  ImportOptions import;
  /// Dimensions that are compiled for several sizes.
  std::vector<SymbolSizes> openSymbols;

  /// fp32, tf32, fp16 or bf16.
  std::string precision = "fp32";
  /// Globs of names of nodes that stay f32, and the file that lists them.
  llvm::SmallVector<std::string> keepWide;
  std::string keepWideFile;
  /// Types of inputs and outputs that differ from the model's: NAME:TYPE.
  llvm::SmallVector<std::string> types;
  /// Off with -O0: every operator is a kernel.
  bool fuse = true;
  /// Whether operators that only one value of a data-dependent condition needs
  /// are guarded by it.
  bool guard = true;
  /// Whether kernels that leave the device partly idle run concurrently.
  bool fork = true;
  /// Whether a library call gets a kernel of our own to fall back on.
  bool fallbacks = true;
  /// Bytes that every planned library call may use.
  int64_t workspaceBytes = 0;

  /// Training options; none for inference.
  std::optional<TrainingOptions> training;
  /// Limit of state, prepared weights and scratch memory together, in bytes;
  /// none without a limit.
  std::optional<int64_t> memoryLimit;
  /// Whether kernels may write a state's next value over the one before.
  bool overwritesState = false;

  /// Targets, each once: sm_90a, x86-64-v3.
  std::vector<std::string> archs;
  /// Options of CUDA targets; `arch` is ignored.
  cuda::CudaOptions cuda;
  /// Times the schedules of the contractions in a variant that is fused for a
  /// target, and adds the best to what `cuda.tuning` points to. May use `share`
  /// of the time budget. May be null.
  std::function<llvm::LogicalResult(
      mlir::ModuleOp fused, const cuda::CudaOptions &target, double share)>
      tune;

  /// The artifact's name, and the path by which it finds its file of weights;
  /// empty if they are embedded.
  std::string title, weightsName;

  Stage last = Stage::artifact;
};

/// A function of a model that trains, and its options.
struct TrainedFunction {
  TrainingFunction kind;
  TrainingOptions options;
};

/// A model's file.
struct ModelSource {
  std::unique_ptr<llvm::MemoryBuffer> file;
  std::string path; ///< weights lie beside it, and messages name it
  bool isJson = false;
};

/// One compilation. Errors are diagnostics of the context, which must have the
/// dialects of registerPipelineDialects loaded.
class Pipeline {
public:
  /// Its arguments must outlive it. `timing` gets a scope for each stage.
  Pipeline(mlir::MLIRContext &context, const PipelineOptions &options,
           PipelineHooks &hooks, mlir::TimingScope &timing)
      : context(context), options(options), hooks(hooks), timing(timing) {}

  /// Compiles up to the stage `options.last`.
  llvm::LogicalResult run(ModelSource source);

  /// Returns the target of the current work; empty if it is for all.
  const std::string &currentTarget() const { return target; }

private:
  /// A function of the artifact: "main", or a function of a training model.
  struct Function {
    std::string name;
    ModelVariants model;
    std::optional<TrainedFunction> training = {};

    const TrainedFunction *trained() const {
      return training ? &*training : nullptr;
    }
  };

  llvm::LogicalResult import(ModelSource source);
  void warnOfKeptNames();
  llvm::LogicalResult
  importForTraining(llvm::function_ref<
                    mlir::OwningOpRef<mlir::ModuleOp>(llvm::ArrayRef<int64_t>)>
                        importFor);
  llvm::LogicalResult addTrainingFunctions(ModelVariants model,
                                           const llvm::Twine &suffix);
  llvm::LogicalResult simplify();
  llvm::LogicalResult compileFor(llvm::StringRef arch);
  llvm::LogicalResult compileFunction(Function &function,
                                      const nn::Target &target,
                                      const PipelineOptions &own,
                                      mlir::TimingScope &timing);
  llvm::LogicalResult fitMemory(const Function &function, mlir::ModuleOp fused,
                                PipelinePasses &planning,
                                mlir::TimingScope &timing);
  mlir::FailureOr<int64_t> measureMemory(const Function &function,
                                         mlir::ModuleOp fused,
                                         PipelinePasses &planning,
                                         mlir::TimingScope &timing);
  llvm::LogicalResult checkMemory();
  llvm::LogicalResult tune(const PipelineOptions &own,
                           mlir::TimingScope &timing);
  llvm::LogicalResult emitKernels(plan::ProgramOp program,
                                  const cuda::CudaOptions &target,
                                  mlir::TimingScope &timing);
  llvm::LogicalResult lowerHostKernels(plan::ProgramOp program,
                                       mlir::TimingScope &timing);
  llvm::LogicalResult placeMemory();
  llvm::LogicalResult generateCode();
  llvm::LogicalResult compileHostKernels(plan::ProgramOp program,
                                         mlir::TimingScope &timing);
  llvm::LogicalResult
  compileCudaKernels(llvm::ArrayRef<plan::ProgramOp> programs);
  llvm::LogicalResult makeArtifact();

  std::string nameOf(const Function &function, size_t variant,
                     const llvm::Twine &stage) const;

  mlir::MLIRContext &context;
  const PipelineOptions &options;
  PipelineHooks &hooks;
  mlir::TimingScope &timing;
  std::string target;

  llvm::SmallVector<Function, 2> functions;
  std::optional<planning::Plans> plans;
  llvm::StringMap<cpu::LoweredKernels> hostKernels; ///< by program
  std::vector<cpu::KernelModule> host;
  std::vector<cpu::UserSource> userSources;         ///< what it calls
  llvm::StringMap<artifact::TargetCode> deviceCode; ///< by program
};

/// Adds the passes that are the same for every target: they simplify an
/// imported model and apply the chosen precision.
void addModelPasses(mlir::OpPassManager &passes,
                    const PipelineOptions &options);

/// Adds the passes that turn a target's copy of the model into scheduled
/// fusions.
void addTargetPasses(mlir::OpPassManager &passes, const nn::Target &target,
                     const PipelineOptions &options,
                     const TrainedFunction *training = nullptr);

/// Adds the passes that turn scheduled fusions into a plan. The plans of a
/// model's variants can then be merged.
void addPlanPasses(mlir::OpPassManager &passes, const nn::Target &target,
                   const PipelineOptions &options,
                   llvm::StringRef function = "");

/// Adds the passes that place a call's buffers in one arena.
void addMemoryPasses(mlir::OpPassManager &passes);

/// Adds the dialects and interfaces that a compilation needs.
void registerPipelineDialects(mlir::DialectRegistry &registry);

} // namespace frit

#endif // FRIT_COMPILER_PIPELINE_PIPELINE_H
