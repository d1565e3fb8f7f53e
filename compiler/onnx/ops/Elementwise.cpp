//===- Elementwise.cpp - Elementwise operators ----------------------------===//

#include "compiler/onnx/indexing/Positions.h"
#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"
#include "dialects/nn/Fold.h"
#include "dialects/nn/training/Random.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Imports binary operators. Before opset 7 broadcasting was an attribute, with
/// the first dimension of the second input as another.
template <typename Op> static Results binary(Node &node) {
  if (std::is_same_v<Op, nn::MulOp>)
    multiplyPositions(node);
  if (std::is_same_v<Op, nn::AddOp>)
    addPositions(node);
  Expr a = input(node, 0), b = input(node, 1);
  if (node.opset < 7 && node.integer("broadcast", 0) && a && b &&
      node.attribute("axis")) {
    int64_t axis = node.axis(node.integer("axis", 0), a.rank());
    auto form = b.shape();
    for (int64_t dim = axis + b.rank(); dim < a.rank(); ++dim)
      form.push_back(1);
    b = b.reshape(form);
  }
  return {a.apply<Op>({b})};
}

/// Imports Max, Min and Sum: combines any number of inputs pairwise.
template <typename Op> static Results fold(Node &node) {
  Value result = node.input(0);
  for (size_t i = 1; i < node.inputs().size(); ++i)
    result = node.create<Op>({result, node.input(i)});
  return {result};
}

static Results meanOfInputs(Node &node) {
  Value sum = fold<nn::AddOp>(node)[0];
  return {node.create<nn::DivOp>(
      {sum, node.scalar(sum, static_cast<double>(node.inputs().size()))})};
}

static Value clamp(Node &node, Value x, Value low, Value high) {
  if (low)
    x = node.create<nn::MaxOp>({x, low});
  if (high)
    x = node.create<nn::MinOp>({x, high});
  return x;
}

/// Imports Clip before opset 11: bounds are attributes, the largest floats by
/// default.
static Results clipByAttributes(Node &node) {
  Value x = node.input(0), low, high;
  if (node.attribute("min"))
    low = node.scalar(x, node.real("min", 0));
  if (node.attribute("max"))
    high = node.scalar(x, node.real("max", 0));
  return {clamp(node, x, low, high)};
}

static Results clip(Node &node) {
  Value x = node.input(0);
  return {clamp(node, x, node.has(1) ? node.input(1) : Value(),
                node.has(2) ? node.input(2) : Value())};
}

static Value isBelow(Node &node, Value x, Value bound) {
  return node.create<nn::LessOp>({x, bound});
}

/// Builds x where x > 0, else slope · x. At 0 the slope is that of the other
/// side, as in LeakyRelu and in PyTorch.
static Results prelu(Node &node) {
  Value x = node.input(0), slope = node.input(1);
  // Before opset 7 a 1-d slope belonged to the channels.
  if (node.opset < 7 && x && slope && rankOf(slope) == 1 && rankOf(x) > 1) {
    SmallVector<int64_t> column(rankOf(x) - 1, 1);
    column[0] = sizes(slope)[0];
    slope = node.reshape(slope, column);
  }
  Value scaled = node.create<nn::MulOp>({x, slope});
  return {node.create<nn::WhereOp>(
      {isBelow(node, node.scalar(x, 0), x), x, scaled})};
}

/// Builds x where x > 0, else alpha · (e^(x / alpha) - 1).
static Results celu(Node &node) {
  Value x = node.input(0), alpha = node.scalar(x, node.real("alpha", 1));
  Value power = node.create<nn::ExpOp>(node.create<nn::DivOp>({x, alpha}));
  Value below = node.create<nn::MulOp>(
      {alpha, node.create<nn::SubOp>({power, node.scalar(x, 1)})});
  return {node.create<nn::WhereOp>(
      {isBelow(node, x, node.scalar(x, 0)), below, x})};
}

static Results thresholdedRelu(Node &node) {
  Value x = node.input(0), alpha = node.scalar(x, node.real("alpha", 1));
  Value kept = node.create<nn::GreaterOp>({x, alpha});
  return {node.create<nn::WhereOp>({kept, x, node.scalar(x, 0)})};
}

/// Returns integers as floats, which are compared with numbers that no integer
/// of their type is.
static Expr asFloats(Expr x) {
  if (!x || x.isFloat())
    return x;
  OpBuilder &b = x.node->builder();
  bool isShort = x.element().getIntOrFloatBitWidth() <= 16;
  return x.to(isShort ? Type(b.getF32Type()) : b.getF64Type());
}

/// Builds x + bias below -lambd, x - bias above lambd, 0 between.
static Results shrink(Node &node) {
  Expr x = input(node, 0), wide = asFloats(x);
  double bias = node.real("bias", 0), lambd = node.real("lambd", 0.5);
  Expr high = (wide > lambd).select(wide - bias, wide.number(0));
  return {(wide < -lambd).select(wide + bias, high).to(x.element())};
}

static Results isInf(Node &node) {
  Value x = node.input(0);
  bool low = node.integer("detect_negative", 1);
  bool high = node.integer("detect_positive", 1);
  if (!x)
    return {};
  if (!isa<FloatType>(elementOf(x))) {
    node.error() << "must have float elements, not " << elementOf(x);
    return {};
  }
  double infinity = std::numeric_limits<double>::infinity();
  if (!low && !high)
    return {node.expand(node.scalar(node.builder().getI1Type(), 0),
                        nn::shapeOf(x))};
  Value size = low && high ? node.create<nn::AbsOp>(x) : x;
  return {node.create<nn::EqualOp>(
      {size, node.scalar(x, high ? infinity : -infinity)})};
}

/// Builds x · sigmoid(alpha · x).
static Results swish(Node &node) {
  Value x = node.input(0);
  double alpha = node.real("alpha", 1);
  if (alpha == 1)
    return {node.create<nn::SiluOp>(x)};
  Value scaled = node.create<nn::MulOp>({x, node.scalar(x, alpha)});
  return {node.create<nn::MulOp>({x, node.create<nn::SigmoidOp>(scaled)})};
}

/// Casts with the node's attributes for values that do not fit into small
/// types.
static Results castTo(Node &node, Type element) {
  bool saturates = node.integer("saturate", 1);
  StringRef round = node.string("round_mode", "up");
  Value x = node.input(0);
  if (!x || elementOf(x) == element)
    return {x};
  SmallVector<NamedAttribute> attributes = {
      node.named("to", TypeAttr::get(element))};
  if (nn::isSmall(element)) {
    attributes.push_back(
        node.named("round", node.builder().getStringAttr(round)));
    if (!saturates)
      attributes.push_back(node.named("wraps", node.builder().getUnitAttr()));
  }
  return {node.create<nn::CastOp>(x, attributes)};
}

static Results cast(Node &node) {
  int64_t to = node.integer("to", 0);
  Type element = elementType(to, *node.context());
  if (!element) {
    node.error() << "element type " << dataTypeName(to) << " is not supported";
    return {};
  }
  return castTo(node, element);
}

static Results castLike(Node &node) {
  Value like = node.input(1);
  return like ? castTo(node, elementOf(like)) : Results();
}

static Results bitCast(Node &node) {
  int64_t to = node.integer("to", 0);
  Value x = node.input(0);
  Type element = elementType(to, *node.context());
  if (!element) {
    node.error() << "element type " << dataTypeName(to) << " is not supported";
    return {};
  }
  auto bits = [](Type type) {
    return type.isInteger(1) ? 8 : type.getIntOrFloatBitWidth();
  };
  if (x && bits(elementOf(x)) != bits(element)) {
    node.error() << "elements of " << elementOf(x) << " have other bits than "
                 << element;
    return {};
  }
  return {
      node.create<nn::BitCastOp>(x, node.named("to", TypeAttr::get(element)))};
}

static Results identity(Node &node) { return {node.input(0)}; }

/// Returns the share of elements that a Dropout node drops: an input, before
/// opset 12 an attribute.
static double dropoutRate(Node &node) {
  if (!node.has(1))
    return node.real("ratio", 0.5);
  DenseElementsAttr rate = nn::constantValue(node.input(1));
  if (rate && rate.getNumElements() == 1)
    return rate.getValues<APFloat>()[0].convertToDouble();
  node.error() << "its ratio is not constant";
  return 0;
}

/// Imports Dropout, which drops nothing but in a training step. There it does
/// unless the node says that it is in inference mode: PyTorch's exporters write
/// the dropout of attention without a mode, and a file for inference has nodes
/// to drop where the model does.
static Results dropout(Node &node) {
  Value x = node.input(0);
  bool hasMode = node.has(2);
  bool isInTraining = hasMode && node.integer(2).value_or(0);
  bool isTest = node.integer("is_test", 0);
  node.ignore("seed");
  node.ignore("ratio");
  if (isInTraining)
    node.noteTrainingMode();
  if (!x)
    return {};
  Value y = x;
  if (node.modelTrains() && !isTest && (isInTraining || !hasMode)) {
    y = node.create<nn::DropoutOp>(
        x,
        node.named("rate", node.builder().getF32FloatAttr(dropoutRate(node))));
    if (y && isInTraining)
      y.getDefiningOp()->setAttr("nn.in_training_mode",
                                 node.builder().getUnitAttr());
  }
  if (!node.wants(1) || !y)
    return {y};
  Type mask = node.opset < 10 ? elementOf(x) : node.builder().getI1Type();
  return {y, node.expand(node.scalar(mask, 1), nn::shapeOf(x))};
}

/// Builds 1 above the threshold, otherwise 0.
static Results binarizer(Node &node) {
  Expr x = input(node, 0);
  double threshold = node.real("threshold", 0);
  return {(asFloats(x) > threshold).to(x.element())};
}

ArrayRef<Hook> frit::importer::elementwiseHooks() {
  static constexpr Hook hooks[] = {
      {"Add", 1, 2, 2, binary<nn::AddOp>, takesCounts},
      {"Sub", 1, 2, 2, binary<nn::SubOp>, takesCounts},
      {"Mul", 1, 2, 2, binary<nn::MulOp>, takesCounts},
      {"Div", 1, 2, 2, binary<nn::DivOp>, takesCounts},
      {"Pow", 1, 2, 2, binary<nn::PowOp>, takesCounts},
      {"And", 1, 2, 2, binary<nn::AndOp>, takesCounts},
      {"Or", 1, 2, 2, binary<nn::OrOp>, takesCounts},
      {"Xor", 1, 2, 2, binary<nn::XorOp>, takesCounts},
      {"Equal", 1, 2, 2, binary<nn::EqualOp>, takesCounts},
      {"Less", 1, 2, 2, binary<nn::LessOp>, takesCounts},
      {"Greater", 1, 2, 2, binary<nn::GreaterOp>, takesCounts},
      {"Max", 1, 1, -1, fold<nn::MaxOp>, takesCounts},
      {"Min", 1, 1, -1, fold<nn::MinOp>, takesCounts},
      {"Sum", 1, 1, -1, fold<nn::AddOp>, takesCounts},
      {"Mean", 1, 1, -1, meanOfInputs, takesCounts},
      {"Clip", 1, 1, 1, clipByAttributes, takesCounts},
      {"Clip", 11, 1, 3, clip, takesCounts},
      {"PRelu", 1, 2, 2, prelu, takesCounts},
      {"Celu", 12, 1, 1, celu, takesCounts},
      {"ThresholdedRelu", 10, 1, 1, thresholdedRelu, takesCounts},
      {"Shrink", 9, 1, 1, shrink, takesCounts},
      {"IsInf", 10, 1, 1, isInf, takesCounts},
      {"Swish", 24, 1, 1, swish, takesCounts},
      {"Cast", 6, 1, 1, cast, takesCounts},
      {"CastLike", 15, 2, 2, castLike, takesCounts},
      {"BitCast", 26, 1, 1, bitCast, takesCounts},
      {"Identity", 1, 1, 1, identity, takesLists | takesCounts},
      {"Dropout", 1, 1, 3, dropout, takesCounts},
      {"ai.onnx.ml::Binarizer", 1, 1, 1, binarizer, takesCounts},
  };
  return hooks;
}
