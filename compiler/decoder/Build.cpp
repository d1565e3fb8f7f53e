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
  Value lastRows(Value x, Value count);
  bool takesTokens() const { return role != FRIT_FUNCTION_DECODE; }

  frit_function_role role;
};
} // namespace

/// Builds the row of the last token that counts: batch × width.
Value StepBuilder::lastRows(Value x, Value count) {
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

OwningOpRef<ModuleOp> StepBuilder::run() {
  int64_t batch = sizes.batch, context = sizes.context, chunk = tokens.queries;
  Value ids, count;
  if (takesTokens()) {
    ids =
        addInput("tokens", {batch, chunk}, config.vocabulary - 1,
                 "the vocabulary has " + Twine(config.vocabulary) + " tokens");
    count = addInput("count", {batch}, chunk,
                     "the call has " + Twine(chunk) + " tokens");
  }
  Type i32 = b.getI32Type();
  addState("length", {batch}, i32, FRIT_STATE_LENGTH);
  addState("tokens", {batch, context + 1}, i32, FRIT_STATE_TOKENS);
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

  size_t source = config.encoder ? addSource() : 0;

  Value length = tokens.length = states[0].value;
  // A sequence without tokens that count keeps its next one: rows beyond the
  // state are dropped.
  Value any, beyond;
  if (takesTokens()) {
    beyond = b.scalarLike(length, context + 1);
    any = nn::GreaterOp::create(b, count, b.scalarLike(count, 0));
    states[1].value =
        nn::UpdateOp::create(b, states[1].value, ids,
                             nn::WhereOp::create(b, any, length, beyond), 1);
  } else {
    ids = nn::GatherElementsOp::create(b, states[1].value,
                                       b.reshape(length, {batch, 1}), 1);
  }
  Value steps =
      nn::IotaOp::create(b, b.scalarLike(length, 0), b.scalarLike(length, 1),
                         ArrayRef<int64_t>{1, chunk}, 1);
  tokens.positions = b.add(b.reshape(length, {batch, 1}), steps);

  LayerBuilder layers(config, weights, tokens, b, sizes.located);
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
  b.setLoc(sizes.located);
  bool verifies = role == FRIT_FUNCTION_VERIFY;
  if (role == FRIT_FUNCTION_PREFILL)
    x = lastRows(x, count);
  else
    x = b.reshape(x, {batch * chunk, config.width});
  Value logits = layers.logits(x);
  if (layers.hasFailed)
    return {};

  b.setLoc(sizes.located);
  Value best = b.cast(nn::ArgMaxOp::create(b, logits, -1, 1, 0), i32);
  Value added = takesTokens() ? count : b.scalarLike(length, 1);
  if (verifies) {
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
