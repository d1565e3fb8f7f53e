//===- PipelinePasses.h - Passes whose failures have a culprit ------------===//

#ifndef FRIT_COMPILER_PIPELINE_PIPELINEPASSES_H
#define FRIT_COMPILER_PIPELINE_PIPELINEPASSES_H

#include "compiler/pipeline/Hooks.h"

#include "mlir/Pass/PassManager.h"

#include <memory>

namespace frit {

/// Passes of a stage. When they fail, `run` tells a bug of frit from a fault of
/// the model: the pass gave no error, or the verifier rejects what it made.
/// `run` then says so in a further error, and calls `hooks.blame`.
class PipelinePasses : public mlir::PassManager {
public:
  /// `hooks` must outlive it. Every failure is a bug if `mustSucceed`: no model
  /// and no option makes these passes fail.
  PipelinePasses(mlir::MLIRContext &context, PipelineHooks &hooks,
                 bool mustSucceed = false,
                 llvm::StringRef operation = getAnyOpAnchorName());

  llvm::LogicalResult run(mlir::Operation *op);

private:
  struct Watch;

  PipelineHooks &hooks;
  bool mustSucceed;
  std::shared_ptr<std::string> failed; ///< the pass that failed
};

/// Reports that frit is at fault for the errors before, and why: "the pass
/// 'fusion' failed".
llvm::LogicalResult reportBug(mlir::MLIRContext &context, PipelineHooks &hooks,
                              const llvm::Twine &why);

} // namespace frit

#endif // FRIT_COMPILER_PIPELINE_PIPELINEPASSES_H
