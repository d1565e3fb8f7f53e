//===- Layers.cpp - The layers of a decoder as nn operators ---------------===//
//
// Types are those of transformers: activations have the model's type; norms,
// rotation and softmax are f32. What fusions and kernels know stays whole:
// nn.rms_norm, nn.attention with ranges of keys, nn.silu, nn.update.
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/Layers.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

/// Names the operators that follow, for messages and -fkeep-fp32.
void LayerBuilder::name(const Twine &node) {
  b.setLoc(NameLoc::get(b.getStringAttr("node '" + node + "'"), file));
}

Value LayerBuilder::weight(const TensorId &id, ArrayRef<int64_t> shape,
                           Type element) {
  Value found = weights.build(b, id, shape, element);
  if (found)
    return found;
  hasFailed = true;
  return b.zeros(RankedTensorType::get(shape, element));
}

Value LayerBuilder::product(Value x, const TensorId &id, int64_t outputs,
                            bool hasBias) {
  SmallVector<int64_t> shape{outputs, nn::shapeOf(x).back()};
  if (config.storesInputsFirst)
    std::swap(shape[0], shape[1]);
  Value product = nn::MatmulOp::create(
      b, x, weight(id, shape, tokens.element), /*transpose_a=*/false,
      /*transpose_b=*/!config.storesInputsFirst);
  if (!hasBias)
    return product;
  TensorId bias = id;
  bias.isBias = true;
  return b.add(product, weight(bias, {outputs}, tokens.element));
}

/// Builds the norm of the last dimension.
Value LayerBuilder::norm(Value x, const TensorId &id) {
  int64_t size = nn::shapeOf(x).back();
  APFloat epsilon(float(config.epsilon));
  if (config.norm == NormKind::layer) {
    TensorId bias = id;
    bias.isBias = true;
    Value scale = weight(id, {size}, tokens.element);
    return nn::LayerNormOp::create(
        b, x, scale, weight(bias, {size}, tokens.element), -1, epsilon);
  }
  Type f32 = b.getF32Type();
  Value scale = weight(id, {size}, config.addsOneToNorm ? f32 : tokens.element);
  if (config.addsOneToNorm)
    scale = b.add(scale, b.scalarLike(scale, 1));
  return nn::RmsNormOp::create(b, x, scale, -1, epsilon);
}

/// Builds columns `first` to `first + count - 1` of the last dimension.
Value LayerBuilder::columns(Value x, int64_t first, int64_t count) {
  SmallVector<int64_t> sizes(nn::shapeOf(x)), starts(sizes.size(), 0),
      steps(sizes.size(), 1);
  starts.back() = first;
  sizes.back() = count;
  return nn::SliceOp::create(b, x, starts, sizes, steps);
}

Value LayerBuilder::scaled(Value x, double factor) {
  return factor == 1 ? x : b.mul(x, b.scalarLike(x, factor));
}

/// Builds cap · tanh(x / cap).
Value LayerBuilder::capped(Value x, double cap) {
  if (!cap)
    return x;
  Value bent = nn::TanhOp::create(b, b.div(x, b.scalarLike(x, cap)));
  return b.mul(bent, b.scalarLike(x, cap));
}

Value LayerBuilder::activate(Value x) {
  switch (config.activation) {
  case Activation::silu:
    return nn::SiluOp::create(b, x);
  case Activation::gelu:
    return nn::GeluOp::create(b, x);
  case Activation::geluTanh:
    return nn::GeluOp::create(b, x, "tanh");
  case Activation::relu:
    return nn::ReluOp::create(b, x);
  }
  llvm_unreachable("no such activation");
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

Value LayerBuilder::embed(Value ids) {
  name("embedding");
  embedding = weight({Part::embedding}, {config.vocabulary, config.width},
                     tokens.element);
  Value x =
      scaled(nn::GatherOp::create(b, embedding, ids, 0), config.embeddingScale);
  if (!config.learnsPositions)
    return x;
  name("positions");
  Value rows = weight({Part::positions}, {config.maxPositions, config.width},
                      tokens.element);
  return b.add(x, nn::GatherOp::create(b, rows, tokens.positions, 0));
}

Value LayerBuilder::layer(Value x, int64_t index, Cache &cache) {
  auto branch = [&](Part before, Part after, auto compute) {
    std::string node = "layers." + std::to_string(index);
    name(node + ".norm");
    Value y = config.normsBefore ? norm(x, {before, index}) : x;
    y = compute(y);
    name(node + ".sum");
    if (config.normsAfter)
      y = norm(y, {after, index});
    x = b.add(x, scaled(y, config.residualScale));
  };
  branch(Part::attentionNorm, Part::afterAttentionNorm,
         [&](Value y) { return attention(y, index, cache); });
  branch(Part::feedForwardNorm, Part::afterFeedForwardNorm,
         [&](Value y) { return feedForward(y, index); });
  return x;
}

Value LayerBuilder::feedForward(Value x, int64_t index) {
  std::string node = "layers." + std::to_string(index);
  int64_t size = config.feedForward;
  bool hasBias = config.feedForwardBias;
  Value y;
  if (config.joinsGate) {
    name(node + ".gate_up");
    Value both = product(x, {Part::gateUp, index}, 2 * size, hasBias);
    y = b.mul(activate(columns(both, 0, size)), columns(both, size, size));
  } else {
    name(node + ".up");
    Value up = product(x, {Part::up, index}, size, hasBias);
    name(node + ".gate");
    y = config.hasGate
            ? b.mul(activate(product(x, {Part::gate, index}, size, hasBias)),
                    up)
            : activate(up);
  }
  name(node + ".down");
  return product(y, {Part::down, index}, config.width, hasBias);
}

Value LayerBuilder::logits(Value x) {
  name("norm");
  x = norm(x, {Part::lastNorm});
  name("head");
  Value head = config.tiesHead
                   ? embedding
                   : weight({Part::head}, {config.vocabulary, config.width},
                            tokens.element);
  Value y = nn::MatmulOp::create(b, x, head, /*transpose_a=*/false,
                                 /*transpose_b=*/true);
  y = b.cast(y, b.getF32Type());
  return capped(scaled(y, config.logitScale), config.logitCap);
}
