//===- ModelParts.cpp - Files of a model with an encoder ------------------===//

#include "compiler/driver/ModelInput.h"
#include "compiler/driver/options/CommandLine.h"
#include "compiler/driver/options/GenaiConfig.h"
#include "compiler/import/CacheShapes.h"

#include "llvm/Support/FileSystem.h"

using namespace frit;
using llvm::StringRef;

/// Returns which part of a model with an encoder a file is; `other` for what
/// cannot be read or is no model, which is reported when it is compiled.
static ModelPart partAt(const std::string &path) {
  if (!llvm::sys::fs::is_regular_file(path))
    return ModelPart::other;
  auto file = readFile(path);
  if (!file) {
    llvm::consumeError(file.takeError());
    return ModelPart::other;
  }
  return partOf((*file)->getBuffer()).value_or(ModelPart::other);
}

/// Returns the files of a folder as optimum writes it: the encoder, and the
/// decoder as one file or as two.
static std::vector<std::string> partsIn(StringRef folder) {
  auto at = [&](StringRef name) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return llvm::sys::fs::exists(path) ? path.str().str() : std::string();
  };
  std::vector<std::string> parts;
  if (at("encoder_model.onnx").empty())
    return parts;
  parts.push_back(at("encoder_model.onnx"));
  if (std::string merged = at("decoder_model_merged.onnx"); !merged.empty()) {
    parts.push_back(merged);
    return parts;
  }
  for (StringRef name : {"decoder_model.onnx", "decoder_with_past_model.onnx"})
    if (std::string path = at(name); !path.empty())
      parts.push_back(path);
  return parts;
}

/// Takes the decoder of a folder of onnxruntime-genai, whose name may also be
/// the input, and the context that it is for.
bool CommandLine::findGenai(ModelInput &input) {
  bool isFolder = llvm::sys::fs::is_directory(input.path);
  if (input.isDecoder || input.isNamed || (!isFolder && !input.hasCaches))
    return true;
  StringRef folder =
      isFolder ? input.path : llvm::sys::path::parent_path(input.path);
  auto config = readGenaiConfig(folder.empty() ? "." : folder);
  if (!config)
    return wrong(llvm::toString(config.takeError()), kBadInput);
  // The configuration of another file in the folder says nothing of this one.
  if (!*config || (!isFolder && llvm::sys::path::filename((*config)->file) !=
                                    llvm::sys::path::filename(input.path)))
    return true;
  // What cannot be read is reported when it is compiled.
  if (auto file = readFile((*config)->file); !file)
    llvm::consumeError(file.takeError());
  else if (llvm::Error error = checkSizes(**config, (*file)->getBuffer()))
    return wrong(llvm::toString(std::move(error)), kBadInput);
  input.path = (*config)->file;
  input.hasCaches = true;
  input.mostContext = (*config)->context;
  return true;
}

/// Makes files that are an encoder and its decoder one input.
void CommandLine::findParts() {
  std::vector<std::string> parts;
  if (options.inputs.size() == 1) {
    ModelInput &input = options.inputs.front();
    if (!input.isDecoder && !input.isNamed &&
        llvm::sys::fs::is_directory(input.path))
      parts = partsIn(input.path);
  } else {
    // Models without caches are functions of their own.
    bool isPair = args.hasArg(OPT_context_EQ), hasDecoder = false;
    for (const ModelInput &input : options.inputs) {
      ModelPart part = input.isDecoder || input.isNamed ? ModelPart::other
                                                        : partAt(input.path);
      if (part == ModelPart::other)
        return;
      hasDecoder |= part != ModelPart::encoder;
      isPair |=
          part == ModelPart::nextDecoder || part == ModelPart::bothDecoders;
      parts.push_back(input.path);
    }
    if (!isPair || !hasDecoder)
      return;
  }
  if (parts.empty())
    return;
  for (const std::string &part : parts)
    protectInput(part);
  ModelInput &input = options.inputs.front();
  options.inputs.resize(1);
  input.parts = std::move(parts);
  input.hasCaches = true;
}
