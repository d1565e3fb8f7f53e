//===- Pipeline.h - From a model to code, in order ------------------------===//

#ifndef FRIT_COMPILER_PIPELINE_PIPELINE_H
#define FRIT_COMPILER_PIPELINE_PIPELINE_H

#include "codegen/cpu/CpuKernels.h"
#include "codegen/cuda/target/CudaTarget.h"
#include "compiler/import/Import.h"
#include "compiler/pipeline/EntryPoint.h"
#include "compiler/pipeline/PipelinePasses.h"
#include "compiler/planning/Plans.h"
#include "compiler/transform/quantize/RoundedWeights.h"
#include "compiler/transform/sparse/CompressConstants.h"
#include "compiler/transform/sparse/Sparsity.h"

namespace frit {

/// Options of a compilation. The passes read them too.
struct PipelineOptions {
  /// fp32, tf32, fp16 or bf16, or of training amp-fp16, amp-bf16 or amp-fp8.
  std::string precision = "fp32";
  /// The format of gradients that products multiply with amp-fp8.
  std::string float8Gradients = "e5m2";
  /// Globs of names of nodes that stay f32, and the file that lists them.
  llvm::SmallVector<std::string> keepWide;
  std::string keepWideFile;
  /// Off with -O0: every operator is a kernel.
  bool fuse = true;
  /// Whether operators that only one value of a data-dependent condition needs
  /// are guarded by it.
  bool guard = true;
  /// Whether kernels that leave the device partly idle run concurrently.
  bool fork = true;
  /// Whether a library call gets a kernel of our own to fall back on.
  bool fallbacks = true;

  /// Training options; none for inference.
  std::optional<TrainingOptions> training;
  /// Limit of state, prepared weights and scratch memory together, in bytes;
  /// none without a limit.
  std::optional<int64_t> memoryLimit;
  /// The format of weights of products, as readWeightFormat reads it; empty: as
  /// the model has them.
  std::string weights;
  /// Which of the weights of products are 0.
  Sparsity sparsity = Sparsity::asTheyAre;
  /// Rounds weights of a model by data: adds to `rounded` what the pass
  /// quantize-weights otherwise rounds to nearest. `model` is the first
  /// function's, for the largest chunk of tokens of a language model, once
  /// composites are recognized. May be null.
  std::function<llvm::LogicalResult(mlir::ModuleOp model,
                                    RoundedWeights &rounded)>
      searchWeights;
  /// Quantizes the variants of a model once composites are recognized, before
  /// the precision is applied. May be null.
  std::function<llvm::LogicalResult(
      llvm::MutableArrayRef<mlir::OwningOpRef<mlir::ModuleOp>> variants,
      llvm::StringRef precision)>
      quantize;

  /// Targets, each once: sm_90a, x86-64-v3.
  std::vector<std::string> archs;
  /// The operating system that the artifact is for.
  HostSystem system = HostSystem::gnuLinux;
  /// Options of CUDA targets; `arch` is ignored, see cudaFor.
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

  /// Returns the options of one CUDA target.
  cuda::CudaOptions cudaFor(llvm::StringRef arch) const;
};

/// Returns what passes ask of `arch`, one of `options.archs`.
std::unique_ptr<nn::Target> createTarget(const PipelineOptions &options,
                                         llvm::StringRef arch);

/// Builds the module of a language model's function of a role for calls of
/// `tokens` tokens. Null after errors.
using BuildDecoder = llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(
    frit_function_role role, int64_t tokens)>;

/// What calls of a language model's functions hold.
struct DecoderLimits {
  int64_t context;    ///< tokens of a sequence
  int64_t places = 0; ///< of a source; 0: the model has no encoder
  bool readsSound = false;
};

/// One compilation. Errors are diagnostics of the context, which must have the
/// dialects of registerPipelineDialects loaded.
class Pipeline {
public:
  /// Its arguments must outlive it. `timing` gets a scope for each stage.
  Pipeline(mlir::MLIRContext &context, const PipelineOptions &options,
           PipelineHooks &hooks, mlir::TimingScope &timing)
      : context(context), options(options), hooks(hooks), timing(timing) {}

  /// Compiles up to the stage `options.last`. Each source is a function of the
  /// artifact; one that trains has several.
  llvm::LogicalResult run(llvm::MutableArrayRef<ModelSource> sources);

  /// Compiles a function whose model has been simplified.
  llvm::LogicalResult compile(EntryPoint entry);

  /// Returns the target of the current work; empty if it is for all.
  const std::string &currentTarget() const { return target; }

private:
  llvm::LogicalResult import(ModelSource &source);
  llvm::LogicalResult importDecoder(const ModelSource &source);
  llvm::LogicalResult importCaches(const ModelSource &source);
  llvm::LogicalResult importPair(const ModelSource &source);
  llvm::LogicalResult addDecoder(const ModelSource &source,
                                 const DecoderLimits &limits,
                                 BuildDecoder build);
  llvm::LogicalResult addCaches(const ModelSource &source,
                                const DecoderLimits &limits,
                                BuildDecoder build);
  void warnOfKeptNames();
  llvm::LogicalResult
  importForTraining(const ModelSource &source,
                    llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(
                        llvm::ArrayRef<int64_t>)>
                        importFor);
  llvm::LogicalResult addTrainingEntries(const ModelSource &source,
                                         ModelVariants model,
                                         const llvm::Twine &suffix);
  llvm::LogicalResult simplify();
  llvm::LogicalResult recognize(EntryPoint &entry, mlir::TimingScope &scope);
  llvm::LogicalResult narrow(EntryPoint &entry, mlir::TimingScope &scope);
  void tellMemory();
  llvm::LogicalResult compileTargets();
  llvm::LogicalResult compileFor(llvm::StringRef arch);
  llvm::LogicalResult planEntry(EntryPoint &entry, const nn::Target &target,
                                mlir::TimingScope &timing);
  void announceVariants(EntryPoint &entry, const nn::Target &target,
                        double planSeconds);
  llvm::LogicalResult fitMemory(const EntryPoint &entry,
                                const nn::Target &target, mlir::ModuleOp fused,
                                PipelinePasses &planning,
                                mlir::TimingScope &timing);
  mlir::FailureOr<int64_t> measureMemory(const EntryPoint &entry,
                                         const nn::Target &target,
                                         mlir::ModuleOp fused,
                                         PipelinePasses &planning,
                                         mlir::TimingScope &timing);
  llvm::LogicalResult checkMemory();
  llvm::LogicalResult tune(llvm::StringRef arch, mlir::TimingScope &timing);
  llvm::LogicalResult emitKernels(plan::TargetOp target,
                                  mlir::TimingScope &timing);
  llvm::LogicalResult lowerHostKernels(plan::TargetOp target,
                                       mlir::TimingScope &timing);
  llvm::LogicalResult placeMemory();
  llvm::LogicalResult generateCode();
  llvm::LogicalResult compileHostKernels(plan::TargetOp target,
                                         mlir::TimingScope &timing);
  llvm::LogicalResult
  compileCudaKernels(llvm::ArrayRef<plan::TargetOp> targets);
  llvm::LogicalResult makeArtifact();

  std::string nameOf(const EntryPoint &entry, size_t variant,
                     const llvm::Twine &stage) const;

  mlir::MLIRContext &context;
  const PipelineOptions &options;
  PipelineHooks &hooks;
  mlir::TimingScope &timing;
  std::string target;

  llvm::SmallVector<EntryPoint, 2> entries;
  RoundedWeights rounded; ///< with `options.weights`
  PrunedWeights pruned;   ///< with `options.sparsity`
  CompressedWeights compressed;
  /// Says what memory a language model takes if its weights have these bytes;
  /// null for other models.
  std::function<std::string(int64_t)> describeMemory;
  std::optional<planning::Plans> plans;
  llvm::StringMap<cpu::LoweredKernels> hostKernels; ///< by target
  std::vector<cpu::KernelModule> host;
  std::vector<cpu::UserSource> userSources;         ///< what it calls
  llvm::StringMap<artifact::TargetCode> deviceCode; ///< by target
};

/// Adds the passes that simplify an imported model and recognize composites in
/// it.
void addRecognitionPasses(mlir::OpPassManager &passes,
                          const PipelineOptions &options);

/// Returns the precision of a function's values: -fprecision's or, if it is not
/// given, the model's own.
llvm::StringRef precisionOf(const PipelineOptions &options,
                            const EntryPoint &entry);

/// Returns whether a precision has values of 16 bits.
inline bool isNarrow(llvm::StringRef precision) {
  return precision != "fp32" && precision != "tf32";
}

/// Adds the passes that make all values of 16 bits f32, as the quantization of
/// a model wants them.
void addWideningPasses(mlir::OpPassManager &passes);

/// Adds the passes after these that are the same for every target: they apply
/// the chosen precision.
void addPrecisionPasses(mlir::OpPassManager &passes,
                        const PipelineOptions &options,
                        const EntryPoint &entry);

/// Adds the passes that turn a target's copy of the model into scheduled
/// fusions. Functions of a model share `compressed`, their sparse weights
/// without the zeros.
void addTargetPasses(mlir::OpPassManager &passes, const nn::Target &target,
                     const PipelineOptions &options, const EntryPoint &entry,
                     CompressedWeights &compressed);

/// Adds the passes that turn scheduled fusions into a plan. The plans of a
/// model's variants can then be merged.
void addPlanPasses(mlir::OpPassManager &passes, const nn::Target &target,
                   const PipelineOptions &options, const EntryPoint &entry);

/// Adds the passes that place a call's buffers in one arena.
void addMemoryPasses(mlir::OpPassManager &passes);

/// Adds the dialects and interfaces that a compilation needs.
void registerPipelineDialects(mlir::DialectRegistry &registry);

} // namespace frit

#endif // FRIT_COMPILER_PIPELINE_PIPELINE_H
