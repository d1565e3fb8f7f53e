//===- Layers.h - The layers of a decoder as nn operators -----------------===//

#ifndef FRIT_COMPILER_DECODER_LAYERS_H
#define FRIT_COMPILER_DECODER_LAYERS_H

#include "compiler/decoder/Rotary.h"
#include "compiler/decoder/Weights.h"
#include "dialects/nn/operators/Quantized.h"

namespace frit::decoder {

/// The sizes of a function, and the tokens that a call extends sequences by.
struct Tokens {
  int64_t batch, queries; ///< queries: tokens of each sequence
  int64_t context;        ///< tokens that caches hold
  mlir::Type element;     ///< of activations and caches
  /// The tables of each of DecoderConfig::rotaries.
  llvm::ArrayRef<RotaryAttrs> tables;
  mlir::Value length;    ///< batch: tokens in the caches, i32
  mlir::Value positions; ///< batch × queries, i32; null if `isEncoder`
  /// Tokens or places of the source, batch, i32; null: all places count.
  mlir::Value sourceLength = {};
  bool isEncoder = false; ///< builds the encoder's layers
  int64_t loraRank = 0;   ///< of each product's adapter; 0: there are none
  /// Adds a matrix of an adapter by name.
  std::function<mlir::Value(const llvm::Twine &name,
                            llvm::ArrayRef<int64_t> shape)>
      addAdapter = {};
};

/// Keys and values of a layer, batch×groups×context×headSize each. With a code
/// they are CodedRows.
struct Cache {
  mlir::Value keys, values;
  mlir::Value keyScales = {}, valueScales = {};
  std::optional<nn::Code> code = {};
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
  /// Builds a decoder's layer. Appends to `cache`. `source` is what an encoder
  /// has read, null if there is none.
  mlir::Value layer(mlir::Value x, int64_t index, Cache &cache,
                    const Cache *source = nullptr);
  /// Builds an encoder's layer.
  mlir::Value encoderLayer(mlir::Value x, int64_t index);
  /// Builds what layers attend to of a sound, batch×bins×frames.
  mlir::Value embedSound(mlir::Value features);
  /// Builds a decoder layer's keys and values of what its encoder has read.
  Cache sourceCache(mlir::Value encoded, int64_t index);
  /// Builds the norm after the last layer.
  mlir::Value lastNorm(mlir::Value x);
  /// Builds the logits of rows × width: rows × vocabulary, f32.
  mlir::Value logits(mlir::Value x);

  bool hasFailed = false;

private:
  void name(const llvm::Twine &node);
  /// Returns the tensor's id in this part of the model.
  TensorId ownId(const TensorId &id) const;
  mlir::Value weight(const TensorId &id, llvm::ArrayRef<int64_t> shape,
                     mlir::Type element);
  mlir::Value product(mlir::Value x, const TensorId &id, int64_t outputs,
                      bool hasBias);
  mlir::Value multiply(mlir::Value x, const TensorId &id, int64_t outputs,
                       bool inputsFirst);
  mlir::Value adapted(mlir::Value x, const TensorId &id, int64_t outputs);
  mlir::Value norm(mlir::Value x, const TensorId &id);
  mlir::Value columns(mlir::Value x, int64_t first, int64_t count);
  mlir::Value scaled(mlir::Value x, double factor);
  mlir::Value capped(mlir::Value x, double cap);
  mlir::Value activate(mlir::Value x);

  /// Returns the name of a layer's operators.
  std::string nodeOf(int64_t index) const {
    return (tokens.isEncoder ? "encoder.layers." : "layers.") +
           std::to_string(index);
  }
  mlir::Value branch(mlir::Value x, int64_t index, Part before, Part after,
                     llvm::function_ref<mlir::Value(mlir::Value)> compute);
  mlir::Value attention(mlir::Value x, int64_t index, Cache *cache);
  mlir::Value attendSource(mlir::Value x, int64_t index, const Cache &source);
  mlir::Value feedForward(mlir::Value x, int64_t index);
  /// Splits queries or keys into heads, normalises and rotates them:
  /// batch×heads×queries×size.
  mlir::Value append(mlir::Value rows, mlir::Value &held, mlir::Value &scales,
                     std::optional<nn::Code> code);
  mlir::Value heads(mlir::Value x, int64_t index, Part norm, int64_t count);
  mlir::Value attend(mlir::Value q, const Cache &cache, mlir::Value seen,
                     int64_t index);
  mlir::Value attendCapped(mlir::Value q, const Cache &cache,
                           mlir::Value ranges, double scale);
  mlir::Value ranges(int64_t window);
  mlir::Value sourceRanges();
  mlir::Value positionBias(mlir::Value seen, int64_t keys);
  const RotaryTables &rotaryRows(int rotary);
  mlir::Value gatherRows(mlir::ElementsAttr table);

  const DecoderConfig &config;
  DecoderWeights &weights;
  const Tokens &tokens;
  nn::NNBuilder &b;
  mlir::Location file;
  mlir::Value embedding;              ///< the matrix
  mlir::Value knownSource, knownBias; ///< null: not yet built
  std::vector<std::pair<int64_t, mlir::Value>> knownRanges; ///< by window
  std::vector<RotaryTables> knownRotaries; ///< null values: not yet built
};

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_LAYERS_H
