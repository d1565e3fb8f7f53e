//===- Attention.cpp - Attention of a decoder -----------------------------===//
//
// Queries, keys and values are batch×heads×queries×size. Keys and values go
// into the caches at each sequence's length; queries attend to the caches.
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/CodedRows.h"
#include "compiler/decoder/Layers.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

Value LayerBuilder::heads(Value x, int64_t index, Part part, int64_t count) {
  int64_t size = config.headSize;
  if (config.queryNorm == QueryNorm::whole)
    x = norm(x, {part, index});
  x = b.reshape(x, {tokens.batch, tokens.queries, count, size});
  if (config.queryNorm == QueryNorm::head)
    x = norm(x, {part, index});
  int rotary = config.layers[index].rotary;
  if (rotary >= 0 && !config.rotaries.empty())
    x = rotate(b, x, rotaryRows(rotary));
  return nn::TransposeOp::create(b, x, ArrayRef<int64_t>{0, 2, 1, 3});
}

/// Appends rows to a cache and returns all its rows as numbers.
Value LayerBuilder::append(Value rows, Value &held, Value &scales,
                           std::optional<nn::Code> code) {
  auto update = [&](Value state, Value with) -> Value {
    return nn::UpdateOp::create(b, state, with, tokens.length, 2);
  };
  if (!code)
    return held = update(held, rows);
  CodedRows coded = encodeRows(b, rows, *code);
  held = update(held, coded.codes);
  scales = update(scales, coded.scales);
  return decodeRows(b, {held, scales}, *code, tokens.element);
}

/// Builds attention to the keys of `cache`, to which it appends, or without one
/// to those of the call.
Value LayerBuilder::attention(Value x, int64_t index, Cache *cache) {
  std::string node = nodeOf(index);
  int64_t queries = config.heads * config.headSize;
  int64_t keys = config.groups * config.headSize;
  bool hasBias = config.queryBias;
  Value q, k, v;
  if (config.joinsQueries) {
    name(node + ".query_key_value");
    Value all =
        product(x, {Part::queryKeyValue, index}, queries + 2 * keys, hasBias);
    q = columns(all, 0, queries);
    k = columns(all, queries, keys);
    v = columns(all, queries + keys, keys);
  } else {
    name(node + ".query");
    q = product(x, {Part::query, index}, queries, hasBias);
    name(node + ".key");
    k = product(x, {Part::key, index}, keys, hasBias && config.keyBias);
    name(node + ".value");
    v = product(x, {Part::value, index}, keys, hasBias);
  }
  name(node + ".rotary");
  q = heads(q, index, Part::queryNorm, config.heads);
  k = heads(k, index, Part::keyNorm, config.groups);
  v = b.reshape(v,
                {tokens.batch, tokens.queries, config.groups, config.headSize});
  v = nn::TransposeOp::create(b, v, ArrayRef<int64_t>{0, 2, 1, 3});
  Cache seen{k, v};
  if (cache) {
    name(node + ".cache");
    seen.keys = append(k, cache->keys, cache->keyScales, cache->code);
    seen.values = append(v, cache->values, cache->valueScales, cache->code);
  }
  name(node + ".attention");
  int64_t window = config.layers[index].window;
  Value mask =
      cache ? ranges(window < tokens.context ? window : 0) : sourceRanges();
  if (config.relativeBuckets)
    mask = positionBias(mask, nn::shapeOf(seen.keys)[2]);
  Value y = attend(q, seen, mask, index);
  y = nn::TransposeOp::create(b, y, ArrayRef<int64_t>{0, 2, 1, 3});
  y = b.reshape(y, {tokens.batch, tokens.queries, queries});
  name(node + ".output");
  return product(y, {Part::output, index}, config.width, config.outputBias);
}

Cache LayerBuilder::sourceCache(Value encoded, int64_t index) {
  std::string node = nodeOf(index);
  auto heads = [&](Part part, StringRef what, bool hasBias) -> Value {
    name(node + ".source_" + what);
    Value y = product(encoded, {part, index}, config.heads * config.headSize,
                      hasBias);
    y = b.reshape(y, {tokens.batch, nn::shapeOf(encoded)[1], config.heads,
                      config.headSize});
    return nn::TransposeOp::create(b, y, ArrayRef<int64_t>{0, 2, 1, 3});
  };
  Value keys = heads(Part::crossKey, "key", config.queryBias && config.keyBias);
  return {keys, heads(Part::crossValue, "value", config.queryBias)};
}

/// Builds attention to what the encoder has read.
Value LayerBuilder::attendSource(Value x, int64_t index, const Cache &source) {
  std::string node = nodeOf(index);
  int64_t width = config.heads * config.headSize;
  name(node + ".source_query");
  Value q = product(x, {Part::crossQuery, index}, width, config.queryBias);
  q = b.reshape(q,
                {tokens.batch, tokens.queries, config.heads, config.headSize});
  q = nn::TransposeOp::create(b, q, ArrayRef<int64_t>{0, 2, 1, 3});
  name(node + ".source_attention");
  Value y = attend(q, source, sourceRanges(), index);
  y = nn::TransposeOp::create(b, y, ArrayRef<int64_t>{0, 2, 1, 3});
  y = b.reshape(y, {tokens.batch, tokens.queries, width});
  name(node + ".source_output");
  return product(y, {Part::crossOutput, index}, config.width,
                 config.outputBias);
}

/// Builds attention to the keys that `seen` says: ranges, numbers that are
/// added to the scores, or null for all keys.
Value LayerBuilder::attend(Value q, const Cache &cache, Value seen,
                           int64_t index) {
  double scale = config.attentionScale;
  if (config.scalesByLayer)
    scale /= index + 1;
  if (config.scoreCap)
    return attendCapped(q, cache, seen, scale);
  return nn::AttentionOp::create(b, q, cache.keys, cache.values, seen,
                                 APFloat(float(scale)));
}

/// Builds attention with capped scores, which nn.attention does not have.
/// Queries that share a head of keys become rows of one product.
Value LayerBuilder::attendCapped(Value q, const Cache &cache, Value ranges,
                                 double scale) {
  int64_t groups = config.groups, share = config.heads / groups;
  int64_t rows = tokens.queries, keys = tokens.context;
  q = b.reshape(q, {tokens.batch, groups, share * rows, config.headSize});
  Value scores = nn::MatmulOp::create(b, q, cache.keys, /*transpose_a=*/false,
                                      /*transpose_b=*/true);
  scores = b.cast(scores, b.getF32Type());
  scores = capped(scaled(scores, scale), config.scoreCap);
  scores = b.reshape(scores, {tokens.batch, groups, share, rows, keys});
  Value mask = nn::RangeMaskOp::create(b, ranges, keys);
  mask = b.reshape(mask, {tokens.batch, 1, 1, rows, keys});
  Value never = b.scalarLike(scores, -std::numeric_limits<double>::infinity());
  scores = nn::WhereOp::create(b, mask, scores, never);
  Value weights = nn::SoftmaxOp::create(b, scores, -1);
  weights = b.cast(weights, tokens.element);
  weights = b.reshape(weights, {tokens.batch, groups, share * rows, keys});
  Value y = nn::MatmulOp::create(b, weights, cache.values);
  return b.reshape(y, {tokens.batch, config.heads, rows, config.headSize});
}

/// Builds the ranges of keys that queries see: with a window those of the last
/// `window` positions, else all up to their own. batch×1×queries×2, i32.
Value LayerBuilder::ranges(int64_t window) {
  for (auto &[known, value] : knownRanges)
    if (known == window)
      return value;
  Value position = tokens.positions;
  auto number = [&](int64_t value) { return b.scalarLike(position, value); };
  // Rows that do not count may lie beyond the caches.
  Value end =
      nn::MinOp::create(b, b.add(position, number(1)), number(tokens.context));
  Value start = b.zeros(nn::tensorType(position));
  if (window)
    start = nn::MaxOp::create(b, b.sub(end, number(window)), number(0));
  SmallVector<int64_t> shape{tokens.batch, 1, tokens.queries, 1};
  Value both = nn::ConcatOp::create(
      b, ValueRange{b.reshape(start, shape), b.reshape(end, shape)}, 3);
  knownRanges.push_back({window, both});
  return both;
}

/// Builds the ranges of the places that count in the source; null for all.
Value LayerBuilder::sourceRanges() {
  if (!tokens.sourceLength || knownSource)
    return knownSource;
  SmallVector<int64_t> rows{tokens.batch, 1, tokens.queries, 1};
  Value end = b.reshape(tokens.sourceLength, {tokens.batch, 1, 1, 1});
  end = nn::ExpandOp::create(b, end, rows);
  return knownSource = nn::ConcatOp::create(
             b, ValueRange{b.zeros(nn::tensorType(end)), end}, 3);
}

Value LayerBuilder::gatherRows(ElementsAttr table) {
  Value all = nn::ConstantOp::create(b, table, StringAttr());
  return nn::GatherOp::create(b, all, tokens.positions, 0);
}

/// Returns the rows of the tables at the tokens' positions.
const RotaryTables &LayerBuilder::rotaryRows(int rotary) {
  knownRotaries.resize(config.rotaries.size());
  RotaryTables &known = knownRotaries[rotary];
  const RotaryAttrs &table = tokens.tables[rotary];
  if (!known.cosines)
    known = {gatherRows(table.cosines), gatherRows(table.sines)};
  return known;
}
