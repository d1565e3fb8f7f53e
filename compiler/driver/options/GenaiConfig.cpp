//===- GenaiConfig.cpp - Folders of onnxruntime-genai ---------------------===//
//
//   {"model": {"context_length": 131072, "type": "llama",
//              "decoder": {"filename": "model.onnx", ...}, ...}, "search": ...}
//
// Sizes that contradict the file are errors: it is of another model. The
// tokenizer reads the tokens that end a text from the same file, and frit-run
// reads how they are chosen from "search". No other member has an effect.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/options/GenaiConfig.h"

#include "compiler/decoder/Decoder.h"
#include "compiler/driver/options/JsonObject.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
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

namespace {
/// A size of a decoder, its place in the file and what it counts.
struct Size {
  const char *place;
  std::optional<int64_t> DecoderSizes::*size;
  const char *counts;
};
} // namespace

static constexpr StringRef kDecoder = "model.decoder.";
static constexpr Size kSizes[] = {
    {"model.vocab_size", &DecoderSizes::vocabulary, "logits of {0} tokens"},
    {"model.decoder.num_hidden_layers", &DecoderSizes::layers,
     "caches of {0} layers"},
    {"model.decoder.num_key_value_heads", &DecoderSizes::groups,
     "caches of {0} heads"},
    {"model.decoder.head_size", &DecoderSizes::headSize,
     "caches of heads of {0} numbers"},
    {"model.decoder.num_attention_heads", &DecoderSizes::heads,
     "attention of {0} heads"}};

static void readSizes(const Json &model, const Json &decoder,
                      GenaiConfig &config, FirstError &error) {
  for (const Size &size : kSizes) {
    StringRef place = size.place;
    bool isInside = place.starts_with(kDecoder);
    const Json *found =
        memberOf(isInside ? decoder : model,
                 place.substr(isInside ? kDecoder.size() : 6).data());
    if (!found)
      continue;
    if (!found->is_number_unsigned() || found->get<uint64_t>() > INT32_MAX)
      return error.reportAt(place, "must be a number");
    config.sizes.*size.size = found->get<int64_t>();
  }
  for (auto [part, key, name] :
       {std::tuple("inputs", "past_key_names", &config.names.keys),
        std::tuple("outputs", "logits", &config.names.logits)})
    if (const Json *names = memberOf(decoder, part))
      if (const Json *given = memberOf(*names, key);
          given && given->is_string())
        *name = given->get<std::string>();
}

llvm::Error frit::checkSizes(const GenaiConfig &config, StringRef file) {
  DecoderSizes found = findDecoderSizes(file, config.names);
  for (const Size &size : kSizes) {
    std::optional<int64_t> said = config.sizes.*size.size,
                           is = found.*size.size;
    if (!said || !is || *said == *is)
      continue;
    llvm::SmallString<128> path(llvm::sys::path::parent_path(config.file));
    llvm::sys::path::append(path, "genai_config.json");
    FirstError error;
    error.reportAt(size.place, "is " + llvm::Twine(*said) + ", and '" +
                                   llvm::sys::path::filename(config.file) +
                                   "' has " +
                                   llvm::formatv(size.counts, *is).str() +
                                   ": one of them is of another model");
    return error.within(path);
  }
  return llvm::Error::success();
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
  readSizes(*model, *decoder, config, error);
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
