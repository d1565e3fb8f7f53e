//===- Sequence.cpp - Operators of sequence models ------------------------===//

#include "compiler/onnx/ops/AttentionParts.h"
#include "compiler/onnx/reader/Hooks.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

Expr frit::importer::rotateHeads(Expr x, Expr cosine, Expr sine,
                                 bool interleaved) {
  if (!x || !cosine || !sine)
    return {*x.node, {}};
  Node &node = *x.node;
  int64_t size = x.size(3), half = cosine.size(3), turned = 2 * half;
  Expr part = x.slice(3, 0, turned);
  auto form = part.shape();
  Expr pairs = interleaved ? part.reshape({form[0], form[1], form[2], half, 2})
                           : part.reshape({form[0], form[1], form[2], 2, half});
  int64_t axis = interleaved ? 4 : 3;
  form.back() = half;
  Expr a = pairs.slice(axis, 0, 1).reshape(form);
  Expr b = pairs.slice(axis, 1, 1).reshape(form);
  Expr real = cosine * a - sine * b, imaginary = sine * a + cosine * b;
  auto apart = form;
  apart.insert(apart.begin() + axis, 1);
  Value parts[] = {real.reshape(apart), imaginary.reshape(apart)};
  form.back() = turned;
  Expr y = Expr{node, node.concat(parts, axis)}.reshape(form);
  if (turned < size) {
    Value all[] = {y, x.slice(3, turned, size - turned)};
    y = {node, node.concat(all, 3)};
  }
  return y;
}

/// Imports RotaryEmbedding (Su et al., "RoFormer", arXiv:2104.09864): rotates
/// pairs of elements by angles that grow with the position.
static Results rotaryEmbedding(Node &node) {
  Expr x = input(node, 0), cosine = input(node, 1), sine = input(node, 2);
  bool interleaved = node.integer("interleaved", 0);
  int64_t given = node.integer("rotary_embedding_dim", 0);
  int64_t heads = node.integer("num_heads", 0);
  if (!x || !cosine || !sine)
    return {};
  auto shape = x.shape();
  bool isFlat = x.rank() == 3;
  if (isFlat && heads > 0 && shape[2] % heads == 0)
    x = x.reshape({shape[0], shape[1], heads, shape[2] / heads});
  else if (x.rank() == 4)
    x = x.transpose({0, 2, 1, 3});
  else
    node.error() << nn::shapeText(shape) << " has no " << heads << " heads";
  if (node.failed)
    return {};
  int64_t size = x.size(3), turned = given ? given : size, half = turned / 2;
  if (turned > size || turned % 2) {
    node.error() << "cannot turn " << turned << " of " << size << " elements";
    return {};
  }
  // From here on: batch×sequence×heads×size.
  if (node.has(3) && cosine.rank())
    node.checkNumbers(node.input(3), 0, cosine.size(0) - 1,
                      "has angles of " + Twine(cosine.size(0)) + " positions");
  auto angles = [&](Expr cache) {
    if (node.has(3))
      cache = cache.gather(node.input(3), 0);
    auto form = cache.shape();
    if (cache.rank() != 3 || form[2] != half) {
      node.error() << "a cache of shape " << nn::shapeText(form)
                   << " does not fit " << half << " angles";
      return cache;
    }
    return cache.reshape({form[0], form[1], 1, half});
  };
  cosine = angles(cosine);
  sine = angles(sine);
  if (node.failed)
    return {};
  Expr y = rotateHeads(x, cosine, sine, interleaved);
  return {isFlat ? y.reshape(shape) : y.transpose({0, 2, 1, 3})};
}

//===----------------------------------------------------------------------===//
// LinearAttention
//===----------------------------------------------------------------------===//

/// Imports LinearAttention: each step decays, corrects and reads a state per
/// head (Katharopoulos et al., arXiv:2006.16236; Yang et al., "Gated Delta
/// Networks", arXiv:2412.06464). The steps are unrolled.
static Results linearAttention(Node &node) {
  Expr q = input(node, 0), k = input(node, 1), v = input(node, 2);
  int64_t heads = node.integer("q_num_heads", 0);
  int64_t shared = node.integer("kv_num_heads", 0);
  StringRef rule = node.string("update_rule", "gated_delta");
  double scale = node.real("scale", 0);
  node.ignore("chunk_size");
  if (!q || !k || !v)
    return {};
  bool decays = rule == "gated" || rule == "gated_delta";
  bool corrects = rule == "delta" || rule == "gated_delta";
  if (q.rank() != 3 || k.rank() != 3 || v.rank() != 3 || heads < 1 ||
      shared < 1 || heads % shared || q.size(2) % heads || k.size(2) % shared ||
      v.size(2) % shared || q.size(1) > mostSteps || (decays && !node.has(4)) ||
      (corrects && !node.has(5)) ||
      (!decays && !corrects && rule != "linear")) {
    node.error() << "update rule '" << rule << "' with " << heads << " and "
                 << shared << " heads does not fit its inputs";
    return {};
  }
  Type element = q.element(), work = nn::workType(element);
  int64_t batch = q.size(0), steps = q.size(1);
  int64_t dk = q.size(2) / heads, dv = v.size(2) / shared;
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(dk));
  auto split = [&](Expr x, int64_t count) {
    return x.to(work)
        .reshape({batch, steps, count, x.size(2) / count})
        .transpose({0, 2, 1, 3});
  };
  // Queries of heads that share a state are rows of one matrix.
  int64_t group = heads / shared;
  Expr queries = split(q, heads).reshape({batch, shared, group, steps, dk});
  Expr keys = split(k, shared), values = split(v, shared);
  Expr state = node.has(3) ? input(node, 3).to(work)
                           : filled(node, work, {batch, shared, dk, dv}, 0);
  Expr decay = {node, {}}, beta = {node, {}};
  if (decays)
    decay = split(input(node, 4), shared).apply<nn::ExpOp>();
  if (corrects) {
    Expr given = input(node, 5).to(work);
    beta = given.reshape({batch, steps, given.size(2)})
               .transpose({0, 2, 1})
               .reshape({batch, given.size(2), steps, 1});
  }
  SmallVector<Value> shown;
  for (int64_t t = 0; t < steps && !node.failed; ++t) {
    auto at = [&](Expr x) { return x.slice(2, t, 1); };
    Expr key = at(keys).reshape({batch, shared, dk, 1});
    Expr value = at(values);
    if (decays)
      state = state * at(decay).transpose({0, 1, 3, 2});
    if (corrects) {
      Expr known = key.transpose({0, 1, 3, 2}).matmul(state);
      value = (value - known) * at(beta);
    }
    state = state + key.matmul(value);
    Expr query = queries.slice(3, t, 1).reshape({batch, shared, group, dk});
    Expr y = query.matmul(state) * scale;
    shown.push_back(y.reshape({batch, 1, heads * dv}));
  }
  if (node.failed)
    return {};
  Expr y = {node, shown.size() == 1 ? shown[0] : node.concat(shown, 1)};
  Type kept = node.has(3) ? elementOf(node.input(3)) : element;
  return {y.to(element), state.to(kept)};
}

/// Builds a causal depthwise convolution, and its last inputs as the new state.
static Results causalConv(Node &node) {
  Expr x = input(node, 0), w = input(node, 1);
  StringRef activation = node.string("activation", "none");
  if (!x || !w)
    return {};
  if (x.rank() != 3 || w.rank() != 3 || w.size(0) != x.size(1) ||
      w.size(1) != 1 || w.size(2) < 1) {
    node.error() << "filters of " << nn::shapeText(w.shape()) << " do not fit "
                 << nn::shapeText(x.shape());
    return {};
  }
  int64_t channels = x.size(1), before = w.size(2) - 1;
  Expr all = x;
  if (before && node.has(3)) {
    Value parts[] = {input(node, 3).to(x.element()), x};
    all = {node, node.concat(parts, 2)};
  } else {
    all = x.pad(2, before, 0);
  }
  SmallVector<Value> operands = {w};
  if (node.has(2))
    operands.push_back(node.input(2));
  OpBuilder &b = node.builder();
  Expr y = all.apply<nn::ConvOp>(
      operands, {node.named("strides", ArrayRef<int64_t>{1}),
                 node.named("pads", ArrayRef<int64_t>{0, 0}),
                 node.named("dilations", ArrayRef<int64_t>{1}),
                 node.named("group", b.getI64IntegerAttr(channels))});
  if (activation == "silu" || activation == "swish")
    y = y.apply<nn::SiluOp>();
  else if (activation != "none")
    node.error() << "activation '" << activation
                 << "' is none of silu, swish and none";
  return {y, all.slice(2, all.size(2) - before, before)};
}

/// Builds a · sigmoid(alpha · a) · b.
static Results swiGlu(Node &node) {
  Expr a = input(node, 0), b = input(node, 1);
  double alpha = node.real("alpha", 1);
  return {a * (a * alpha).apply<nn::SigmoidOp>() * b};
}

//===----------------------------------------------------------------------===//
// TfIdfVectorizer
//===----------------------------------------------------------------------===//

/// Counts how often each sequence of numbers in a pool occurs in a row, with up
/// to max_skip_count other numbers in between.
static Results tfIdfVectorizer(Node &node) {
  Expr x = input(node, 0);
  auto pool = node.integers("pool_int64s"),
       starts = node.integers("ngram_counts"),
       columnOf = node.integers("ngram_indexes");
  int64_t least = node.integer("min_gram_length", 1),
          most = node.integer("max_gram_length", 1),
          skips = node.integer("max_skip_count", 0);
  StringRef mode = node.string("mode", "TF");
  SmallVector<double> weights = node.reals("weights");
  if (!x)
    return {};
  if (!pool || !starts || !columnOf || columnOf->empty() || x.rank() < 1 ||
      x.rank() > 2 || x.isFloat() || least < 1 || skips < 0) {
    node.error() << "needs rows of integers and a pool of them";
    return {};
  }
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    node.error() << "mode '" << mode << "' is none of TF, IDF and TFIDF";
  int64_t last = *llvm::max_element(*columnOf);
  if (*llvm::min_element(*columnOf) < 0 ||
      last >= mostInTable / static_cast<int64_t>(columnOf->size()) ||
      (!weights.empty() && weights.size() != columnOf->size()))
    node.error() << "column " << last << " does not fit its "
                 << columnOf->size() << " sequences and " << weights.size()
                 << " weights";
  if (node.failed)
    return {};
  Type f32 = node.builder().getF32Type();
  int64_t columns = last + 1;
  bool isOne = x.rank() == 1;
  int64_t rows = isOne ? 1 : x.size(0), length = x.size(x.rank() - 1);
  x = x.to(node.builder().getI64Type()).reshape({rows, length});
  Expr result = filled(node, f32, {rows, columns}, 0);
  size_t done = 0;
  for (auto [i, begin] : llvm::enumerate(*starts)) {
    int64_t size = static_cast<int64_t>(i) + 1,
            end = i + 1 < starts->size() ? (*starts)[i + 1]
                                         : static_cast<int64_t>(pool->size());
    int64_t count = (end - begin) / size;
    if (begin < 0 || end < begin || end > static_cast<int64_t>(pool->size()) ||
        done + count > columnOf->size()) {
      node.error() << "its pool has no " << size << "-grams from " << begin
                   << " to " << end;
      return {};
    }
    auto own = ArrayRef(*columnOf).slice(done, count);
    done += count;
    if (size < least || size > most || count == 0)
      continue;
    SmallVector<double> places(count * columns, 0);
    for (auto [gram, column] : llvm::enumerate(own))
      places[gram * columns + column] = 1;
    Expr toColumns = table(node, f32, {count, columns}, places);
    for (int64_t skip = 0; skip <= (size == 1 ? 0 : skips); ++skip) {
      int64_t positions = length - (size - 1) * (skip + 1);
      if (positions < 1 || node.failed)
        break;
      Expr isThere = {node, {}};
      for (int64_t at = 0; at < size; ++at) {
        SmallVector<int64_t> wanted;
        for (int64_t gram = 0; gram < count; ++gram)
          wanted.push_back((*pool)[begin + gram * size + at]);
        Expr same = x.slice(1, at * (skip + 1), positions)
                        .reshape({rows, 1, positions})
                        .equals(table(node, {1, count, 1}, wanted));
        isThere = isThere ? isThere & same : same;
      }
      Expr counts = isThere.to(f32).sum(2).reshape({rows, count});
      result = result + counts.matmul(toColumns);
    }
  }
  if (mode == "IDF")
    result = (result > 0.0).to(f32);
  if (mode != "TF" && !weights.empty()) {
    SmallVector<double> ofColumns(columns, 0);
    for (auto [column, weight] : llvm::zip_equal(*columnOf, weights))
      ofColumns[column] = weight;
    result = result * table(node, f32, {1, columns}, ofColumns);
  }
  return {isOne ? result.reshape(columns) : result};
}

ArrayRef<Hook> frit::importer::sequenceHooks() {
  static constexpr Hook hooks[] = {
      {"RotaryEmbedding", 23, 3, 4, rotaryEmbedding},
      {"LinearAttention", 27, 3, 6, linearAttention},
      {"CausalConvWithState", 27, 2, 4, causalConv},
      {"SwiGLU", 28, 2, 2, swiGlu},
      {"TfIdfVectorizer", 9, 1, 1, tfIdfVectorizer},
  };
  return hooks;
}
