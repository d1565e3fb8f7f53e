//===- GroupQuery.cpp - ONNX Runtime's attention with caches --------------===//
//
//   %at = seqlens_k + 1 - tokens: entries of the caches before the call
//   %keys = nn.update %past_key, %key, %at {axis = 2}
//   %values = nn.update %past_value, %value, %at {axis = 2}
//   %y = nn.attention %query, %keys, %values, %ranges
//
// The caches have a fixed number of entries, as where past and present share
// memory, or as many as total_sequence_length says if that is constant.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/ops/AttentionParts.h"
#include "compiler/onnx/reader/Hooks.h"
#include "dialects/nn/Fold.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

namespace {
/// The operator's inputs.
enum GroupQueryInput : size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotal,
  kCosines,
  kSines,
  kPositions,
  kBias,
  kSink
};

/// One GroupQueryAttention. Queries, keys and values are
/// batch×tokens×heads×size until they are rotated, then
/// batch×heads×tokens×size.
class GroupQuery {
public:
  explicit GroupQuery(Node &node)
      : node(node), q{node, {}}, k{node, {}}, v{node, {}}, before{node, {}},
        positions{node, {}} {}

  Results build();

private:
  bool readHeads();
  bool readSizes();
  bool readLengths();
  bool rotate();
  Expr extend(size_t input, Expr rows);
  Expr ranges();
  Expr attend(Expr keys, Expr values);
  Expr addBias(Expr scores);
  Expr weigh(Expr scores);
  Expr part(Expr x, int64_t first, int64_t count);

  Node &node;
  int64_t heads = 0, groups = 0, size = 0, window = -1;
  double cap = 0, scale = 0;
  bool isSmooth = false;
  int64_t batch = 1, tokens = 1, capacity = 1;
  Expr q, k, v;
  Expr before;    ///< entries before the call: batch, i32
  Expr positions; ///< of the tokens in the caches: batch×tokens, i32
};
} // namespace

/// Returns `count` heads of the last dimension, from head `first` on.
Expr GroupQuery::part(Expr x, int64_t first, int64_t count) {
  return x.slice(2, first * size, count * size)
      .reshape({batch, tokens, count, size});
}

/// Reads attributes. False after errors.
bool GroupQuery::readHeads() {
  heads = node.integer("num_heads", 0);
  groups = node.integer("kv_num_heads", 0);
  window = node.integer("local_window_size", -1);
  cap = node.real("softcap", 0);
  scale = node.real("scale", 0);
  isSmooth = node.integer("smooth_softmax", 0) > 0;
  if (node.integer("qk_output", 0) != 0)
    node.error() << "qk_output is not supported";
  for (StringRef name : {"k_quant_type", "v_quant_type"})
    if (node.string(name, "NONE") != "NONE")
      node.error() << name << " is not supported: caches are not quantized";
  node.ignore("kv_cache_bit_width");
  // Such caches forget what no query sees any more. States keep all entries,
  // which windows hide.
  if (node.integer("sliding_window_cache", 0) && !node.import().positions)
    node.error() << "sliding_window_cache needs caches that are kept between "
                    "calls: --context=NUMBER";
  if (heads < 1 || groups < 1 || heads % groups)
    node.error() << heads << " heads of queries cannot share " << groups
                 << " of keys";
  return !node.failed;
}

/// Splits queries, keys and values into heads. False after errors.
bool GroupQuery::readSizes() {
  Expr query = input(node, kQuery);
  if (!query)
    return false;
  bool isPacked = !node.has(kKey);
  int64_t all = isPacked ? heads + 2 * groups : heads;
  SmallVector<int64_t> shape = query.shape();
  if (shape.size() != 3 || shape[1] < 1 || shape[2] < 1 || shape[2] % all) {
    node.error() << nn::shapeText(shape) << " has no " << all << " heads"
                 << (isPacked ? " of queries, keys and values" : "");
    return false;
  }
  batch = shape[0];
  tokens = shape[1];
  size = shape[2] / all;
  q = part(query, 0, heads);
  if (isPacked) {
    k = part(query, heads, groups);
    v = part(query, heads + groups, groups);
    return !node.failed;
  }
  k = input(node, kKey);
  v = input(node, kValue);
  for (Expr *x : {&k, &v}) {
    SmallVector<int64_t> wanted{batch, tokens, groups * size};
    if (*x && x->shape() != wanted)
      node.error() << "keys and values have shape " << nn::shapeText(wanted)
                   << ", not " << nn::shapeText(x->shape());
    if (!node.failed)
      *x = part(*x, 0, groups);
  }
  return !node.failed;
}

/// Finds how many entries the caches have, and where the tokens go. False after
/// errors.
bool GroupQuery::readLengths() {
  Expr lengths = input(node, kLengths), total = input(node, kTotal);
  if (!lengths || !total)
    return false;
  int64_t past = 0;
  if (node.has(kPastKey) != node.has(kPastValue))
    node.error() << "has one of past_key and past_value, but needs both";
  for (size_t i : {kPastKey, kPastValue}) {
    if (node.failed || !node.has(i))
      continue;
    SmallVector<int64_t> shape = sizes(node.input(i));
    past = i == kPastKey && shape.size() == 4 ? shape[2] : past;
    SmallVector<int64_t> wanted{batch, groups, past, size};
    if (shape != wanted)
      node.error() << "caches have shape " << nn::shapeText(wanted) << ", not "
                   << nn::shapeText(shape);
  }
  if (product(lengths.shape()) != batch)
    node.error() << "seqlens_k has shape " << nn::shapeText(lengths.shape())
                 << " for a batch of " << batch;
  if (product(total.shape()) != 1)
    node.error() << "total_sequence_length is no scalar";
  if (node.failed)
    return false;

  Type i32 = node.builder().getI32Type();
  std::optional<int64_t> known;
  if (DenseElementsAttr value = nn::constantValue(total, 1))
    known = (*value.getValues<APInt>().begin()).getSExtValue();
  capacity = std::max({past, tokens, known.value_or(0)});
  if (capacity > std::numeric_limits<int32_t>::max()) {
    node.error() << "caches have at most 2147483647 entries, not " << capacity;
    return false;
  }
  // Calls by --context have a mask as long as the caches, filled or not.
  bool isFirst =
      known ? *known == tokens && !node.import().positions : past < tokens;
  node.checkNumbers(lengths, known && !isFirst ? tokens - 1 : 0, capacity - 1,
                    "says 1 less than the entries in use, of " +
                        Twine(capacity));
  if (!known)
    node.checkNumbers(total, tokens, capacity,
                      "has " + Twine(tokens) + " new tokens and caches of " +
                          Twine(capacity) + " entries");
  Expr zero = filled(node, i32, {batch}, 0);
  before = zero;
  if (!isFirst) {
    before =
        lengths.to(i32).reshape({batch}) + (1 - static_cast<double>(tokens));
    before = before.max(before.number(0));
    // The first call may have fewer tokens in a sequence than the others.
    if (!known && tokens > 1) {
      Expr first = total.to(i32).reshape({1}).equals(
          filled(node, i32, {1}, static_cast<double>(tokens)));
      before = first.select(zero, before);
    }
  }
  positions = before.reshape({batch, 1}) + iota(node, i32, {1, tokens}, 1);
  return !node.failed && positions;
}

/// Rotates queries and keys by the tables of cosines and sines, and transposes
/// to heads. False after errors.
bool GroupQuery::rotate() {
  bool rotates = node.integer("do_rotary", 0);
  bool isInterleaved = node.integer("rotary_interleaved", 0);
  if (rotates) {
    Expr cosine = input(node, kCosines), sine = input(node, kSines);
    if (!cosine || !sine)
      return false;
    SmallVector<int64_t> shape = cosine.shape();
    if (shape.size() != 2 || shape != sine.shape() || shape[0] < 1 ||
        2 * shape[1] > size) {
      node.error() << "caches of angles of shapes " << nn::shapeText(shape)
                   << " and " << nn::shapeText(sine.shape())
                   << " do not fit heads of " << size;
      return false;
    }
    // Tokens that do not count may lie beyond the tables.
    Expr rows = positions.min(positions.number(shape[0] - 1));
    if (node.has(kPositions)) {
      rows = input(node, kPositions);
      SmallVector<int64_t> wanted{batch, tokens};
      if (rows && rows.shape() != wanted)
        node.error() << "position_ids have shape " << nn::shapeText(wanted)
                     << ", not " << nn::shapeText(rows.shape());
      node.checkNumbers(rows, 0, shape[0] - 1,
                        "has angles of " + Twine(shape[0]) + " positions");
    }
    if (node.failed)
      return false;
    for (Expr *table : {&cosine, &sine})
      *table = table->gather(rows, 0).reshape({batch, tokens, 1, shape[1]});
    q = rotateHeads(q, cosine, sine, isInterleaved);
    k = rotateHeads(k, cosine, sine, isInterleaved);
  }
  for (Expr *x : {&q, &k, &v})
    *x = x->transpose({0, 2, 1, 3});
  return !node.failed;
}

/// Builds a cache with the new rows in it.
Expr GroupQuery::extend(size_t i, Expr rows) {
  if (!node.has(i))
    return rows.pad(2, 0, capacity - tokens);
  Expr past = input(node, i);
  past = past.pad(2, 0, capacity - past.size(2), past.number(0));
  return past.apply<nn::UpdateOp>(
      {rows, before}, node.named("axis", node.builder().getI64IntegerAttr(2)));
}

/// Builds the range of keys that each query sees: up to its own position, and
/// with a window only the last ones.
Expr GroupQuery::ranges() {
  Expr end = positions + 1.0;
  end = end.min(end.number(capacity));
  Expr start = filled(node, end.element(), end.shape(), 0);
  if (window > 0 && window < capacity)
    start = end - static_cast<double>(window);
  return keyRanges(start, end, capacity);
}

/// Adds attention_bias, which may have fewer keys than the caches.
Expr GroupQuery::addBias(Expr scores) {
  Expr bias = input(node, kBias);
  SmallVector<int64_t> shape = bias.shape();
  bool fits = shape.size() == 4 && (shape[0] == 1 || shape[0] == batch) &&
              (shape[1] == 1 || shape[1] == heads) && shape[2] == tokens;
  if (!fits) {
    node.error() << "attention_bias of shape " << nn::shapeText(shape)
                 << " does not fit scores of shape "
                 << nn::shapeText(scores.shape());
    return scores;
  }
  bias = bias.slice(3, 0, std::min(shape[3], capacity)).to(scores.element());
  return scores + bias.pad(3, 0, std::max<int64_t>(capacity - shape[3], 0),
                           bias.number(0));
}

/// Builds the softmax of masked scores. A sink is one more score for each head,
/// whose weight nothing gets.
Expr GroupQuery::weigh(Expr scores) {
  Expr sink = {node, {}};
  if (node.has(kSink)) {
    sink = input(node, kSink).to(scores.element());
    if (product(sink.shape()) != heads) {
      node.error() << "head_sink of shape " << nn::shapeText(sink.shape())
                   << " is not for " << heads << " heads";
      return scores;
    }
    sink = sink.reshape({1, heads, 1, 1}).expand({batch, heads, tokens, 1});
  } else if (isSmooth) {
    sink = filled(node, scores.element(), {batch, heads, tokens, 1}, 0);
  }
  if (sink) {
    Value both[] = {scores, sink};
    scores = {node, node.concat(both, 3)};
  }
  return scores.apply<nn::SoftmaxOp>({}, node.namedSigned("axis", -1))
      .slice(3, 0, capacity);
}

Expr GroupQuery::attend(Expr keys, Expr values) {
  double factor = scale ? scale : 1 / std::sqrt(static_cast<double>(size));
  if (!cap && !isSmooth && !node.has(kBias) && !node.has(kSink))
    return attendToRanges(q, keys, values, ranges(), factor);
  // nn.attention has no cap, and no bias beside ranges. Queries that share keys
  // become rows of one product.
  int64_t rows = heads / groups * tokens;
  auto transposed = node.named("transpose_b", node.builder().getUnitAttr());
  Expr scores = q.reshape({batch, groups, rows, size})
                    .apply<nn::MatmulOp>({keys}, transposed);
  scores = scores.reshape({batch, heads, tokens, capacity})
               .to(node.builder().getF32Type()) *
           factor;
  if (cap)
    scores = (scores / cap).apply<nn::TanhOp>() * cap;
  if (node.has(kBias))
    scores = addBias(scores);
  auto count = node.named("keys", node.builder().getI64IntegerAttr(capacity));
  Expr seen = ranges().apply<nn::RangeMaskOp>({}, count);
  Expr never = scores.number(-std::numeric_limits<double>::infinity());
  Expr weights = weigh(seen.select(scores, never)).to(values.element());
  return weights.reshape({batch, groups, rows, capacity})
      .matmul(values)
      .reshape({batch, heads, tokens, size});
}

Results GroupQuery::build() {
  if (!readHeads() || !readSizes() || !readLengths() || !rotate())
    return {};
  Expr keys = extend(kPastKey, k), values = extend(kPastValue, v);
  if (!keys || !values)
    return {};
  return {joinHeads(attend(keys, values)), keys, values, Value()};
}

static Results groupQueryAttention(Node &node) {
  return GroupQuery(node).build();
}

ArrayRef<Hook> frit::importer::groupQueryHooks() {
  static constexpr Hook hooks[] = {
      {"com.microsoft::GroupQueryAttention", 1, 7, 12, groupQueryAttention},
  };
  return hooks;
}
