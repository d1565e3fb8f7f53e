//===- ModelOutputs.cpp - Models as text ----------------------------------===//

#include "compiler/driver/ModelOutputs.h"

#include "codegen/artifact/Safetensors.h"
#include "compiler/driver/Outputs.h"
#include "compiler/import/Import.h"
#include "dialects/plan/Plan.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace frit;

std::string frit::printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(64);
  // With any limit but 0, MLIR prints gigabytes to measure their length.
  flags.elideLargeResourceString(0);
  // -S prints the text of kernels; as an attribute it is one long line.
  SmallVector<std::pair<plan::KernelOp, plan::SourceAttr>> sources;
  for (auto target : module.getOps<plan::TargetOp>())
    for (auto kernel : target.getBody().getOps<plan::KernelOp>())
      if (plan::SourceAttr source = kernel.getSourceAttr()) {
        sources.push_back({kernel, source});
        kernel.removeSourceAttr();
      }
  module.print(os, flags);
  for (auto [kernel, source] : sources)
    kernel.setSourceAttr(source);
  return text;
}

std::string frit::jsonWeightsName(StringRef output) {
  SmallString<128> path(output);
  llvm::sys::path::replace_extension(path, ".safetensors");
  return path.str().str();
}

llvm::Error frit::writeJson(ModuleOp model, StringRef output) {
  // Only models that take or give strings have a vocabulary.
  if (model.lookupSymbol("main")->hasAttr("nn.vocabulary"))
    return llvm::make_error<StatusError>(
        kBadInput, "--emit=json: the model takes or gives strings, which a "
                   "JSON graph cannot describe");
  std::string text;
  llvm::raw_string_ostream graph(text);
  std::string path = jsonWeightsName(output);
  auto constants = exportJson(model, llvm::sys::path::filename(path), graph);
  if (constants.empty())
    return writeText(output, text);
  if (isStreamOutput(output.str()))
    return llvm::make_error<StatusError>(
        kBadUsage,
        "--emit=json writes weights beside the graph; name it with -o");
  auto file = createOutput(path);
  if (!file)
    return file.takeError();
  std::error_code error;
  llvm::raw_fd_ostream weights(file->path(), error);
  if (error)
    return outputError(path, error);
  artifact::writeSafetensors(constants, weights);
  weights.close();
  error = weights.error();
  weights.clear_error();
  if (!error)
    error = file->commit();
  if (error)
    return outputError(path, error);
  return writeText(output, text);
}
