//===- PipelinePasses.cpp - Passes whose failures have a culprit ----------===//

#include "compiler/pipeline/PipelinePasses.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace frit;

/// Collects the texts of a context's errors during its lifetime. They go on to
/// the other handlers if `passesOn`.
namespace {
class ErrorTexts {
public:
  ErrorTexts(MLIRContext *context, bool passesOn)
      : handler(context, [this, passesOn](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            texts.insert(diagnostic.str());
          return success(!passesOn);
        }) {}

  llvm::StringSet<> texts;

private:
  ScopedDiagnosticHandler handler;
};
} // namespace

/// Remembers the first pass that fails. Pass managers call it under a lock.
struct PipelinePasses::Watch final : PassInstrumentation {
  explicit Watch(std::shared_ptr<std::string> failed)
      : failed(std::move(failed)) {}

  void runAfterPassFailed(Pass *pass, Operation *) override {
    // Passes over all functions fail after the pass of one function.
    if (failed->empty())
      *failed = pass->getArgument().empty() ? pass->getName().str()
                                            : pass->getArgument().str();
  }

  std::shared_ptr<std::string> failed;
};

PipelinePasses::PipelinePasses(MLIRContext &context, PipelineHooks &hooks,
                               bool mustSucceed, StringRef operation)
    : PassManager(&context, operation), hooks(hooks), mustSucceed(mustSucceed),
      failed(std::make_shared<std::string>()) {
  addInstrumentation(std::make_unique<Watch>(failed));
}

LogicalResult PipelinePasses::run(Operation *op) {
  failed->clear();
  ErrorTexts said(op->getContext(), /*passesOn=*/true);
  if (succeeded(PassManager::run(op)))
    return success();
  std::string pass = "the pass '" + *failed + "' ";
  if (said.texts.empty())
    return reportBug(*op->getContext(), hooks,
                     pass + "failed without an error");
  if (mustSucceed)
    return reportBug(*op->getContext(), hooks, pass + "failed");
  // Verifying again gives the same error. A pass that gave one itself has
  // failed for a reason, in whatever state it left the module.
  bool isInvalid = false;
  {
    ErrorTexts found(op->getContext(), /*passesOn=*/false);
    if (mlir::failed(verify(op)))
      isInvalid = llvm::any_of(found.texts, [&](const auto &text) {
        return said.texts.contains(text.getKey());
      });
  }
  if (isInvalid)
    return reportBug(*op->getContext(), hooks,
                     pass + "has made an invalid module");
  return failure();
}

LogicalResult frit::reportBug(MLIRContext &context, PipelineHooks &hooks,
                              const Twine &why) {
  hooks.blame(cuda::Culprit::frit);
  return emitError(UnknownLoc::get(&context))
         << why
         << ": this is a bug in frit, not a fault of the model; please report "
            "it with this text and the model, which frit-reduce makes small; "
            "-O0, -fno-fuse or another -march may avoid it";
}
