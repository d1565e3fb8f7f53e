//===- Attention.cpp - Scaled dot-product attention -----------------------===//
//
// Vaswani et al., "Attention Is All You Need", arXiv:1706.03762, with the
// grouped heads of Ainslie et al., arXiv:2305.13245. ONNX's operator is
// decomposed to products and a softmax, as most exporters write attention, so
// one pass recognizes both.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/ops/AttentionParts.h"
#include "compiler/onnx/reader/Hooks.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Reshapes batch×sequence×(heads·size) to batch×heads×sequence×size; an
/// attribute has the number of heads.
static Value splitHeads(Node &node, Value x, StringRef headsName) {
  int64_t heads = node.integer(headsName, 0);
  if (!x || rankOf(x) == 4)
    return x;
  auto shape = nn::shapeOf(x);
  if (rankOf(x) != 3 || heads < 1 || shape[2] % heads) {
    node.error() << nn::shapeText(shape) << " has no " << heads << " heads";
    return {};
  }
  return node.transpose(
      node.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}),
      {0, 2, 1, 3});
}

/// Repeats every head of `x` `groups` times, for queries that share it.
static Value repeatHeads(Node &node, Value x, int64_t groups) {
  if (!x || groups == 1)
    return x;
  auto s = nn::shapeOf(x);
  Value apart = node.reshape(x, {s[0], s[1], 1, s[2], s[3]});
  return node.reshape(node.expand(apart, {s[0], s[1], groups, s[2], s[3]}),
                      {s[0], s[1] * groups, s[2], s[3]});
}

/// Repeats keys and values to the number of heads of `q`. False, after an
/// error, if the numbers do not match.
static bool shareHeads(Node &node, Value q, Value &k, Value &v) {
  int64_t heads = nn::shapeOf(q)[1], shared = nn::shapeOf(k)[1];
  if (shared == 0 || heads % shared || nn::shapeOf(v)[1] != shared) {
    node.error() << heads << " heads of queries cannot share " << shared
                 << " of keys";
    return false;
  }
  k = repeatHeads(node, k, heads / shared);
  v = repeatHeads(node, v, heads / shared);
  return k && v;
}

/// Builds q · kᵀ.
static Expr products(Node &node, Value q, Value k) {
  auto transposed = node.named("transpose_b", node.builder().getUnitAttr());
  return {node, node.create<nn::MatmulOp>({q, k}, transposed)};
}

/// Returns the factor of the scores.
static double scaleOf(Node &node, Value q) {
  return node.real("scale",
                   1 / std::sqrt(static_cast<double>(nn::shapeOf(q)[3])));
}

/// Returns the score of masked keys, -inf.
static Expr hidden(Expr scores) {
  return scores.number(-std::numeric_limits<double>::infinity());
}

/// Extends a mask that is shorter than the keys; the others are masked.
static Expr completeMask(Expr mask, int64_t keys) {
  int64_t last = mask.rank() - 1;
  if (!mask || last < 0 || mask.size(last) >= keys)
    return mask;
  bool isBool = mask.element().isInteger(1);
  Expr fill =
      mask.number(isBool ? 0 : -std::numeric_limits<double>::infinity());
  return mask.pad(last, 0, keys - mask.size(last), fill);
}

namespace {
/// The keys that a query sees, by position. -1 means no limit.
struct Visibility {
  bool isCausal;
  int64_t left, right;
  bool isBounded() const { return isCausal || left >= 0 || right >= 0; }
};
} // namespace

/// Builds the mask of visible keys. Query i has position `offset` + i among the
/// keys.
static Expr visibleKeys(Node &node, const Visibility &visibility, Expr offset,
                        int64_t queries, int64_t keys) {
  Type i64 = node.builder().getI64Type();
  Expr query = iota(node, i64, {queries, 1}, 0) + offset;
  Expr key = iota(node, i64, {1, keys}, 1);
  Expr seen = {node, {}};
  auto meet = [&](Expr bound) { seen = seen.value ? seen & bound : bound; };
  if (visibility.isCausal)
    meet(query >= key);
  if (visibility.left >= 0)
    meet(query - static_cast<double>(visibility.left) <= key);
  if (visibility.right >= 0)
    meet(query + static_cast<double>(visibility.right) >= key);
  return seen;
}

Expr frit::importer::keyRanges(Expr start, Expr end, int64_t keys) {
  if (!start || !end)
    return {*end.node, {}};
  Node &node = *end.node;
  Type i32 = node.builder().getI32Type();
  end = end.clamp(0, static_cast<double>(keys)).to(i32);
  start = start.max(start.number(0)).to(i32).min(end);
  auto shape = end.shape();
  Value both[] = {start.reshape({shape[0], 1, shape[1], 1}),
                  end.reshape({shape[0], 1, shape[1], 1})};
  return {node, node.concat(both, 3)};
}

Expr frit::importer::attendToRanges(Expr q, Value k, Value v, Expr ranges,
                                    double scale) {
  Node &node = *q.node;
  return q.apply<nn::AttentionOp>(
      {k, v, ranges}, node.named("scale", node.builder().getF32FloatAttr(
                                              static_cast<float>(scale))));
}

Expr frit::importer::joinHeads(Expr y) {
  auto s = y.shape();
  return y ? y.transpose({0, 2, 1, 3}).reshape({s[0], s[2], s[1] * s[3]}) : y;
}

/// Holds nonpad_kv_seqlen to the number of keys.
static void checkCounts(Node &node, int64_t keys) {
  node.checkNumbers(node.input(6), 0, keys,
                    "counts up to " + Twine(keys) + " keys");
}

/// Whether nn.attention takes queries and keys as they are, and nothing asks
/// for a form that gradients or proofs about sizes know.
static bool mayHaveRanges(Node &node, Value q, Value k) {
  auto a = nn::shapeOf(q), b = nn::shapeOf(k);
  return !elementOf(q).isF64() && b[1] > 0 && a[1] % b[1] == 0 &&
         product(nn::shapeOf(node.input(6))) == a[0] && a[2] > 0 && b[2] > 0 &&
         !node.modelTrains() && !node.hasOpenSizes();
}

/// Builds attention to as many keys of each sequence as `counts` says. Queries
/// are the last of them.
static Expr attendToCounted(Node &node, Expr q, Value k, Value v, Expr counts,
                            const Visibility &visibility) {
  int64_t queries = q.size(2), keys = nn::shapeOf(k)[2];
  Type i64 = node.builder().getI64Type();
  SmallVector<int64_t> shape{q.size(0), queries};
  counts = counts.to(i64).reshape({shape[0], 1});
  Expr place =
      iota(node, i64, {1, queries}, 1) + counts - static_cast<double>(queries);
  Expr start = filled(node, i64, shape, 0), end = counts.expand(shape);
  if (visibility.left >= 0)
    start = place - static_cast<double>(visibility.left);
  if (visibility.isCausal)
    end = place + 1.0;
  if (visibility.right >= 0)
    end = end.min(place + static_cast<double>(visibility.right) + 1.0);
  return attendToRanges(q, k, v, keyRanges(start, end, keys), scaleOf(node, q));
}

/// Hides keys from queries by the node's mask, counts and windows, after `past`
/// keys of earlier calls. Null if an input is wrong.
static Expr hideKeys(Node &node, Expr scores, const Visibility &visibility,
                     int64_t past) {
  int64_t queries = scores.size(2), keys = scores.size(3);
  if (node.has(3)) {
    Expr mask = completeMask(input(node, 3), keys);
    if (!mask)
      return {node, {}};
    scores = mask.element().isInteger(1) ? mask.select(scores, hidden(scores))
                                         : scores + mask.to(scores.element());
  }
  Type i64 = node.builder().getI64Type();
  Expr offset = filled(node, i64, {}, static_cast<double>(past));
  if (node.has(6)) {
    checkCounts(node, keys);
    Expr count = input(node, 6).to(i64);
    count = count.reshape({product(count.shape()), 1, 1, 1});
    Expr isThere = iota(node, i64, {1, 1, 1, keys}, 3) < count;
    scores = isThere.select(scores, hidden(scores));
    offset = count - static_cast<double>(queries);
  }
  if (visibility.isBounded()) {
    Expr seen = visibleKeys(node, visibility, offset, queries, keys);
    scores = seen.select(scores, hidden(scores));
  }
  return scores;
}

static Results attention(Node &node) {
  bool isFlat = node.input(0) && rankOf(node.input(0)) == 3;
  Value q = splitHeads(node, node.input(0), "q_num_heads");
  Value k = splitHeads(node, node.input(1), "kv_num_heads");
  Value v = splitHeads(node, node.input(2), "kv_num_heads");
  Visibility visibility{node.integer("is_causal", 0) != 0,
                        node.integer("left_window_size", -1),
                        node.integer("right_window_size", -1)};
  double cap = node.real("softcap", 0);
  // Softmax is always computed in at least f32.
  node.ignore("softmax_precision");
  int64_t shown = node.integer("qk_matmul_output_mode", 0);
  if (shown < 0 || shown > 3)
    node.error() << "qk_matmul_output_mode must be from 0 to 3, not " << shown;
  int64_t past = 0;
  if (k && v && (node.has(4) || node.has(5))) {
    Value pastKey = node.input(4), pastValue = node.input(5);
    if (!pastKey || !pastValue)
      return {};
    past = rankOf(pastKey) == 4 ? nn::shapeOf(pastKey)[2] : 0;
    k = node.concat({pastKey, k}, 2);
    v = node.concat({pastValue, v}, 2);
  }
  if (!q || !k || !v || node.failed)
    return {};
  Value presentKey = k, presentValue = v;
  // Ranges of keys, as caches have, stay whole: kernels read no others.
  if (node.has(6) && !node.has(3) && !past && cap == 0 && !node.wants(3) &&
      mayHaveRanges(node, q, k)) {
    Expr counts = input(node, 6);
    checkCounts(node, nn::shapeOf(k)[2]);
    Expr y = attendToCounted(node, {node, q}, k, v, counts, visibility);
    return {isFlat ? joinHeads(y) : y, presentKey, presentValue, Value()};
  }
  if (!shareHeads(node, q, k, v))
    return {};

  Expr scores = products(node, q, k) * scaleOf(node, q);
  Expr capped = cap == 0 ? scores : (scores / cap).apply<nn::TanhOp>() * cap;
  Expr masked = hideKeys(node, capped, visibility, past);
  if (!masked)
    return {};
  Expr weights = masked.apply<nn::SoftmaxOp>({}, node.namedSigned("axis", -1));
  // A fully masked row gives zeros. The causal rule alone hides no row.
  if (node.has(3) || node.has(6) || visibility.left >= 0 ||
      visibility.right >= 0) {
    Expr best = masked.reduce(nn::Combiner::max, 3);
    weights = best.equals(hidden(masked)).select(weights.number(0), weights);
  }
  Expr y = weights.matmul(v);
  if (isFlat)
    y = joinHeads(y);
  Expr stages[] = {scores, capped, masked, weights};
  return {y, presentKey, presentValue, stages[shown]};
}

/// Imports FlexAttention, whose subgraphs modify scores and weights.
static Results flexAttention(Node &node) {
  Value q = node.input(0), k = node.input(1), v = node.input(2);
  if (!q || !k || !v || rankOf(q) != 4 || rankOf(k) != 4 || rankOf(v) != 4) {
    if (!node.failed)
      node.error() << "needs queries, keys and values of 4 dimensions";
    return {};
  }
  double scale = scaleOf(node, q);
  Type element = elementOf(q), f32 = node.builder().getF32Type();
  int64_t given = node.integer("softmax_precision", 0);
  Type work = given             ? elementType(given, *node.context())
              : element.isF64() ? element
                                : Type(f32);
  if (!work) {
    node.error() << "a softmax_precision of " << dataTypeName(given)
                 << " is not supported";
    return {};
  }
  if (!shareHeads(node, q, k, v))
    return {};
  auto change = [&](Expr x, StringRef name) {
    if (!node.attribute(name))
      return x;
    const ::onnx::GraphProto *graph = node.graph(name);
    if (!graph)
      return Expr{node, {}};
    Results changed = node.inlineGraph(*graph, Value(x), name.str());
    return Expr{node, changed.size() == 1 ? changed[0] : Value()};
  };
  Expr scores = change(products(node, q, k).to(work) * scale, "score_mod");
  Expr weights = scores.apply<nn::SoftmaxOp>({}, node.namedSigned("axis", -1));
  return {change(weights, "prob_mod").to(element).matmul(v)};
}

ArrayRef<Hook> frit::importer::attentionHooks() {
  static constexpr Hook hooks[] = {
      {"Attention", 23, 3, 7, attention},
      {"ai.onnx.preview::FlexAttention", 1, 3, 3, flexAttention},
  };
  return hooks;
}
