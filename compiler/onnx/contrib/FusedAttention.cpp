//===- FusedAttention.cpp - Attention that ONNX Runtime has fused ---------===//
//
//   Attention:           q, k, v = split(x · w + b); softmax(q · kᵀ · s) · v
//   QAttention:          the same, with x and w quantized
//   MultiHeadAttention:  of queries, keys and values that are given, + b
//
// All take masks of several forms, a bias of the scores, and earlier keys and
// values to which the new ones are appended.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/ops/AttentionParts.h"
#include "compiler/onnx/ops/Quantization.h"
#include "compiler/onnx/reader/Hooks.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

namespace {
/// One attention: queries, keys and values are batch×heads×tokens×size.
class FusedAttention {
public:
  explicit FusedAttention(Node &node)
      : node(node), q{node, {}}, k{node, {}}, v{node, {}}, mask{node, {}} {}

  Results buildOfProduct();
  Results buildOfQuantized();
  Results buildOfHeads();

private:
  bool readAttributes();
  bool readProductAttributes();
  bool checkProduct(Expr x, Expr w);
  Results attendTo(Expr product, size_t mask, size_t past);
  Expr split(Expr x, Expr bias);
  bool readPast(size_t key, size_t value, int64_t which);
  void addMask(size_t input);
  void addBias(size_t input);
  void addCausal();
  Expr attend();

  Node &node;
  int64_t heads = 0, past = 0;
  std::optional<size_t> scores; ///< the input that is a bias of the scores
  bool isCausal = false;
  double scale = 0, never = -10000;
  Expr q, k, v;
  Expr mask; ///< is added to the scores; null if there is none
};
} // namespace

bool FusedAttention::readAttributes() {
  heads = node.integer("num_heads", 0);
  isCausal = node.integer("unidirectional", 0);
  scale = node.real("scale", 0);
  never = node.real("mask_filter_value", -10000);
  if (heads < 1)
    node.error() << "num_heads is " << heads;
  return !node.failed;
}

/// Splits batch×tokens×(heads·size) into heads, after a bias is added.
Expr FusedAttention::split(Expr x, Expr bias) {
  if (!x || node.failed)
    return {node, {}};
  if (x.rank() != 3 || x.size(2) % heads || x.size(2) == 0) {
    node.error() << nn::shapeText(x.shape()) << " has no " << heads << " heads";
    return {node, {}};
  }
  if (bias)
    x = x + bias;
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads})
      .transpose({0, 2, 1, 3});
}

/// Puts earlier keys and values before the new ones. Both may be one tensor, of
/// which `which` is the first dimension's index of the keys. False after
/// errors.
bool FusedAttention::readPast(size_t key, size_t value, int64_t which) {
  if (!node.has(key))
    return !node.failed;
  Expr keys = input(node, key), values = input(node, value);
  if (which >= 0) {
    if (keys.rank() != 5 || keys.size(0) != 2) {
      node.error() << "earlier keys and values have the shape "
                   << nn::shapeText(keys.shape());
      return false;
    }
    auto shape = keys.shape();
    shape.erase(shape.begin());
    values = keys.slice(0, 1, 1).reshape(shape);
    keys = keys.slice(0, 0, 1).reshape(shape);
  }
  if (!keys || !values || !k || !v)
    return false;
  past = keys.rank() == 4 ? keys.size(2) : 0;
  k = {node, node.concat({keys, k}, 2)};
  v = {node, node.concat({values, v}, 2)};
  return k && v;
}

/// Adds a mask of 0 and 1: batch×keys, batch×queries×keys, the number of keys
/// of each sequence, or these and then where each sequence begins.
void FusedAttention::addMask(size_t which) {
  if (!node.has(which) || node.failed || !q || !k)
    return;
  Expr given = input(node, which);
  int64_t batch = q.size(0), queries = q.size(2), keys = k.size(2);
  auto shape = given.shape();
  Expr seen = {node, {}};
  auto positions = [&] {
    return iota(node, given.element(), {1, 1, 1, keys}, 3);
  };
  auto ends = [&](int64_t first) {
    return given.slice(0, first, batch).reshape({batch, 1, 1, 1});
  };
  if (shape == SmallVector<int64_t>{batch})
    seen = positions() < ends(0);
  else if (shape == SmallVector<int64_t>{2 * batch})
    seen = (positions() < ends(0)) & (positions() >= ends(batch));
  else if (shape == SmallVector<int64_t>{batch, keys})
    seen = (given > 0.0).reshape({batch, 1, 1, keys});
  else if (shape == SmallVector<int64_t>{batch, queries, keys})
    seen = (given > 0.0).reshape({batch, 1, queries, keys});
  else
    node.error() << "a mask of shape " << nn::shapeText(shape)
                 << " is not supported for " << nn::shapeText(q.shape())
                 << " queries and " << keys << " keys";
  if (seen)
    mask = seen.select(q.number(0), q.number(never));
}

/// Adds a bias of the scores.
void FusedAttention::addBias(size_t which) {
  if (!node.has(which) || node.failed || !q || !k)
    return;
  Expr bias = input(node, which);
  SmallVector<int64_t> whole = {q.size(0), heads, q.size(2), k.size(2)};
  auto shape = nn::broadcastShapes({bias.shape(), whole});
  if (!shape || *shape != whole) {
    node.error() << "attention_bias of shape " << nn::shapeText(bias.shape())
                 << " does not fit scores of shape " << nn::shapeText(whole);
    return;
  }
  mask = mask ? mask + bias : bias;
}

/// Hides later keys from queries that follow earlier ones.
void FusedAttention::addCausal() {
  if (!isCausal || past == 0 || node.failed)
    return;
  Type i32 = node.builder().getI32Type();
  Expr query =
      iota(node, i32, {1, 1, q.size(2), 1}, 2) + static_cast<double>(past);
  Expr seen = iota(node, i32, {1, 1, 1, k.size(2)}, 3) <= query;
  Expr hidden = seen.select(q.number(0),
                            q.number(-std::numeric_limits<double>::infinity()));
  mask = mask ? mask + hidden : hidden;
  isCausal = false;
}

/// Builds batch×queries×(heads·size of a value).
Expr FusedAttention::attend() {
  addCausal();
  if (node.failed || !q || !k || !v)
    return {node, {}};
  double factor = scale ? scale : 1 / std::sqrt(double(q.size(3)));
  SmallVector<NamedAttribute> attributes = {node.named(
      "scale", node.builder().getF32FloatAttr(static_cast<float>(factor)))};
  if (isCausal)
    attributes.push_back(node.named("causal", node.builder().getUnitAttr()));
  Results operands = {k, v};
  if (mask)
    operands.push_back(mask);
  return joinHeads(q.apply<nn::AttentionOp>(operands, attributes));
}

bool FusedAttention::readProductAttributes() {
  if (node.integer("do_rotary", 0))
    node.error() << "do_rotary is not supported";
  node.ignore("past_present_share_buffer");
  node.ignore("rotary_embedding_dim");
  return readAttributes();
}

bool FusedAttention::checkProduct(Expr x, Expr w) {
  if (x && w && x.rank() == 3 && w.rank() == 2)
    return true;
  if (!node.failed)
    node.error() << "multiplies " << nn::shapeText(x.shape()) << " by "
                 << nn::shapeText(w.shape());
  return false;
}

/// Builds the attention of queries, keys and values side by side. Inputs
/// `mask` and `past` are of these names.
Results FusedAttention::attendTo(Expr product, size_t mask, size_t past) {
  auto sizes = node.integers("qkv_hidden_sizes");
  if (!product)
    return {};
  int64_t all = product.size(2);
  SmallVector<int64_t> parts = sizes.value_or(SmallVector<int64_t>(3, all / 3));
  if (parts.size() != 3 ||
      llvm::any_of(parts,
                   [&](int64_t size) { return size < 1 || size > all; }) ||
      parts[0] + parts[1] + parts[2] != all) {
    node.error() << "the " << all << " columns of its weights are not those of "
                 << "queries, keys and values";
    return {};
  }
  int64_t first = 0;
  for (auto [part, size] :
       llvm::zip_equal(SmallVector<Expr *>{&q, &k, &v}, parts)) {
    *part = split(product.slice(2, first, size), {node, {}});
    first += size;
  }
  if (!readPast(past, past, 0))
    return {};
  addMask(mask);
  if (scores)
    addBias(*scores);
  Expr y = attend();
  if (!node.wants(1) || !y)
    return {y};
  auto row = [&](Expr part) {
    auto shape = part.shape();
    shape.insert(shape.begin(), 1);
    return Value(part.reshape(shape));
  };
  return {y, node.concat({row(k), row(v)}, 0)};
}

Results FusedAttention::buildOfProduct() {
  if (!readProductAttributes())
    return {};
  Expr x = input(node, 0), w = input(node, 1);
  if (!checkProduct(x, w))
    return {};
  Expr product = x.matmul(w);
  if (node.has(2))
    product = product + input(node, 2);
  scores = 5;
  return attendTo(product, 3, 4);
}

/// Inputs: x, w, a bias, the scales of both, a mask, their zero points, and
/// earlier keys and values.
Results FusedAttention::buildOfQuantized() {
  if (!readProductAttributes())
    return {};
  Expr x = input(node, 0), w = input(node, 1), bias = input(node, 2);
  Expr scale = input(node, 3) * input(node, 4);
  if (!checkProduct(x, w) || node.failed)
    return {};
  Expr sums = subtractZero(x, optionalInput(node, 6), true)
                  .matmul(subtractZero(w, optionalInput(node, 7), false));
  return attendTo(sums.to(scale.element()) * scale + bias, 5, 8);
}

/// Takes part `i` of a packed tensor, batch×tokens×heads×parts×size.
static Expr packedPart(Expr x, int64_t i) {
  auto shape = x.shape();
  return x.slice(3, i, 1)
      .reshape({shape[0], shape[1], shape[2], shape[4]})
      .transpose({0, 2, 1, 3});
}

Results FusedAttention::buildOfHeads() {
  if (!readAttributes())
    return {};
  Expr query = input(node, 0);
  Expr none = {node, {}};
  SmallVector<Expr, 3> bias(3, none);
  if (node.has(3)) {
    Expr all = input(node, 3);
    int64_t size = query.rank() == 3   ? query.size(2)
                   : query.rank() == 5 ? query.size(2) * query.size(4)
                                       : 0;
    int64_t rest = all.rank() == 1 ? all.size(0) - 2 * size : 0;
    if (size < 1 || rest < 1) {
      node.error() << "a bias of shape " << nn::shapeText(all.shape())
                   << " does not fit " << nn::shapeText(query.shape());
      return {};
    }
    bias = {all.slice(0, 0, size), all.slice(0, size, size),
            all.slice(0, 2 * size, rest)};
  }
  // A head's part of the bias.
  auto plus = [&](Expr part, Expr row) {
    return row ? part + row.reshape({1, heads, 1, part.size(3)}) : part;
  };
  if (query.rank() == 5) {
    if (query.size(2) != heads || query.size(3) != 3) {
      node.error() << nn::shapeText(query.shape())
                   << " has no queries, keys and values of " << heads
                   << " heads";
      return {};
    }
    q = plus(packedPart(query, 0), bias[0]);
    k = plus(packedPart(query, 1), bias[1]);
    v = plus(packedPart(query, 2), bias[2]);
  } else {
    q = split(query, bias[0]);
    Expr key = input(node, 1);
    if (key.rank() == 5) {
      if (key.size(2) != heads || key.size(3) != 2) {
        node.error() << nn::shapeText(key.shape())
                     << " has no keys and values of " << heads << " heads";
        return {};
      }
      k = plus(packedPart(key, 0), bias[1]);
      v = plus(packedPart(key, 1), bias[2]);
    } else {
      Expr value = input(node, 2);
      // Keys and values of four dimensions are in heads, without a bias.
      k = key.rank() == 4 ? key : split(key, bias[1]);
      v = value.rank() == 4 ? value : split(value, bias[2]);
    }
  }
  if (node.failed || !readPast(6, 7, -1))
    return {};
  addMask(4);
  addBias(5);
  if (node.wants(3))
    node.error() << "its scores are no result";
  return {attend(), k, v};
}

/// Imports ONNX Runtime's RotaryEmbedding.
static Results rotateByTables(Node &node) {
  Expr x = input(node, 0), ids = input(node, 1);
  Expr cosine = input(node, 2), sine = input(node, 3);
  bool isInterleaved = node.integer("interleaved", 0);
  int64_t heads = node.integer("num_heads", 0);
  int64_t rotated = node.integer("rotary_embedding_dim", 0);
  if (node.integer("is_packed_batching", 0) || node.real("scale", 1) != 1)
    node.error() << "packed batches and scales are not supported";
  if (!x || !ids || !cosine || !sine)
    return {};
  int64_t pairs = cosine.rank() == 2 ? cosine.size(1) : 0;
  bool isFlat = x.rank() == 3;
  auto shape = x.shape();
  if (isFlat && heads == 0 && rotated == 0 && pairs > 0)
    heads = shape[2] / (2 * pairs);
  if ((!isFlat && x.rank() != 4) || pairs < 1 ||
      sine.shape() != cosine.shape() ||
      (isFlat && (heads < 1 || shape[2] % heads))) {
    if (!node.failed)
      node.error() << "cannot rotate " << nn::shapeText(shape)
                   << " by angles of " << nn::shapeText(cosine.shape());
    return {};
  }
  x = isFlat ? x.reshape({shape[0], shape[1], heads, shape[2] / heads})
             : x.transpose({0, 2, 1, 3});
  int64_t batch = x.size(0), tokens = x.size(1);
  if (2 * pairs > x.size(3)) {
    node.error() << 2 * pairs << " angles are more than the " << x.size(3)
                 << " elements of a head";
    return {};
  }
  // One number says where all sequences begin.
  if (product(ids.shape()) == 1)
    ids = ids.reshape({1, 1}) + iota(node, ids.element(), {1, tokens}, 1);
  ids = ids.expand({batch, tokens});
  if (!ids || !node.checkIndices(ids, cosine.size(0)))
    return {};
  for (Expr *table : {&cosine, &sine})
    *table = table->gather(ids, 0).reshape({batch, tokens, 1, pairs});
  Expr y = rotateHeads(x, cosine, sine, isInterleaved);
  return {isFlat ? y.reshape(shape) : y.transpose({0, 2, 1, 3})};
}

static Results productAttention(Node &node) {
  return FusedAttention(node).buildOfProduct();
}

static Results quantizedAttention(Node &node) {
  return FusedAttention(node).buildOfQuantized();
}

static Results multiHeadAttention(Node &node) {
  return FusedAttention(node).buildOfHeads();
}

ArrayRef<Hook> frit::importer::fusedAttentionHooks() {
  static constexpr Hook hooks[] = {
      {"com.microsoft::Attention", 1, 2, 7, productAttention},
      {"com.microsoft::QAttention", 1, 5, 9, quantizedAttention},
      {"com.microsoft::MultiHeadAttention", 1, 1, 8, multiHeadAttention},
      {"com.microsoft::RotaryEmbedding", 1, 4, 4, rotateByTables},
  };
  return hooks;
}
