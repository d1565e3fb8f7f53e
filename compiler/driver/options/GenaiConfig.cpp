//===- GenaiConfig.cpp - Folders of onnxruntime-genai ---------------------===//
//
//   {"model": {"context_length": 131072, "type": "llama",
//              "decoder": {"filename": "model.onnx", ...}, ...}, "search": ...}
//
// The tokenizer reads the tokens that end a text from the same file. No other
// member has an effect.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/options/GenaiConfig.h"

#include "compiler/decoder/Decoder.h"
#include "compiler/driver/options/JsonObject.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace frit;
using Json = JsonObject::Json;
using llvm::StringRef;

static const Json *memberOf(const Json &object, const char *key) {
  auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

/// Reads the name of the decoder's file, which is in the folder itself.
static void readName(const Json &decoder, std::string &name,
                     FirstError &error) {
  const Json *file = memberOf(decoder, "filename");
  if (!file || !file->is_string())
    return error.reportAt("model.decoder.filename", "must be a file's name");
  name = file->get<std::string>();
  if (name.empty() || name == "." || name == ".." ||
      StringRef(name).find_first_of(StringRef("/\\\0", 3)) != StringRef::npos)
    error.reportAt("model.decoder.filename", "must be a file in this folder");
}

static void readGenai(const Json &json, GenaiConfig &config,
                      FirstError &error) {
  const Json *model = memberOf(json, "model");
  const Json *decoder = model ? memberOf(*model, "decoder") : nullptr;
  if (!decoder || !decoder->is_object())
    return error.reportAt("model.decoder", "must be an object");
  // Each is a file of its own, which the decoder's inputs come from.
  for (const char *part :
       {"encoder", "encoder_decoder_init", "embedding", "vision", "speech"})
    if (memberOf(*model, part))
      error.reportAt((llvm::Twine("model.") + part).str(),
                     "is a part besides the decoder, which frit does not join");
  if (memberOf(*decoder, "pipeline"))
    error.reportAt("model.decoder.pipeline",
                   "divides the decoder into files, which frit does not join");
  readName(*decoder, config.file, error);
  const Json *context = memberOf(*model, "context_length");
  if (!context || !context->is_number_unsigned() ||
      context->get<uint64_t>() < 1 || context->get<uint64_t>() > INT32_MAX)
    return error.reportAt("model.context_length", "must be a number of tokens");
  config.context = context->get<int64_t>();
}

llvm::Expected<std::optional<GenaiConfig>>
frit::readGenaiConfig(StringRef folder) {
  auto at = [&](StringRef name) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  };
  std::string path = at("genai_config.json");
  if (!llvm::sys::fs::is_regular_file(path))
    return std::nullopt;
  GenaiConfig config;
  if (llvm::Error error =
          readJsonFile(path, [&](const Json &json, FirstError &first) {
            readGenai(json, config, first);
          }))
    return error;
  config.file = at(config.file);
  return config;
}
