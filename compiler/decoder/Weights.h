//===- Weights.h - The tensors of a decoder -------------------------------===//

#ifndef FRIT_COMPILER_DECODER_WEIGHTS_H
#define FRIT_COMPILER_DECODER_WEIGHTS_H

#include "dialects/nn/NN.h"

namespace frit::decoder {

enum class Part {
  embedding,
  positions,
  head,
  lastNorm,
  // Of a layer. Norms come before and after attention and feed-forward.
  attentionNorm,
  afterAttentionNorm,
  feedForwardNorm,
  afterFeedForwardNorm,
  query,
  key,
  value,
  queryKeyValue, ///< the rows of queries, then keys, then values
  queryNorm,
  keyNorm,
  output,
  gate,
  up,
  gateUp, ///< the rows of the gate, then of what it gates
  down,
  // Of a decoder's layer that attends to what its encoder has read.
  crossNorm,
  crossQuery,
  crossKey,
  crossValue,
  crossOutput,
  relativeBias, ///< buckets × heads, of layer 0
  // Of an encoder: convolutions over the frames of a sound.
  firstConv,
  secondConv,
};

struct TensorId {
  Part part;
  int64_t layer = -1; ///< -1 for parts outside of layers
  bool isBias = false;
  bool isEncoder = false; ///< of the encoder; the embedding is the decoder's
};

/// The tensors of a file or folder. They last as long as the context in which
/// they were read.
class DecoderWeights {
public:
  virtual ~DecoderWeights() = default;

  /// Builds a tensor of `shape` and `element`, converting it if it is stored in
  /// another type. Matrices are outputs × inputs, or inputs × outputs if
  /// DecoderConfig::storesInputsFirst. Null after an error that names the
  /// tensor: it is missing, or of another shape.
  virtual mlir::Value build(nn::NNBuilder &b, const TensorId &id,
                            llvm::ArrayRef<int64_t> shape,
                            mlir::Type element) = 0;

  /// Returns the order of a matrix's inputs, after it has been built: i32, for
  /// each column the input that it multiplies. Null: columns are in order, as
  /// they always are outside of products.
  virtual mlir::ElementsAttr inputOrder(const TensorId &) const { return {}; }

  /// Reports each tensor that no call of `build` has asked for.
  virtual llvm::LogicalResult checkAllRead() = 0;
};

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_WEIGHTS_H
