//===- Build.cpp - Decoder language models as nn modules ------------------===//
//
//   nn.state @length : tensor<1xi32> [...] {role = "length"}
//   nn.state @tokens : tensor<1x4097xi32> [...] {role = "tokens"}
//   nn.state @cache.0.key : tensor<1x8x4096x64xbf16> [...] {role = "cache"}
//   ...
//   func.func @main(%tokens: tensor<1x16xi32> {nn.name = "tokens"},
//                   %count: tensor<1xi32> {nn.name = "count"},
//                   %length: tensor<1xi32> {nn.state = @length}, ...)
//       -> (tensor<1x32000xf32> {nn.name = "logits"},
//           tensor<1xi32> {nn.state = @length}, ...)
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/Build.h"

#include "compiler/decoder/Encode.h"
#include "compiler/decoder/FunctionBuilder.h"
#include "compiler/decoder/Verify.h"
#include "compiler/import/Elements.h"
#include "dialects/nn/operators/Places.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

namespace {
/// Builds a function that extends sequences.
class StepBuilder : FunctionBuilder {
public:
  StepBuilder(const DecoderConfig &config, DecoderWeights &weights,
              const DecoderSizes &sizes, frit_function_role role, int64_t chunk)
      : FunctionBuilder(config, weights, sizes, chunk), role(role) {}

  OwningOpRef<ModuleOp> run();

private:
  void addInputs();
  void addStates();
  void placeTokens();
  Value buildLayers(LayerBuilder &layers, size_t source);
  void extend(Value logits);
  Value lastRows(Value x);
  bool takesTokens() const { return role != FRIT_FUNCTION_DECODE; }

  frit_function_role role;
  /// The tokens of the call, and how many of them count; the latter is null if
  /// the token is that of the state.
  Value ids, count;
  /// Whether any token counts, and a row of the state that does not exist.
  Value any, beyond;
};
} // namespace

/// Builds the row of the last token that counts: batch × width.
Value StepBuilder::lastRows(Value x) {
  Value flat = b.reshape(x, {sizes.batch * tokens.queries, config.width});
  if (tokens.queries == 1)
    return flat;
  Value first =
      nn::IotaOp::create(b, b.scalarLike(count, 0),
                         b.scalarLike(count, tokens.queries), sizes.batch, 0);
  Value last = nn::MaxOp::create(b, b.sub(count, b.scalarLike(count, 1)),
                                 b.scalarLike(count, 0));
  return nn::GatherOp::create(b, flat, b.add(first, last), 0);
}

void StepBuilder::addInputs() {
  if (!takesTokens())
    return;
  int64_t chunk = tokens.queries;
  ids = addInput("tokens", {sizes.batch, chunk}, config.vocabulary - 1,
                 "the vocabulary has " + Twine(config.vocabulary) + " tokens");
  count = addInput("count", {sizes.batch}, chunk,
                   "the call has " + Twine(chunk) + " tokens");
}

/// Adds the states: the length, the tokens, and the caches of each layer with
/// their scales.
void StepBuilder::addStates() {
  int64_t batch = sizes.batch, context = sizes.context;
  addState("length", {batch}, b.getI32Type(), FRIT_STATE_LENGTH);
  addState("tokens", {batch, context + 1}, b.getI32Type(), FRIT_STATE_TOKENS);
  SmallVector<int64_t> cache{batch, config.groups, context, config.headSize};
  SmallVector<int64_t> rows(cache);
  rows.back() = 1;
  Type held =
      sizes.cache ? b.getIntegerType(8, /*isSigned=*/false) : sizes.element;
  for (size_t i = 0; i < config.layers.size(); ++i)
    for (StringRef what : {"key", "value"}) {
      std::string name = ("cache." + Twine(i) + "." + what).str();
      addState(name, cache, held, FRIT_STATE_CACHE);
      if (sizes.cache)
        addState(name + ".scales", rows, b.getF32Type(), FRIT_STATE_CACHE);
    }
}

/// Reads the call's tokens from the state, or writes them there, and places
/// them behind those before.
void StepBuilder::placeTokens() {
  Value length = tokens.length = states[0].value;
  // A sequence without tokens that count keeps its next one: rows beyond the
  // state are dropped.
  if (takesTokens()) {
    beyond = b.scalarLike(length, sizes.context + 1);
    any = nn::GreaterOp::create(b, count, b.scalarLike(count, 0));
    states[1].value =
        nn::UpdateOp::create(b, states[1].value, ids,
                             nn::WhereOp::create(b, any, length, beyond), 1);
  } else {
    ids = nn::GatherElementsOp::create(b, states[1].value,
                                       b.reshape(length, {sizes.batch, 1}), 1);
  }
  Value steps =
      nn::IotaOp::create(b, b.scalarLike(length, 0), b.scalarLike(length, 1),
                         ArrayRef<int64_t>{1, tokens.queries}, 1);
  tokens.positions = b.add(b.reshape(length, {sizes.batch, 1}), steps);
}

/// Builds the layers, which extend their caches, and returns their result.
/// `source` is the first state of the source.
Value StepBuilder::buildLayers(LayerBuilder &layers, size_t source) {
  Value x = layers.embed(ids);
  for (size_t i = 0; i < config.layers.size() && !layers.hasFailed; ++i) {
    // Layers may add states, of adapters.
    const size_t each = sizes.cache ? 2 : 1, keys = 2 + 2 * each * i;
    const size_t values = keys + each;
    Cache own{states[keys].value, states[values].value};
    if (sizes.cache)
      own = {own.keys, own.values, states[keys + 1].value,
             states[values + 1].value, sizes.cache};
    Cache read = config.encoder ? sourceOf(source, int64_t(i)) : Cache();
    x = layers.layer(x, int64_t(i), own, config.encoder ? &read : nullptr);
    states[keys].value = own.keys;
    states[values].value = own.values;
    if (sizes.cache) {
      states[keys + 1].value = own.keyScales;
      states[values + 1].value = own.valueScales;
    }
  }
  return x;
}

/// Chooses the next token, writes it behind the others, and adds to the length.
void StepBuilder::extend(Value logits) {
  Value length = tokens.length;
  Value best = b.cast(nn::createPlaceOfMost(b, logits), b.getI32Type());
  Value added = takesTokens() ? count : b.scalarLike(length, 1);
  if (role == FRIT_FUNCTION_VERIFY) {
    int64_t batch = sizes.batch, chunk = tokens.queries;
    logits = b.reshape(logits, {batch, chunk, config.vocabulary});
    Value likeliest = b.reshape(best, {batch, chunk});
    Verified verified = acceptGuesses(b, ids, likeliest, count);
    best = verified.next;
    added = verified.kept;
    outputs = {{"logits", logits}, {"likeliest", likeliest}};
  } else {
    outputs = {{"logits", logits}};
  }
  Value after = b.add(length, added);
  states[0].value =
      nn::UpdateOp::create(b, length, after, /*offset=*/nullptr, /*axis=*/0);
  if (takesTokens())
    after = nn::WhereOp::create(b, any, after, beyond);
  states[1].value = nn::UpdateOp::create(b, states[1].value, best, after, 1);
}

OwningOpRef<ModuleOp> StepBuilder::run() {
  addInputs();
  addStates();
  size_t source = config.encoder ? addSource() : 0;
  placeTokens();
  LayerBuilder layers(config, weights, tokens, b, sizes.located);
  Value x = buildLayers(layers, source);
  b.setLoc(sizes.located);
  if (role == FRIT_FUNCTION_PREFILL)
    x = lastRows(x);
  else
    x = b.reshape(x, {sizes.batch * tokens.queries, config.width});
  Value logits = layers.logits(x);
  if (layers.hasFailed)
    return {};
  b.setLoc(sizes.located);
  extend(logits);
  return finish();
}

OwningOpRef<ModuleOp> decoder::buildFunction(const DecoderConfig &config,
                                             DecoderWeights &weights,
                                             const DecoderSizes &sizes,
                                             frit_function_role role,
                                             int64_t chunk) {
  if (role == FRIT_FUNCTION_ENCODE)
    return buildEncoder(config, weights, sizes, chunk);
  return StepBuilder(config, weights, sizes, role, chunk).run();
}

int64_t decoder::cacheBytes(const DecoderConfig &config,
                            const DecoderSizes &sizes) {
  int64_t row = config.headSize * importer::elementBytes(sizes.element);
  if (sizes.cache) // a code for each element, and an f32 scale
    row = config.headSize + int64_t(sizeof(float));
  return 2 * int64_t(config.layers.size()) * sizes.batch * config.groups *
         sizes.context * row;
}

int64_t decoder::sourceBytes(const DecoderConfig &config,
                             const DecoderSizes &sizes) {
  return 2 * int64_t(config.layers.size()) * sizes.batch * config.heads *
         sizes.places * config.headSize * importer::elementBytes(sizes.element);
}
