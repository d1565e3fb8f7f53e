//===- PairConfig.cpp - Sizes of a model in files of ONNX -----------------===//

#include "compiler/decoder/caches/PairConfig.h"

#include "compiler/decoder/JsonFields.h"
#include "compiler/json/Parse.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

/// Tokens of models that have no table of positions, and of longer ones.
static constexpr int64_t kDefaultPositions = 512, kMostPositions = 4096;

FailureOr<PairConfig> decoder::readPairConfig(StringRef path, Location loc) {
  PairConfig config;
  if (!llvm::sys::fs::is_regular_file(path))
    return config;
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return emitError(loc) << "cannot be read: " << file.getError().message();
  JsonFields::Json object = importer::parseJson((*file)->getBuffer());
  JsonFields fields(object, loc);
  if (!object.is_object())
    return emitError(loc) << (object.is_discarded()
                                  ? importer::whyDiscarded((*file)->getBuffer())
                                  : std::string("is no object"));
  StringRef key = fields.choose(
      {"max_target_positions", "n_positions", "max_position_embeddings"});
  config.positions =
      std::min(fields.size(key, kDefaultPositions), kMostPositions);
  if (fields.has("num_mel_bins")) {
    config.bins = fields.size("num_mel_bins");
    config.frames = fields.size("max_source_positions");
  }
  if (!fields.isGood)
    return failure();
  return config;
}
