//===- Shape.cpp - Constants, shapes and views ----------------------------===//
//
// Shapes are static, so shape arithmetic folds: every operator on small
// constants becomes a constant when it is created. The operators here read
// these constants.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/indexing/OpenPlaces.h"
#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

#include "dialects/nn/Fold.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

static Results constant(Node &node) {
  OpBuilder &b = node.builder();
  auto vector = [&](size_t size, Type element) {
    return RankedTensorType::get({static_cast<int64_t>(size)}, element);
  };
  if (Value value = node.tensorValue("value"))
    return {value};
  if (auto value = node.attribute("value_string"))
    return {node.stringTensor({}, {text(value->s())})};
  if (node.attribute("value_strings")) {
    auto texts = node.strings("value_strings");
    return {node.stringTensor({static_cast<int64_t>(texts.size())}, texts)};
  }
  if (auto value = node.attribute("value_float"))
    return {node.constant(DenseElementsAttr::get(
        RankedTensorType::get({}, b.getF32Type()), value->f()))};
  if (auto value = node.attribute("value_int"))
    return {node.constant(DenseElementsAttr::get(
        RankedTensorType::get({}, b.getI64Type()), value->i()))};
  if (auto value = node.attribute("value_floats"))
    return {node.constant(DenseElementsAttr::get(
        vector(value->floats_size(), b.getF32Type()),
        ArrayRef(value->floats().data(), value->floats_size())))};
  if (auto value = node.integers("value_ints"))
    return {node.constant(*value)};
  if (!node.failed)
    node.error() << "its value is neither a tensor nor a number";
  return {};
}

/// Broadcasts a tensor to other sizes.
static Value expandTo(Node &node, Value x, ArrayRef<Size> sizes) {
  SmallVector<int64_t> shape;
  for (const Size &size : sizes)
    shape.push_back(node.dataSizes().mostOf(size));
  if (!isStatic(sizes) && !node.mayHold(shape))
    return {};
  return node.marked(node.expand(unmarked(x), shape), sizes);
}

static Results constantOfShape(Node &node) {
  auto sizes = node.shapeIn(0);
  Value value = node.constant(node.tensor("value"));
  if (!value)
    value = node.scalar(node.builder().getF32Type(), 0);
  if (!sizes || node.failed)
    return {};
  return {expandTo(node, node.reshape(value, {}), *sizes)};
}

static Results shape(Node &node) {
  Value x = node.input(0);
  if (!x)
    return {};
  int64_t rank = rankOf(x);
  auto clampAxis = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  int64_t start = clampAxis(node.integer("start", 0));
  int64_t end = clampAxis(node.integer("end", rank));
  int64_t count = std::max<int64_t>(end - start, 0);
  if (!isMarked(x))
    return {node.constant(nn::shapeOf(x).slice(start, count))};
  SmallVector<Value> sizes;
  DataShape shape = node.dataShape(x);
  for (const Size &size : ArrayRef(shape).slice(start, count))
    sizes.push_back(node.reshape(node.dataSizes().valueOf(node, size),
                                 ArrayRef<int64_t>(1)));
  if (sizes.empty())
    return {node.constant(ArrayRef<int64_t>())};
  return {sizes.size() == 1 ? sizes[0] : node.concat(sizes, 0)};
}

static Results size(Node &node) {
  Value x = node.input(0);
  if (!x)
    return {};
  Size all = 1;
  for (const Size &size : node.dataShape(x))
    all = node.dataSizes().times(node, all, size);
  return {node.dataSizes().valueOf(node, all)};
}

/// Builds a range whose start and step are constant and whose limit depends on
/// the data.
static std::optional<Results> dataDependentRange(Node &node) {
  DataSizes &sizes = node.dataSizes();
  auto number = [&](size_t i) {
    Value input = node.input(i);
    if (DenseElementsAttr known = nn::constantValue(input, 1);
        known && isa<FloatType>(known.getElementType())) {
      double value = (*known.value_begin<APFloat>()).convertToDouble();
      return std::abs(value) < 1 << 24 && value == std::trunc(value)
                 ? std::optional(Size(static_cast<int64_t>(value)))
                 : std::nullopt;
    }
    auto elements = node.boundElements(input);
    return elements && elements->size() == 1 ? std::optional(elements->front())
                                             : std::nullopt;
  };
  auto first = number(0), end = number(1), by = number(2);
  if (!first || !end || !by || !by->isKnown() || by->constant <= 0 ||
      (first->isKnown() && end->isKnown()))
    return std::nullopt;
  const Size &start = *first, &limit = *end, &delta = *by;
  Size span = DataSizes::plus(limit, DataSizes::times(start, -1));
  Size count = sizes.quotient(
      node, DataSizes::plus(sizes.largest(node, 0, span), delta.constant - 1),
      delta.constant);
  int64_t most = sizes.mostOf(count);
  if (!node.mayHold(most))
    return Results();
  Value all = node.create<nn::IotaOp>(
      {node.reshape(node.input(0), {}), node.reshape(node.input(2), {})},
      {node.named("shape", ArrayRef(most)),
       node.named("axis", node.builder().getI64IntegerAttr(0))});
  return Results{node.marked(all, count)};
}

static Results range(Node &node) {
  if (node.has(0) && node.has(1) && node.has(2))
    if (auto counted = dataDependentRange(node))
      return *counted;
  if (Value limit = node.has(1) ? node.input(1) : Value();
      limit && isa<IntegerType>(elementOf(limit)) &&
      !nn::constantValue(limit)) {
    node.notBounded(1);
    return {};
  }
  auto start = number(node, 0), limit = number(node, 1),
       delta = number(node, 2);
  if (!start || !limit || !delta)
    return {};
  double count = std::ceil((*limit - *start) / *delta);
  // Also if delta is 0 or a number is NaN.
  if (!(std::abs(count) < 1e15)) {
    node.error() << "has no end: delta is 0 or a number is not finite";
    return {};
  }
  int64_t shape = std::max(count, 0.0);
  Value first = node.reshape(node.input(0), {}),
        step = node.reshape(node.input(2), {});
  if (node.computesPlaces() && shape > 0)
    return {openIota(node, first, step, shape).value};
  return {node.create<nn::IotaOp>(
      {first, step},
      {node.named("shape", ArrayRef(shape)),
       node.named("axis", node.builder().getI64IntegerAttr(0))})};
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static Results reshape(Node &node) {
  Value x = node.input(0);
  // Before opset 5 the shape is an attribute.
  std::optional<DataShape> asked;
  if (node.opset >= 5)
    asked = node.sizesIn(1);
  else if (auto shape = node.integers("shape"))
    asked.emplace(shape->begin(), shape->end());
  bool zeroIsSize = node.integer("allowzero", 0);
  if (!x || !asked)
    return {};
  DataSizes &sizes = node.dataSizes();
  DataShape from = node.dataShape(x), shape = *asked;
  auto doesNotFit = [&]() -> Results {
    node.error() << "cannot reshape " << nn::shapeText(nn::shapeOf(x)) << " to "
                 << llvm::join(llvm::map_range(*asked,
                                               [&](const Size &size) {
                                                 return sizes.text(size);
                                               }),
                               "x");
    return {};
  };
  auto open = shape.end();
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (size == Size(0) && !zeroIsSize) {
      if (static_cast<int64_t>(i) >= rankOf(x))
        return doesNotFit();
      size = from[i];
    } else if (size == Size(-1) && open == shape.end()) {
      open = &size;
      size = 1;
    } else if (sizes.rangeOf(size).most < 0) {
      return doesNotFit();
    }
  }
  Size total = 1, given = 1;
  for (const Size &size : from)
    total = sizes.times(node, total, size);
  for (const Size &size : shape)
    given = sizes.times(node, given, size);
  if (open != shape.end()) {
    std::optional<Size> rest =
        given == Size(0) || (total.isKnown() && given.isKnown() &&
                             total.constant % given.constant)
            ? std::nullopt
            : node.ratio(total, given);
    if (!rest)
      return doesNotFit();
    *open = *rest;
  } else if ((total.isKnown() || given.isKnown()) && !(given == total)) {
    return doesNotFit();
  }
  return {node.reshapeTo(x, shape)};
}

static Results flatten(Node &node) {
  Value x = node.input(0);
  if (!x)
    return {};
  int64_t rank = rankOf(x), axis = node.integer("axis", 1);
  // The axis may be one past the last.
  axis = axis == rank ? rank : node.axis(axis, rank);
  auto shape = nn::shapeOf(x);
  return {node.reshape(
      x, {product(shape.take_front(axis)), product(shape.drop_front(axis))})};
}

/// Returns the axes of Squeeze and Unsqueeze: an attribute before opset 13,
/// then an input.
static std::optional<SmallVector<int64_t>> axesOf(Node &node) {
  if (node.has(1))
    return node.integers(1);
  return node.integers("axes");
}

static Results squeeze(Node &node) {
  Value x = node.input(0);
  if (!x)
    return {};
  auto given = axesOf(node);
  SmallVector<int64_t> drop, kept;
  if (given)
    drop = node.axes(*given, rankOf(x));
  for (auto [i, size] : llvm::enumerate(nn::shapeOf(x))) {
    bool isOne = size == 1 && node.dataShape(x)[i] == Size(1);
    bool dropped = given ? llvm::is_contained(drop, i) : isOne;
    if (dropped && size != 1) {
      node.error() << "cannot drop axis " << i << " of "
                   << nn::shapeText(nn::shapeOf(x));
      return {};
    }
    if (!dropped)
      kept.push_back(size);
  }
  return {node.reshape(x, kept)};
}

static Results unsqueeze(Node &node) {
  Value x = node.input(0);
  auto given = axesOf(node);
  if (!given && !node.failed)
    node.error() << "has no axes";
  if (!x || !given)
    return {};
  int64_t rank = rankOf(x) + given->size();
  SmallVector<int64_t> added = node.axes(*given, rank), shape;
  if (node.failed)
    return {};
  const int64_t *next = nn::shapeOf(x).begin(), *one = added.begin();
  for (int64_t i = 0; i < rank; ++i) {
    bool isNew = one != added.end() && *one == i;
    shape.push_back(isNew ? 1 : *next++);
    one += isNew;
  }
  return {node.reshape(x, shape)};
}

/// Imports Expand with data-dependent sizes.
static Results expandDataDependent(Node &node, Value x, DataShape shape) {
  DataShape from = node.dataShape(x);
  while (shape.size() < from.size())
    shape.insert(shape.begin(), Size(1));
  size_t offset = shape.size() - from.size();
  for (auto [d, size] : llvm::enumerate(from)) {
    Size &to = shape[offset + d];
    if (to == Size(1) || to == size)
      to = size;
    else if (!(size == Size(1))) {
      node.error() << "whether " << nn::shapeText(nn::shapeOf(x))
                   << " can be expanded depends on the data"
                   << fixInputsHint(node.input(1));
      return {};
    }
  }
  return {expandTo(node, x, shape)};
}

static Results expand(Node &node) {
  Value x = node.input(0);
  auto sizes = node.shapeIn(1);
  if (!x || !sizes)
    return {};
  if (isMarked(x) || !isStatic(*sizes))
    return expandDataDependent(node, x, *sizes);
  std::optional<SmallVector<int64_t>> shape = llvm::map_to_vector(
      *sizes, [](const Size &size) { return size.constant; });
  auto result = llvm::all_of(*shape, [](int64_t s) { return s >= 0; })
                    ? nn::broadcastShapes({nn::shapeOf(x), *shape})
                    : std::nullopt;
  if (!result) {
    node.error() << "cannot expand " << nn::shapeText(nn::shapeOf(x)) << " to "
                 << nn::shapeText(*shape);
    return {};
  }
  return {node.expand(x, *result)};
}

ArrayRef<Hook> frit::importer::shapeHooks() {
  static constexpr Hook hooks[] = {
      {"Constant", 1, 0, 0, constant, takesCounts},
      {"ConstantOfShape", 9, 1, 1, constantOfShape, takesCounts},
      {"Shape", 1, 1, 1, shape, takesCounts},
      {"Size", 1, 1, 1, size, takesCounts},
      {"Range", 11, 3, 3, range, takesCounts},
      {"Reshape", 1, 1, 2, reshape, takesCounts},
      {"Flatten", 1, 1, 1, flatten, takesCounts},
      {"Squeeze", 1, 1, 2, squeeze, takesCounts},
      {"Unsqueeze", 1, 1, 2, unsqueeze, takesCounts},
      {"Expand", 8, 2, 2, expand, takesCounts},
  };
  return hooks;
}
