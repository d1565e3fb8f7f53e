//===- FusedElementwise.cpp - Activations and norms of sums ---------------===//
//
// What ONNX Runtime's graph optimiser writes for transformers: GELU after a
// bias, and the norm of a residual sum. Each is the operators that it replaced,
// which frit fuses by itself.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/ops/Quantization.h"
#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

static Expr gelu(Expr x, StringRef approximate) {
  Builder &b = x.node->builder();
  return x.apply<nn::GeluOp>(
      {}, x.node->named("approximate", b.getStringAttr(approximate)));
}

/// Imports GELU of x, or of the sum of both inputs.
static Results biasGelu(Node &node) {
  Expr x = input(node, 0);
  return {gelu(node.has(1) ? x + input(node, 1) : x, "none")};
}

/// As above, approximated by tanh.
static Results fastGelu(Node &node) {
  Expr x = input(node, 0);
  return {gelu(node.has(1) ? x + input(node, 1) : x, "tanh")};
}

static Results quickGelu(Node &node) {
  Expr x = input(node, 0);
  return {x * (x * node.real("alpha", 1.702)).apply<nn::SigmoidOp>()};
}

/// Imports the product of one half of x + bias with GELU of the other.
static Results biasSplitGelu(Node &node) {
  Expr x = input(node, 0) + input(node, 1);
  int64_t axis = x.rank() - 1;
  if (!x || axis < 0 || x.size(axis) % 2) {
    if (!node.failed)
      node.error() << nn::shapeText(x.shape()) << " has no two halves";
    return {};
  }
  int64_t half = x.size(axis) / 2;
  return {x.slice(axis, 0, half) * gelu(x.slice(axis, half, half), "none")};
}

static Results biasAdd(Node &node) {
  return {input(node, 0) + input(node, 1) + input(node, 2)};
}

/// Builds the norm of the last dimension, with `bias` if there is one.
static Expr normalize(Node &node, Expr x, Value scale, Value bias, bool isRms,
                      double epsilon) {
  if (!x || !scale)
    return {node, {}};
  SmallVector<int64_t> row = {x.shape().empty() ? 1 : x.shape().back()};
  for (Value v : {scale, bias})
    if (v && nn::shapeOf(v) != ArrayRef(row)) {
      node.error() << "the norm's scale or bias has the shape "
                   << nn::shapeText(nn::shapeOf(v)) << " instead of "
                   << nn::shapeText(row);
      return {node, {}};
    }
  NamedAttribute attributes[] = {
      node.namedSigned("axis", -1),
      node.named("epsilon",
                 node.builder().getF32FloatAttr(static_cast<float>(epsilon)))};
  Results operands = {x, scale};
  if (bias)
    operands.push_back(bias);
  return {node, isRms ? node.create<nn::RmsNormOp>(operands, attributes)
                      : node.create<nn::LayerNormOp>(operands, attributes)};
}

/// Imports the norm of input + skip (+ bias). The sum is the last result;
/// statistics are not returned.
static Results normOfSum(Node &node, bool isRms) {
  size_t bias = isRms ? 3 : 4;
  double epsilon = node.real("epsilon", isRms ? 1e-5 : 1e-12);
  Expr sum = input(node, 0) + input(node, 1);
  if (node.has(bias))
    sum = sum + input(node, bias);
  if (node.wants(1) || node.wants(2))
    node.error() << "its mean and deviation are not supported";
  Value shift = !isRms && node.has(3) ? node.input(3) : Value();
  return {normalize(node, sum, node.input(2), shift, isRms, epsilon), Value(),
          Value(), sum};
}

static Results skipLayerNorm(Node &node) { return normOfSum(node, false); }
static Results skipRmsNorm(Node &node) { return normOfSum(node, true); }

static Results simplifiedLayerNorm(Node &node) {
  node.ignore("stash_type");
  Expr x = input(node, 0);
  if (int64_t axis = node.integer("axis", -1);
      x && node.axis(axis, x.rank()) != x.rank() - 1)
    node.error() << "normalizes from dimension " << axis
                 << " on, not only the last";
  double epsilon = node.real("epsilon", 1e-5);
  return {normalize(node, x, node.input(1), {}, true, epsilon)};
}

/// Gathers the rows of an embedding.
static Expr embed(Node &node, size_t table, Expr ids) {
  Expr rows = input(node, table);
  if (!rows || !ids)
    return {node, {}};
  if (rows.rank() != 2 || !node.checkIndices(ids, rows.size(0))) {
    if (!node.failed)
      node.error() << "input " << table << " is no matrix";
    return {node, {}};
  }
  return rows.gather(ids, 0);
}

/// Imports the norm of the sum of embeddings of words, positions and segments.
/// Where embeddings, scale and bias are quantized, inputs 8 to 12 are their
/// scales, and inputs 13 to 17 their zero points.
static Results embedLayerNorm(Node &node, bool isQuantized) {
  Expr ids = input(node, 0);
  bool countsMask = node.integer("mask_index_type", 0) != 0 || node.has(7);
  double epsilon = node.real("epsilon", 1e-12);
  if (!ids || ids.rank() != 2) {
    if (!node.failed)
      node.error() << "needs batch×sequence ids, not "
                   << nn::shapeText(ids.shape());
    return {};
  }
  Type i32 = node.builder().getI32Type();
  int64_t batch = ids.size(0), length = ids.size(1);
  auto unquantized = [&](Expr x, size_t which) {
    const size_t part = which - 2;
    return isQuantized && x ? dequantize(x, input(node, 8 + part),
                                         optionalInput(node, 13 + part), 0, 0)
                            : x;
  };
  auto rows = [&](size_t table, Expr at) {
    return unquantized(embed(node, table, at), table);
  };
  Expr positions = !isQuantized && node.has(8)
                       ? input(node, 8)
                       : iota(node, i32, {1, length}, 1);
  Expr sum = rows(2, ids) + rows(3, positions);
  if (node.has(1) && node.has(4))
    sum = sum + rows(4, input(node, 1));
  // The number of keys that the mask lets through.
  Expr count = filled(node, i32, {batch}, 0);
  if (countsMask && node.has(7))
    count = input(node, 7).to(i32).sum(1).reshape({batch});
  return {normalize(node, sum, unquantized(input(node, 5), 5),
                    unquantized(input(node, 6), 6), false, epsilon),
          count, sum};
}

static Results embedLayerNorm(Node &node) {
  return embedLayerNorm(node, false);
}

static Results quantizedEmbedLayerNorm(Node &node) {
  return embedLayerNorm(node, true);
}

ArrayRef<Hook> frit::importer::fusedElementwiseHooks() {
  static constexpr Hook hooks[] = {
      {"com.microsoft::Gelu", 1, 1, 1, biasGelu, takesCounts},
      {"com.microsoft::BiasGelu", 1, 2, 2, biasGelu, takesCounts},
      {"com.microsoft::FastGelu", 1, 1, 2, fastGelu, takesCounts},
      {"com.microsoft::QuickGelu", 1, 1, 1, quickGelu, takesCounts},
      {"com.microsoft::BiasSplitGelu", 1, 2, 2, biasSplitGelu},
      {"com.microsoft::BiasAdd", 1, 3, 3, biasAdd, takesCounts},
      {"com.microsoft::SkipLayerNormalization", 1, 3, 5, skipLayerNorm,
       takesCounts},
      {"com.microsoft::SkipSimplifiedLayerNormalization", 1, 3, 4, skipRmsNorm,
       takesCounts},
      {"SimplifiedLayerNormalization", 1, 2, 2, simplifiedLayerNorm,
       takesCounts},
      {"com.microsoft::EmbedLayerNormalization", 1, 7, 9, embedLayerNorm},
      {"com.microsoft::QEmbedLayerNormalization", 1, 13, 18,
       quantizedEmbedLayerNorm},
  };
  return hooks;
}
