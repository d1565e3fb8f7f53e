//===- Shape.cpp - Constants, shapes and views ----------------------------===//
//
// Shapes are static, so what is computed from them is known here: every
// operator on small constants becomes a constant as it is created, and the
// operators below read them.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/Expr.h"

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
  if (ElementsAttr value = node.tensor("value"))
    return {node.constant(value)};
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

static Results constantOfShape(Node &node) {
  auto shape = node.integers(0);
  Value value = node.constant(node.tensor("value"));
  if (!value)
    value = node.scalar(node.builder().getF32Type(), 0);
  if (!shape || node.failed)
    return {};
  return {node.expand(node.reshape(value, {}), *shape)};
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
  return {node.constant(
      nn::shapeOf(x).slice(start, std::max<int64_t>(end - start, 0)))};
}

static Results size(Node &node) {
  Value x = node.input(0);
  return {
      x ? node.reshape(node.constant(nn::tensorType(x).getNumElements()), {})
        : x};
}

static Results range(Node &node) {
  auto start = number(node, 0), limit = number(node, 1),
       delta = number(node, 2);
  if (!start || !limit || !delta)
    return {};
  double count = std::ceil((*limit - *start) / *delta);
  // Also where delta is 0 or something is NaN.
  if (!(std::abs(count) < 1e15)) {
    node.error() << "has no end: delta is 0 or a number is not finite";
    return {};
  }
  int64_t shape = std::max(count, 0.0);
  return {node.create<nn::IotaOp>(
      {node.reshape(node.input(0), {}), node.reshape(node.input(2), {})},
      {node.named("shape", ArrayRef(shape)),
       node.named("axis", node.builder().getI64IntegerAttr(0))})};
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static Results reshape(Node &node) {
  Value x = node.input(0);
  // Before opset 5 the shape was an attribute.
  auto shape = node.opset < 5 ? node.integers("shape") : node.integers(1);
  bool zeroIsSize = node.integer("allowzero", 0);
  if (!x || !shape)
    return {};
  std::string asked = llvm::join(
      llvm::map_range(*shape, [](int64_t s) { return std::to_string(s); }),
      "x");
  auto doesNotFit = [&]() -> Results {
    node.error() << "cannot reshape " << nn::shapeText(nn::shapeOf(x)) << " to "
                 << asked;
    return {};
  };
  int64_t open = -1;
  for (auto [i, size] : llvm::enumerate(*shape)) {
    if (size == 0 && !zeroIsSize) {
      if (static_cast<int64_t>(i) >= rankOf(x))
        return doesNotFit();
      size = nn::shapeOf(x)[i];
    } else if (size == -1 && open < 0) {
      open = i;
      size = 1;
    } else if (size < 0) {
      return doesNotFit();
    }
  }
  auto count = countElements(*shape);
  int64_t total = nn::tensorType(x).getNumElements();
  if (count && open >= 0) {
    if (*count == 0 || total % *count)
      return doesNotFit();
    (*shape)[open] = total / *count;
    count = total;
  }
  if (count != total)
    return doesNotFit();
  return {node.reshape(x, *shape)};
}

static Results flatten(Node &node) {
  Value x = node.input(0);
  if (!x)
    return {};
  int64_t rank = rankOf(x), axis = node.integer("axis", 1);
  // The axis may be just past the last.
  axis = axis == rank ? rank : node.axis(axis, rank);
  auto shape = nn::shapeOf(x);
  return {node.reshape(
      x, {product(shape.take_front(axis)), product(shape.drop_front(axis))})};
}

/// The axes of Squeeze and Unsqueeze: an attribute until opset 12, an input
/// since.
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
    bool dropped = given ? llvm::is_contained(drop, i) : size == 1;
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

static Results expand(Node &node) {
  Value x = node.input(0);
  auto shape = node.integers(1);
  if (!x || !shape)
    return {};
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
      {"Constant", 1, 0, 0, constant},
      {"ConstantOfShape", 9, 1, 1, constantOfShape},
      {"Shape", 1, 1, 1, shape},
      {"Size", 1, 1, 1, size},
      {"Range", 11, 3, 3, range},
      {"Reshape", 1, 1, 2, reshape},
      {"Flatten", 1, 1, 1, flatten},
      {"Squeeze", 1, 1, 2, squeeze},
      {"Unsqueeze", 1, 1, 2, unsqueeze},
      {"Expand", 8, 2, 2, expand},
  };
  return hooks;
}
