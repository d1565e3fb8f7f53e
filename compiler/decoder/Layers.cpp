//===- Layers.cpp - The layers of a decoder as nn operators ---------------===//
//
// Types are those of transformers: activations have the model's type; norms,
// rotation and softmax are f32. What fusions and kernels know stays whole:
// nn.rms_norm, nn.attention with ranges of keys, nn.silu, nn.update.
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/Layers.h"
#include "compiler/decoder/TensorNames.h"

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

TensorId LayerBuilder::ownId(const TensorId &id) const {
  TensorId own = id;
  own.isEncoder = tokens.isEncoder && id.part != Part::embedding;
  return own;
}

Value LayerBuilder::weight(const TensorId &id, ArrayRef<int64_t> shape,
                           Type element) {
  Value found = weights.build(b, ownId(id), shape, element);
  if (found)
    return found;
  hasFailed = true;
  return b.zeros(RankedTensorType::get(shape, element));
}

/// Builds the product with a matrix, taking the inputs in the order of its
/// columns.
Value LayerBuilder::multiply(Value x, const TensorId &id, int64_t outputs,
                             bool inputsFirst) {
  SmallVector<int64_t> shape{outputs, nn::shapeOf(x).back()};
  if (inputsFirst)
    std::swap(shape[0], shape[1]);
  Value matrix = weight(id, shape, tokens.element);
  if (ElementsAttr order = weights.inputOrder(ownId(id)))
    x = nn::GatherOp::create(b, x, nn::ConstantOp::create(b, order, nullptr),
                             int64_t(nn::shapeOf(x).size()) - 1);
  return nn::MatmulOp::create(b, x, matrix, /*transpose_a=*/false,
                              /*transpose_b=*/!inputsFirst);
}

Value LayerBuilder::product(Value x, const TensorId &id, int64_t outputs,
                            bool hasBias) {
  Value product = multiply(x, id, outputs, config.storesInputsFirst);
  if (tokens.loraRank)
    product = b.add(product, adapted(x, id, outputs));
  if (!hasBias)
    return product;
  TensorId bias = id;
  bias.isBias = true;
  return b.add(product, weight(bias, {outputs}, tokens.element));
}

/// Builds what an adapter of low rank adds to a product (Hu et al., "LoRA",
/// arXiv:2106.09685): x · Aᵀ · Bᵀ, where B has the adapter's scale.
Value LayerBuilder::adapted(Value x, const TensorId &id, int64_t outputs) {
  std::string module = moduleName(config, id);
  Value a = tokens.addAdapter(module + ".lora_A",
                              {tokens.loraRank, nn::shapeOf(x).back()});
  Value y = nn::MatmulOp::create(b, x, a, /*transpose_a=*/false,
                                 /*transpose_b=*/true);
  a = tokens.addAdapter(module + ".lora_B", {outputs, tokens.loraRank});
  return nn::MatmulOp::create(b, y, a, /*transpose_a=*/false,
                              /*transpose_b=*/true);
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
  case Activation::quickGelu: {
    Value wide = b.cast(x, b.getF32Type());
    Value share =
        nn::SigmoidOp::create(b, b.mul(wide, b.scalarLike(wide, 1.702)));
    return b.cast(b.mul(wide, share), nn::tensorType(x).getElementType());
  }
  case Activation::relu:
    return nn::ReluOp::create(b, x);
  case Activation::reluSquared: {
    Value y = nn::ReluOp::create(b, x);
    return b.mul(y, y);
  }
  case Activation::tanh:
    return nn::TanhOp::create(b, x);
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
  if (!config.learnsPositions || tokens.isEncoder)
    return x;
  name("positions");
  Value rows = weight({Part::positions}, {config.maxPositions, config.width},
                      tokens.element);
  return b.add(x, nn::GatherOp::create(b, rows, tokens.positions, 0));
}

/// Builds x + after(compute(before(x))).
Value LayerBuilder::branch(Value x, int64_t index, Part before, Part after,
                           llvm::function_ref<Value(Value)> compute) {
  std::string node = nodeOf(index);
  name(node + ".norm");
  Value y = config.normsBefore ? norm(x, {before, index}) : x;
  y = compute(y);
  name(node + ".sum");
  if (config.normsAfter)
    y = norm(y, {after, index});
  return b.add(x, scaled(y, config.residualScale));
}

Value LayerBuilder::layer(Value x, int64_t index, Cache &cache,
                          const Cache *source) {
  x = branch(x, index, Part::attentionNorm, Part::afterAttentionNorm,
             [&](Value y) { return attention(y, index, &cache); });
  if (source)
    x = branch(x, index, Part::crossNorm, Part::crossNorm,
               [&](Value y) { return attendSource(y, index, *source); });
  return branch(x, index, Part::feedForwardNorm, Part::afterFeedForwardNorm,
                [&](Value y) { return feedForward(y, index); });
}

Value LayerBuilder::encoderLayer(Value x, int64_t index) {
  x = branch(x, index, Part::attentionNorm, Part::afterAttentionNorm,
             [&](Value y) { return attention(y, index, nullptr); });
  return branch(x, index, Part::feedForwardNorm, Part::afterFeedForwardNorm,
                [&](Value y) { return feedForward(y, index); });
}

Value LayerBuilder::lastNorm(Value x) {
  name("norm");
  return norm(x, {Part::lastNorm});
}

/// Builds two convolutions, the second of which halves the frames, and adds the
/// positions.
Value LayerBuilder::embedSound(Value features) {
  Value x = features;
  int64_t inputs = nn::shapeOf(x)[1];
  for (auto [part, stride] : {std::pair(Part::firstConv, int64_t(1)),
                              std::pair(Part::secondConv, int64_t(2))}) {
    name(part == Part::firstConv ? "encoder.conv1" : "encoder.conv2");
    Value filter = weight({part}, {config.width, inputs, 3}, tokens.element);
    TensorId id{part};
    id.isBias = true;
    Value bias = weight(id, {config.width}, tokens.element);
    x = nn::ConvOp::create(b, x, filter, bias, ArrayRef<int64_t>{stride},
                           ArrayRef<int64_t>{1, 1}, ArrayRef<int64_t>{1});
    x = activate(x);
    inputs = config.width;
  }
  name("encoder.positions");
  x = nn::TransposeOp::create(b, x, ArrayRef<int64_t>{0, 2, 1});
  return b.add(x, weight({Part::positions}, {tokens.queries, config.width},
                         tokens.element));
}

Value LayerBuilder::feedForward(Value x, int64_t index) {
  std::string node = nodeOf(index);
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
  x = lastNorm(x);
  name("head");
  Value y;
  if (config.tiesHead)
    y = nn::MatmulOp::create(b, x, embedding, /*transpose_a=*/false,
                             /*transpose_b=*/true);
  else
    y = multiply(x, {Part::head}, config.vocabulary, /*inputsFirst=*/false);
  y = b.cast(y, b.getF32Type());
  return capped(scaled(y, config.logitScale), config.logitCap);
}
