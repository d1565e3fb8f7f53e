//===- Attention.cpp - Scaled dot-product attention
//--------------------------===//
//
// Vaswani et al., "Attention Is All You Need", arXiv:1706.03762, with the
// grouped heads of Ainslie et al., arXiv:2305.13245. ONNX has it whole; here it
// is the products and the softmax that exporters write otherwise, so that one
// recognition of attention serves both.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/Node.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// batch×sequence×(heads·size), where the number of heads is an attribute, as
/// batch×heads×sequence×size.
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

/// Every head of `x` as often as `groups` says, for queries that share them.
static Value repeatHeads(Node &node, Value x, int64_t groups) {
  if (!x || groups == 1)
    return x;
  auto s = nn::shapeOf(x);
  Value apart = node.reshape(x, {s[0], s[1], 1, s[2], s[3]});
  return node.reshape(node.expand(apart, {s[0], s[1], groups, s[2], s[3]}),
                      {s[0], s[1] * groups, s[2], s[3]});
}

/// The scores, less those that must not count.
static Value mask(Node &node, Value scores, Value allowed) {
  double none = -std::numeric_limits<double>::infinity();
  return node.create<nn::WhereOp>({allowed, scores, node.scalar(scores, none)});
}

static Value addMask(Node &node, Value scores, Value bias) {
  if (bias && elementOf(bias).isInteger(1))
    return mask(node, scores, bias);
  return node.create<nn::AddOp>({scores, bias});
}

/// Position i sees the keys up to i, `past` of which came before.
static Value maskFuture(Node &node, Value scores, int64_t past) {
  if (!scores)
    return {};
  auto shape = nn::shapeOf(scores);
  Type i64 = node.builder().getI64Type();
  Value one = node.scalar(i64, 1);
  auto line = [&](ArrayRef<int64_t> form, int64_t axis, int64_t first) {
    return node.create<nn::IotaOp>(
        {node.scalar(i64, first), one},
        {node.named("shape", form),
         node.named("axis", node.builder().getI64IntegerAttr(axis))});
  };
  Value query = line({shape[2], 1}, 0, past), key = line({1, shape[3]}, 1, 0);
  return mask(node, scores, node.create<nn::GreaterEqualOp>({query, key}));
}

static Results attention(Node &node) {
  bool isFlat = node.input(0) && rankOf(node.input(0)) == 3;
  Value q = splitHeads(node, node.input(0), "q_num_heads");
  Value k = splitHeads(node, node.input(1), "kv_num_heads");
  Value v = splitHeads(node, node.input(2), "kv_num_heads");
  bool isCausal = node.integer("is_causal", 0);
  double cap = node.real("softcap", 0);
  // Softmax is computed in f32 or better whatever is asked for.
  node.ignore("softmax_precision");
  node.ignore("qk_matmul_output_mode");
  if (!q || !k || !v)
    return {};
  if (rankOf(q) != 4 || rankOf(k) != 4 || rankOf(v) != 4) {
    node.error() << "needs queries, keys and values of 3 or 4 dimensions";
    return {};
  }
  int64_t past = 0;
  if (node.has(4) || node.has(5)) {
    Value pastKey = node.input(4), pastValue = node.input(5);
    if (!pastKey || !pastValue)
      return {};
    past = rankOf(pastKey) == 4 ? nn::shapeOf(pastKey)[2] : 0;
    k = node.concat({pastKey, k}, 2);
    v = node.concat({pastValue, v}, 2);
    if (!k || !v)
      return {};
  }
  Value presentKey = k, presentValue = v;
  int64_t heads = nn::shapeOf(q)[1], shared = nn::shapeOf(k)[1];
  if (shared == 0 || heads % shared || nn::shapeOf(v)[1] != shared) {
    node.error() << heads << " heads of queries cannot share " << shared
                 << " of keys";
    return {};
  }
  k = repeatHeads(node, k, heads / shared);
  v = repeatHeads(node, v, heads / shared);

  double scale =
      node.real("scale", 1 / std::sqrt(static_cast<double>(nn::shapeOf(q)[3])));
  Value scores = node.create<nn::MatmulOp>(
      {q, k}, node.named("transpose_b", node.builder().getUnitAttr()));
  scores = node.create<nn::MulOp>({scores, node.scalar(q, scale)});
  if (cap != 0) {
    Value limit = node.scalar(q, cap);
    Value ratio = node.create<nn::DivOp>({scores, limit});
    scores = node.create<nn::MulOp>({node.create<nn::TanhOp>(ratio), limit});
  }
  if (node.has(3))
    scores = addMask(node, scores, node.input(3));
  if (isCausal)
    scores = maskFuture(node, scores, past);
  Value weights =
      node.create<nn::SoftmaxOp>(scores, node.namedSigned("axis", -1));
  Value y = node.create<nn::MatmulOp>({weights, v});
  if (isFlat && y) {
    auto s = sizes(y);
    y = node.reshape(node.transpose(y, {0, 2, 1, 3}),
                     {s[0], s[2], s[1] * s[3]});
  }
  return {y, presentKey, presentValue};
}

ArrayRef<Hook> frit::importer::attentionHooks() {
  static constexpr Hook hooks[] = {{"Attention", 23, 3, 6, attention}};
  return hooks;
}
