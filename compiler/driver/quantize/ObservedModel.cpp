//===- ObservedModel.cpp - Compile a model for this processor -------------===//

#include "compiler/driver/quantize/ObservedModel.h"

#include "compiler/driver/Artifact.h"
#include "compiler/pipeline/Pipeline.h"

using namespace mlir;
using namespace frit;

namespace {
/// Writes the artifact.
class ObservedHooks final : public PipelineHooks {
public:
  explicit ObservedHooks(std::string path) : path(std::move(path)) {}

  /// Why the artifact could not be written.
  llvm::Error error = llvm::Error::success();

private:
  LogicalResult keepArtifact(const CompiledModel &model,
                             TimingScope &timing) override {
    ArtifactOptions options;
    options.output = path;
    options.name = "observed";
    auto keep = [](StringRef, size_t) { return llvm::Error::success(); };
    auto show = [](size_t, size_t) {};
    auto say = [](const Twine &) {};
    options.keepObject = keep;
    options.progress = show;
    options.say = say;
    options.sources = model.sources;
    error = llvm::joinErrors(
        std::move(error),
        writeArtifact(model.host, model.image, options, timing));
    return success(!error);
  }

  std::string path;
};
} // namespace

llvm::Expected<std::string> frit::compileHere(OwningOpRef<ModuleOp> model,
                                              StringRef name, StringRef arch,
                                              TemporaryFolder &folder) {
  MLIRContext &context = *model->getContext();
  std::string path = folder.file((name + ".so").str());
  PipelineOptions options;
  options.archs = {arch.str()};
  options.title = name.str();
  ObservedHooks hooks(path);
  DefaultTimingManager timing;
  TimingScope root = timing.getRootScope();
  EntryPoint entry;
  entry.name = "main";
  entry.model.modules.push_back(std::move(model));
  entry.model.suffixes = {""};
  LogicalResult done =
      Pipeline(context, options, hooks, root).compile(std::move(entry));
  if (hooks.error)
    return std::move(hooks.error);
  if (failed(done))
    return reported();
  return path;
}
