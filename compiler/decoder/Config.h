//===- Config.h - What a decoder language model is made of ----------------===//
//
// Readers of formats fill it in; Build.h writes the model. A family of models
// is a combination of switches.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_DECODER_CONFIG_H
#define FRIT_COMPILER_DECODER_CONFIG_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace frit::decoder {

/// How frequencies of rotary positions are changed for longer contexts.
enum class RotaryKind { plain, linear, dynamic, llama3, yarn, longrope };

/// Rotary positions (Su et al., "RoFormer", arXiv:2104.09864). Fields without a
/// comment have the names and meaning of transformers' rope parameters.
struct RotaryConfig {
  RotaryKind kind = RotaryKind::plain;
  double theta = 10000;
  int64_t size = 0; ///< elements of a head that rotate, from the first on; even
  double factor = 1;
  double lowFrequencyFactor = 1, highFrequencyFactor = 4; ///< llama3
  double betaFast = 32, betaSlow = 1;                     ///< yarn
  double mscale = 0, mscaleAllDim = 0;                    ///< yarn; 0: none
  bool truncate = true;                                   ///< yarn
  /// Multiplies cosines and sines; 0: as `kind` computes it.
  double attentionFactor = 0;
  int64_t originalPositions = 0; ///< the context that the model was trained for
  std::vector<double> shortFactors, longFactors; ///< longrope: size / 2 each
};

enum class NormKind { rms, layer };
/// Norms of queries and keys: none, of each head, or of all heads together.
enum class QueryNorm { none, head, whole };
enum class Activation {
  silu,
  gelu,
  geluTanh,
  quickGelu, ///< x · sigmoid(1.702 · x)
  relu,
  reluSquared,
  tanh
};

/// The encoder of a model that reads a source: a text or a sound. Switches and
/// sizes that are not here are the decoder's.
struct EncoderConfig {
  int64_t layers = 0, heads = 0, feedForward = 0;
  int64_t bins = 0; ///< of each frame of a sound's spectrum; 0: reads tokens
  /// Places of the source that the decoder attends to. A sound has all of them,
  /// one for two frames; of a text it is what is chosen unless the user does.
  int64_t places = 0;
};

struct LayerConfig {
  int64_t window = 0; ///< keys that a query sees, its own included; 0: all
  int rotary = 0;     ///< index into DecoderConfig::rotaries; -1: none
};

/// Sizes count elements. A layer is
///
///   x += residualScale · after(attention(before(x)))
///   x += residualScale · after(feedForward(before(x)))
///
/// where `before` and `after` are norms, if there are such.
struct DecoderConfig {
  std::string family; ///< "llama"
  int64_t vocabulary = 0, width = 0, feedForward = 0;
  int64_t heads = 0, groups = 0; ///< of queries; of keys and values
  int64_t headSize = 0;
  int64_t maxPositions = 0; ///< the longest context that the model is for
  std::string type; ///< of weights: f32, f16 or bf16; "": that of the weights
  std::vector<LayerConfig> layers;
  std::vector<RotaryConfig> rotaries;

  NormKind norm = NormKind::rms;
  double epsilon = 1e-6;
  bool addsOneToNorm = false; ///< scales are stored minus 1
  bool normsBefore = true, normsAfter = false;
  QueryNorm queryNorm = QueryNorm::none;

  bool queryBias = false; ///< of queries, keys and values
  bool keyBias = true;    ///< with queryBias: keys have one
  bool outputBias = false, feedForwardBias = false;
  bool joinsQueries = false; ///< one matrix for queries, keys and values
  bool joinsGate = false;    ///< one matrix for the gate and what it gates
  bool hasGate = true;       ///< down(f(gate(x)) · up(x)), else down(f(up(x)))
  bool storesInputsFirst = false; ///< matrices are inputs × outputs
  Activation activation = Activation::silu;

  bool learnsPositions = false; ///< a row for each position is added
  bool tiesHead = false;        ///< the head is the embedding
  double embeddingScale = 1, attentionScale = 1, residualScale = 1;
  double logitScale = 1;
  bool scalesByLayer = false; ///< scores are divided by layer + 1
  /// Scores get a number for each head and class of distances (Raffel et al.,
  /// arXiv:1910.10683); 0: none. Distances from `relativeDistance` on are
  /// alike.
  int64_t relativeBuckets = 0, relativeDistance = 128;
  std::optional<EncoderConfig> encoder;
  double scoreCap = 0, logitCap = 0; ///< cap · tanh(x / cap); 0: none
};

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_CONFIG_H
