//===- Decoder.h - Decoder language models from files ---------------------===//

#ifndef FRIT_COMPILER_DECODER_DECODER_H
#define FRIT_COMPILER_DECODER_DECODER_H

#include "compiler/decoder/Build.h"
#include "compiler/import/Import.h"

namespace frit::decoder {

/// What a command line asks of a decoder.
struct DecoderOptions {
  int64_t batch = 1;
  /// Tokens that caches hold; by default what the model is for, up to 4096.
  std::optional<int64_t> context;
  /// f32, f16 or bf16; "": that of the model.
  std::string type;
  /// Tokens of a source that caches hold; by default what the model is for.
  std::optional<int64_t> source;
  /// Tokens of a call of prefill, ascending; those above the context are cut.
  std::vector<int64_t> chunks = {1, 16, 128, 512};
  /// Tokens of a call of verify, at least 2; none: there is no such function.
  std::optional<int64_t> verify;
  /// What caches of sequences hold: int8 or fp8; "": numbers of the type.
  std::string cache;
  /// Most rank of adapters; 0: the functions take none.
  int64_t loraRank = 0;
};

/// A model that has been read. The weights refer to the configuration.
struct Decoder {
  DecoderConfig config;
  std::unique_ptr<DecoderWeights> weights;
};

/// Returns whether `path` is a folder with a configuration and weights as
/// Hugging Face has them: config.json and model.safetensors, or the index of
/// several such files.
bool isDecoderFolder(llvm::StringRef path);

/// Reads such a folder. Null after errors. The files stay mapped as long as the
/// context lives; `options` is called with each.
std::unique_ptr<Decoder> readFolder(llvm::StringRef path,
                                    const ImportOptions &options,
                                    mlir::MLIRContext &context);

/// Returns the sizes that `options` give a model. None after an error at
/// `loc`: the context exceeds the model's positions. A context that the model
/// was not trained for is a warning.
std::optional<DecoderSizes> chooseSizes(const DecoderConfig &config,
                                        const DecoderOptions &options,
                                        mlir::Location loc);

/// Bytes of the states of a language model.
struct StateBytes {
  int64_t batch, context; ///< sequences, and tokens of each
  int64_t caches;
  int64_t places = 0, source = 0; ///< of the source; 0: there is none
  int64_t adapters = 0;
};

/// Returns a line about the memory that weights, caches and adapters take.
std::string describeMemory(const StateBytes &states, int64_t weightBytes);
std::string describeMemory(const DecoderConfig &config,
                           const DecoderSizes &sizes, int64_t weightBytes,
                           int64_t adapterBytes);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_DECODER_H
