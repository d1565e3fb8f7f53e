//===- StageOutputs.h - Write what becomes of a model ---------------------===//

#ifndef FRIT_COMPILER_DRIVER_STAGEOUTPUTS_H
#define FRIT_COMPILER_DRIVER_STAGEOUTPUTS_H

#include "codegen/cuda/target/Tuning.h"
#include "compiler/driver/Artifact.h"
#include "compiler/driver/Messages.h"
#include "compiler/driver/StageFiles.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/report/Report.h"

namespace frit {

/// Writes what --emit, -save-temps and --report ask for, and the artifact. All
/// arguments must outlive this.
class StageOutputs final : public Messages {
public:
  StageOutputs(const DriverOptions &options,
               const PipelineOptions &pipelineOptions,
               mlir::MLIRContext &context);

  /// Writes what the stages have collected, once all of them are done.
  llvm::LogicalResult finish();
  /// Returns how the artifact is written.
  ArtifactOptions artifactOptions() const;

  mlir::FailureOr<bool> wantsTarget(llvm::StringRef arch) override;
  llvm::LogicalResult keep(Stage stage, mlir::ModuleOp module,
                           const llvm::Twine &name) override;
  llvm::LogicalResult keepCuda(llvm::StringRef text,
                               llvm::StringRef name) override;
  llvm::LogicalResult keepDeviceCode(const artifact::TargetCode &code,
                                     llvm::StringRef name) override;
  llvm::LogicalResult keepHostCode(llvm::ArrayRef<cpu::KernelModule> kernels,
                                   llvm::TargetMachine &machine,
                                   llvm::StringRef name) override;
  llvm::LogicalResult keepArtifact(const CompiledModel &model,
                                   mlir::TimingScope &timing) override;

  std::vector<report::Remark> remarks; ///< for the page
  cuda::Tuning tuning;
  /// The files of weights, which the context keeps mapped.
  std::vector<artifact::MappedFile> mapped;

private:
  bool isTextOutput() const;
  llvm::LogicalResult checkOutputs();
  report::Report makeReport(mlir::ModuleOp plans);

  const PipelineOptions &pipelineOptions;
  mlir::MLIRContext &context;
  StageFiles files;
  bool hasTuning = false; ///< the file of -ftune-generate has been read
  std::string page;
  /// The text that --emit writes, for all functions and targets.
  std::string emitted;
};

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_STAGEOUTPUTS_H
