//===- Layers.h - The layers of a decoder as nn operators -----------------===//

#ifndef FRIT_COMPILER_DECODER_LAYERS_H
#define FRIT_COMPILER_DECODER_LAYERS_H

#include "compiler/decoder/Rotary.h"
#include "compiler/decoder/Weights.h"

namespace frit::decoder {

/// The sizes of a function, and the tokens that a call extends sequences by.
struct Tokens {
  int64_t batch, queries; ///< queries: tokens of each sequence
  int64_t context;        ///< tokens that caches hold
  mlir::Type element;     ///< of activations and caches
  /// The tables of each of DecoderConfig::rotaries.
  llvm::ArrayRef<RotaryAttrs> tables;
  mlir::Value length;    ///< batch: tokens in the caches, i32
  mlir::Value positions; ///< batch × queries, i32
};

/// Keys and values of a layer, batch×groups×context×headSize each.
struct Cache {
  mlir::Value keys, values;
};

/// Builds the parts of a decoder. Activations are batch×queries×width. After an
/// error `hasFailed` is true, and values are placeholders.
class LayerBuilder {
public:
  /// All arguments must outlive this. Operators are located in `file`.
  LayerBuilder(const DecoderConfig &config, DecoderWeights &weights,
               const Tokens &tokens, nn::NNBuilder &b, mlir::Location file)
      : config(config), weights(weights), tokens(tokens), b(b), file(file) {}

  /// Builds the embedding of token ids, batch×queries.
  mlir::Value embed(mlir::Value ids);
  /// Builds a layer. Appends to `cache`.
  mlir::Value layer(mlir::Value x, int64_t index, Cache &cache);
  /// Builds the logits of rows × width: rows × vocabulary, f32.
  mlir::Value logits(mlir::Value x);

  bool hasFailed = false;

private:
  void name(const llvm::Twine &node);
  mlir::Value weight(const TensorId &id, llvm::ArrayRef<int64_t> shape,
                     mlir::Type element);
  mlir::Value product(mlir::Value x, const TensorId &id, int64_t outputs,
                      bool hasBias);
  mlir::Value norm(mlir::Value x, const TensorId &id);
  mlir::Value columns(mlir::Value x, int64_t first, int64_t count);
  mlir::Value scaled(mlir::Value x, double factor);
  mlir::Value capped(mlir::Value x, double cap);
  mlir::Value activate(mlir::Value x);

  mlir::Value attention(mlir::Value x, int64_t index, Cache &cache);
  mlir::Value feedForward(mlir::Value x, int64_t index);
  /// Splits queries or keys into heads, normalises and rotates them:
  /// batch×heads×queries×size.
  mlir::Value heads(mlir::Value x, int64_t index, Part norm, int64_t count);
  mlir::Value attend(mlir::Value q, const Cache &cache, int64_t index);
  mlir::Value attendCapped(mlir::Value q, const Cache &cache,
                           mlir::Value ranges, double scale);
  mlir::Value ranges(int64_t window);
  const RotaryTables &rotaryRows(int rotary);
  mlir::Value gatherRows(mlir::ElementsAttr table);

  const DecoderConfig &config;
  DecoderWeights &weights;
  const Tokens &tokens;
  nn::NNBuilder &b;
  mlir::Location file;
  mlir::Value embedding;                                    ///< the matrix
  std::vector<std::pair<int64_t, mlir::Value>> knownRanges; ///< by window
  std::vector<RotaryTables> knownRotaries; ///< null values: not yet built
};

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_LAYERS_H
