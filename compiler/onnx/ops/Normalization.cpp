//===- Normalization.cpp - Softmax and the norms --------------------------===//

#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Imports Softmax before opset 13: over all dimensions from the axis on.
template <typename Op> static Results softmaxOfRows(Node &node) {
  Value x = node.input(0);
  if (!x)
    return {};
  int64_t axis = node.axis(node.integer("axis", 1), rankOf(x));
  if (axis == rankOf(x) - 1)
    return {node.create<Op>(x, node.namedSigned("axis", -1))};
  auto shape = nn::shapeOf(x);
  Value rows = node.reshape(
      x, {product(shape.take_front(axis)), product(shape.drop_front(axis))});
  return {
      node.reshape(node.create<Op>(rows, node.namedSigned("axis", -1)), shape)};
}

static NamedAttribute epsilon(Node &node) {
  return node.named("epsilon",
                    node.builder().getF32FloatAttr(node.real("epsilon", 1e-5)));
}

/// Normalizes by the batch's own statistics and updates the running ones.
static Results trainBatchNorm(Node &node, double momentum) {
  Expr x = input(node, 0), wide = x.to(nn::workType(x.element()));
  if (!x || x.rank() < 2) {
    if (!node.failed)
      node.error() << "needs channels";
    return {};
  }
  SmallVector<int64_t> axes, column(x.rank() - 1, 1);
  for (int64_t dim = 0; dim < x.rank(); ++dim)
    if (dim != 1)
      axes.push_back(dim);
  column[0] = x.size(1);
  auto meanOf = [&](Expr v) {
    return v.apply<nn::ReduceMeanOp>({}, node.named("axes", axes))
        .reshape(x.size(1));
  };
  Expr mean = meanOf(wide), centred = wide - mean.reshape(column);
  Expr variance = meanOf(centred * centred);
  Value operands[] = {x, node.input(1), node.input(2), mean, variance};
  Value y = node.create<nn::BatchNormOp>(operands, epsilon(node));
  auto move = [&](Expr running, Expr now) {
    Expr moved = running.to(now.element()) * momentum + now * (1 - momentum);
    return moved.to(running.element());
  };
  return {y, move(input(node, 3), mean), move(input(node, 4), variance)};
}

/// Returns whether the file has the node in training mode. That is an
/// attribute; before opset 14 (7) it follows from the outputs.
static bool isInTrainingMode(Node &node) {
  bool trains = node.integer("training_mode", 0);
  if (node.opset < 7 && node.integer("is_test", 0) == 0)
    trains = node.wants(1);
  trains |= node.opset < 14 && node.wants(1);
  if (trains)
    node.noteTrainingMode();
  // PyTorch's newer exporter writes the node of inference for both modes, and
  // the module's call in the metadata.
  StringRef call = node.metadata("pkg.torch.onnx.fx_node");
  return trains ||
         (node.modelTrains() && (call.contains("batch_norm_legit_functional") ||
                                 call.contains("batch_norm_with_update")));
}

static Results batchNorm(Node &node) {
  double momentum = node.real("momentum", 0.9);
  if (!node.integer("spatial", 1))
    node.error() << "statistics for every element (spatial = 0) are not "
                    "supported";
  bool trains = isInTrainingMode(node);
  if (trains && !node.modelTrains())
    return trainBatchNorm(node, momentum);
  Value y = node.create<nn::BatchNormOp>(node.inputs(), epsilon(node));
  if (y && trains)
    y.getDefiningOp()->setAttr("nn.in_training_mode",
                               node.builder().getUnitAttr());
  // ONNX's momentum is the weight of the old statistics.
  if (y && node.modelTrains() && std::abs(momentum - 0.9) > 1e-6)
    y.getDefiningOp()->setAttr("nn.momentum",
                               node.builder().getF64FloatAttr(1 - momentum));
  if (!trains)
    return {y};
  return {y, node.input(3), node.input(4)};
}

/// Builds x / norm along an axis. The norm is the sum of absolute values (p =
/// 1), or the root of the sum of squares. The result is 0 if the norm is 0.
static Results lpNorm(Node &node) {
  Expr given = input(node, 0), x = given.to(nn::workType(given.element()));
  int64_t axis = node.integer("axis", -1), p = node.integer("p", 2);
  if (!x)
    return {};
  axis = node.axis(axis, x.rank());
  if (p != 1 && p != 2)
    node.error() << "p must be 1 or 2, not " << p;
  Expr size = p == 1 ? x.apply<nn::AbsOp>() : x * x;
  Expr length = size.sum(axis);
  if (p == 2)
    length = length.apply<nn::SqrtOp>();
  // Divides by 1 instead of 0, so that the gradient is no NaN either.
  Expr divisor = length.equals(x.number(0)).select(x.number(1), length);
  return {(x / divisor).to(given.element())};
}

/// Broadcasts an operand of a norm to the normalized dimensions.
static Value broadcastTo(Node &node, Value x, ArrayRef<int64_t> shape) {
  if (!x || nn::shapeOf(x) == shape)
    return x;
  auto result = nn::broadcastShapes({nn::shapeOf(x), shape});
  if (!result || ArrayRef(*result) != shape) {
    node.error() << nn::shapeText(nn::shapeOf(x)) << " does not broadcast to "
                 << nn::shapeText(shape);
    return {};
  }
  return node.expand(x, *result);
}

static Results layerNorm(Node &node) {
  // Statistics are always computed in at least f32.
  node.ignore("stash_type");
  Value x = node.input(0);
  if (!x)
    return {};
  int64_t axis = node.axis(node.integer("axis", -1), rankOf(x));
  if (node.failed)
    return {};
  auto normal = nn::shapeOf(x).drop_front(axis);
  Results operands = {x, broadcastTo(node, node.input(1), normal)};
  if (node.has(2))
    operands.push_back(broadcastTo(node, node.input(2), normal));
  NamedAttribute eps = epsilon(node);
  Value y = node.create<nn::LayerNormOp>(operands,
                                         {node.namedSigned("axis", axis), eps});
  if (!node.wants(1) && !node.wants(2))
    return {y};

  auto axes = llvm::to_vector(llvm::seq<int64_t>(axis, rankOf(x)));
  auto meanOf = [&](Value v) {
    return node.create<nn::ReduceMeanOp>(v, node.named("axes", axes));
  };
  Value wide = node.cast(x, node.builder().getF32Type());
  Value mean = meanOf(wide), rest = node.create<nn::SubOp>({wide, mean});
  Value variance = meanOf(node.create<nn::MulOp>({rest, rest}));
  Value deviation = node.create<nn::AddOp>(
      {variance, node.scalar(wide, node.real("epsilon", 1e-5))});
  return {y, mean, node.create<nn::RsqrtOp>(deviation)};
}

static Results rmsNorm(Node &node) {
  node.ignore("stash_type");
  Value x = node.input(0);
  if (!x)
    return {};
  int64_t axis = node.axis(node.integer("axis", -1), rankOf(x));
  if (node.failed)
    return {};
  Value scale =
      broadcastTo(node, node.input(1), nn::shapeOf(x).drop_front(axis));
  return {node.create<nn::RmsNormOp>(
      {x, scale}, {node.namedSigned("axis", axis), epsilon(node)})};
}

/// Normalizes each group of channels as a row, then scales and shifts by
/// `scale` and `bias`, reshaped to `affine`.
static Value normalizeGroups(Node &node, Value x, int64_t groups, Value scale,
                             Value bias, ArrayRef<int64_t> form,
                             ArrayRef<int64_t> affine) {
  auto shape = sizes(x);
  if (nn::tensorType(x).getNumElements() == 0)
    return x;
  int64_t length = product(ArrayRef(shape).drop_front(1)) / groups;
  Type element = nn::tensorType(x).getElementType();
  // PyTorch exports norms under autocast with parameters in f32.
  if (llvm::any_of(ValueRange{scale, bias}, [&](Value v) {
        return nn::tensorType(v).getElementType() != element;
      })) {
    Type work = nn::workType(element);
    x = node.cast(x, work);
    scale = node.cast(scale, work);
    bias = node.cast(bias, work);
  }
  Value rows = node.reshape(x, {shape[0], groups, length});
  Value ones = node.expand(node.scalar(x, 1), {length});
  Value y = node.create<nn::LayerNormOp>(
      {rows, ones}, {node.namedSigned("axis", -1), epsilon(node)});
  y = node.reshape(y, form);
  y = node.create<nn::MulOp>({y, node.reshape(scale, affine)});
  y = node.create<nn::AddOp>({y, node.reshape(bias, affine)});
  return node.cast(node.reshape(y, shape), element);
}

static bool checkChannels(Node &node, Value x, int64_t groups, int64_t affine) {
  Value scale = node.input(1), bias = node.input(2);
  if (!x || !scale || !bias)
    return false;
  if (rankOf(x) < 2 || groups < 1 || nn::shapeOf(x)[1] % groups) {
    node.error() << nn::shapeText(nn::shapeOf(x)) << " has no channels for "
                 << groups << " groups";
    return false;
  }
  for (Value v : {scale, bias})
    if (nn::shapeOf(v) != ArrayRef(affine)) {
      node.error() << "scale and bias must have " << affine << " elements";
      return false;
    }
  return true;
}

static Results instanceNorm(Node &node) {
  Value x = node.input(0);
  int64_t channels = x && rankOf(x) > 1 ? nn::shapeOf(x)[1] : 0;
  if (!checkChannels(node, x, channels, channels))
    return {};
  int64_t length = product(nn::shapeOf(x).drop_front(2));
  return {normalizeGroups(node, x, channels, node.input(1), node.input(2),
                          {nn::shapeOf(x)[0], channels, length},
                          {channels, 1})};
}

/// Imports GroupNormalization. Before opset 21, scale and bias are per group;
/// since then per channel.
static Results groupNorm(Node &node) {
  node.ignore("stash_type");
  Value x = node.input(0);
  int64_t groups = node.integer("num_groups", 0);
  int64_t channels = x && rankOf(x) > 1 ? nn::shapeOf(x)[1] : 0;
  int64_t affine = node.opset < 21 ? groups : channels;
  if (!checkChannels(node, x, groups, affine))
    return {};
  int64_t length = product(nn::shapeOf(x).drop_front(1)) / affine;
  return {normalizeGroups(node, x, groups, node.input(1), node.input(2),
                          {nn::shapeOf(x)[0], affine, length}, {affine, 1})};
}

/// Imports ONNX Runtime's GroupNorm and SkipGroupNorm, of tensors with their
/// channels last unless `channels_last` is 0. The latter adds a tensor and a
/// bias before, and also returns the sum.
static Results groupNormOfSum(Node &node) {
  Expr x = input(node, 0);
  int64_t groups = node.integer("groups", 0);
  bool isLast = node.integer("channels_last", 1);
  bool hasSilu = node.integer("activation", 0);
  int64_t rank = x.rank();
  if (!x || rank < 3) {
    if (!node.failed)
      node.error() << nn::shapeText(x.shape()) << " has no channels";
    return {};
  }
  for (size_t i : {3, 4})
    if (node.has(i)) {
      Expr other = input(node, i);
      // A tensor for each image is added to all its pixels.
      if (other.rank() == 2 && other.size(0) == x.size(0) && isLast) {
        SmallVector<int64_t> shape(rank, 1);
        shape.front() = other.size(0);
        shape.back() = other.size(1);
        other = other.reshape(shape);
      }
      x = x + other;
    }
  Expr sum = x;
  SmallVector<int64_t> first = {0, rank - 1}, last = {0};
  for (int64_t dim = 1; dim < rank - 1; ++dim) {
    first.push_back(dim);
    last.push_back(dim + 1);
  }
  last.push_back(1);
  if (isLast)
    x = x.transpose(first);
  int64_t channels = x.size(1);
  if (!x || !checkChannels(node, x, groups, channels))
    return {};
  int64_t length = product(x.shape()) / std::max<int64_t>(channels, 1) /
                   std::max<int64_t>(x.size(0), 1);
  auto affine = [&](size_t i) { return input(node, i).to(x.element()); };
  Expr y = {node,
            normalizeGroups(node, x, groups, affine(1), affine(2),
                            {x.size(0), channels, length}, {channels, 1})};
  if (hasSilu)
    y = y.apply<nn::SiluOp>();
  return {isLast ? y.transpose(last) : y, sum};
}

ArrayRef<Hook> frit::importer::normalizationHooks() {
  static constexpr Hook hooks[] = {
      {"Softmax", 1, 1, 1, softmaxOfRows<nn::SoftmaxOp>},
      {"LogSoftmax", 1, 1, 1, softmaxOfRows<nn::LogSoftmaxOp>},
      {"BatchNormalization", 1, 5, 5, batchNorm, takesCounts},
      {"LpNormalization", 1, 1, 1, lpNorm, takesCounts},
      {"LayerNormalization", 17, 2, 3, layerNorm, takesCounts},
      {"RMSNormalization", 23, 2, 2, rmsNorm, takesCounts},
      {"InstanceNormalization", 1, 3, 3, instanceNorm, takesCounts},
      {"GroupNormalization", 18, 3, 3, groupNorm, takesCounts},
      {"com.microsoft::GroupNorm", 1, 3, 3, groupNormOfSum},
      {"com.microsoft::SkipGroupNorm", 1, 4, 5, groupNormOfSum},
  };
  return hooks;
}
