//===- Encode.cpp - Encoders that a decoder attends to --------------------===//
//
//   nn.state @source.0.key : tensor<1x6x512x64xf32> [...] {role = "source"}
//   func.func @main(%source: tensor<1x128xi32> {nn.name = "source"},
//                   %count: tensor<1xi32> {nn.name = "count"},
//                   %key: tensor<1x6x512x64xf32> {nn.state = @source.0.key}, …)
//       -> (tensor<1x128x384xf32> {nn.name = "encoded"}, …)
//
// Keys and values of all decoder layers are computed here, once for a source.
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/Encode.h"

#include "compiler/decoder/FunctionBuilder.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

/// Returns the configuration of the encoder's layers.
static DecoderConfig encoderConfig(const DecoderConfig &config) {
  DecoderConfig made = config;
  made.layers.assign(config.encoder->layers, {0, -1});
  made.heads = made.groups = config.encoder->heads;
  // A sound's encoder has the decoder's width, divided by its own heads.
  if (config.encoder->bins)
    made.headSize = config.width / made.heads;
  made.feedForward = config.encoder->feedForward;
  made.attentionScale =
      config.relativeBuckets ? 1 : 1 / std::sqrt(double(made.headSize));
  return made;
}

namespace {
class EncoderBuilder : FunctionBuilder {
public:
  using FunctionBuilder::FunctionBuilder;

  OwningOpRef<ModuleOp> run();

private:
  Value encode();
  Value features, ids, count;
};
} // namespace

/// Builds what the encoder makes of the inputs: batch × places × width.
Value EncoderBuilder::encode() {
  DecoderConfig own = encoderConfig(config);
  Tokens source = tokens;
  source.sourceLength = count;
  source.isEncoder = true;
  LayerBuilder layers(own, weights, source, b, sizes.located);
  Value x = features ? layers.embedSound(b.cast(features, sizes.element))
                     : layers.embed(ids);
  for (int64_t i = 0; i < config.encoder->layers && !layers.hasFailed; ++i)
    x = layers.encoderLayer(x, i);
  x = layers.lastNorm(x);
  return layers.hasFailed ? Value() : x;
}

OwningOpRef<ModuleOp> EncoderBuilder::run() {
  int64_t batch = sizes.batch, places = tokens.queries;
  if (config.encoder->bins) {
    features = addInput("features", {batch, config.encoder->bins, 2 * places},
                        b.getF32Type());
  } else {
    ids =
        addInput("source", {batch, places}, config.vocabulary - 1,
                 "the vocabulary has " + Twine(config.vocabulary) + " tokens");
    count = addInput("count", {batch}, places,
                     "the call has " + Twine(places) + " tokens");
  }
  addSource();
  Value encoded = encode();
  if (!encoded)
    return {};

  LayerBuilder layers(config, weights, tokens, b, sizes.located);
  for (size_t i = 0; i < config.layers.size() && !layers.hasFailed; ++i) {
    Cache read = layers.sourceCache(encoded, int64_t(i));
    b.setLoc(sizes.located);
    for (auto [at, value] :
         {std::pair(2 * i, read.keys), std::pair(2 * i + 1, read.values)}) {
      State &state = states[at];
      state.isWritten = true;
      Value first;
      if (places < sizes.places)
        first = b.zeros(RankedTensorType::get({batch}, b.getI32Type()));
      state.value =
          nn::UpdateOp::create(b, state.value, value, first, first ? 2 : 0);
    }
  }
  if (layers.hasFailed)
    return {};
  b.setLoc(sizes.located);
  if (count) {
    State &length = states[2 * config.layers.size()];
    length.isWritten = true;
    length.value = nn::UpdateOp::create(b, length.value, count, Value(), 0);
  }
  outputs = {{"encoded", b.cast(encoded, b.getF32Type())}};
  return finish();
}

OwningOpRef<ModuleOp> decoder::buildEncoder(const DecoderConfig &config,
                                            DecoderWeights &weights,
                                            const DecoderSizes &sizes,
                                            int64_t places) {
  return EncoderBuilder(config, weights, sizes, places).run();
}
