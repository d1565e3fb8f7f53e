//===- ConstantValues.cpp - Evaluate values that depend on constants ------===//

#include "dialects/nn/constants/ConstantValues.h"

#include "dialects/nn/Fold.h"
#include "dialects/nn/constants/ConstantFunctions.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/MapVector.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Maximum distinct elements of a tensor: scores of 8192 positions.
static constexpr int64_t kMostElements = int64_t(1) << 26;
/// Maximum distinct elements and operators of one evaluation.
static constexpr int64_t kMostTogether = 8 * kMostElements;
static constexpr size_t kMostOperators = 2048;
/// f32 counts integers exactly up to here.
static constexpr float kMostExact = 1 << 24;

static int64_t countOf(ArrayRef<int64_t> shape) {
  return ShapedType::getNumElements(shape);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// Returns the elements in a buffer of their own.
static ConstantElements materialize(const ConstantElements &x) {
  return ConstantElements::of(readElements(x, x.shape()), x.shape(), x.shape());
}

static std::optional<ConstantElements> move(Operation *op,
                                            const ConstantElements &x) {
  auto places = x.places.moved(op);
  if (succeeded(places))
    return ConstantElements{x.data, *places};
  if (countOf(x.shape()) > kMostElements)
    return std::nullopt;
  ConstantElements whole = materialize(x);
  places = whole.places.moved(op);
  if (failed(places))
    return std::nullopt;
  return ConstantElements{whole.data, *places};
}

static ConstantElements count(IotaOp op, float start, float step) {
  SmallVector<int64_t> distinct(op.getShape().size(), 1);
  distinct[op.getAxis()] = op.getShape()[op.getAxis()];
  std::vector<float> line(distinct[op.getAxis()]);
  for (auto [i, element] : llvm::enumerate(line))
    element = start + i * step;
  return ConstantElements::of(std::move(line), distinct, op.getShape());
}

/// Returns the distinct shape of an operand, but dimensions from `first` to
/// `last` in full.
static SmallVector<int64_t> fullAlong(const ConstantElements &x, int64_t first,
                                      int64_t last) {
  SmallVector<int64_t> shape = x.distinctShape();
  for (int64_t d = first; d < last; ++d)
    shape[d] = x.shape()[d];
  return shape;
}

static ConstantElements triangle(TriluOp op, const ConstantElements &x) {
  int64_t rank = x.shape().size(), k = op.getK();
  SmallVector<int64_t> shape = fullAlong(x, rank - 2, rank);
  std::vector<float> result = readElements(x, shape);
  int64_t rows = shape[rank - 2], columns = shape[rank - 1];
  for (size_t start = 0, line = 0; start < result.size();
       start += columns, ++line) {
    int64_t row = line % rows;
    for (int64_t column = 0; column < columns; ++column)
      if (op.getUpper() ? column - row < k : column - row > k)
        result[start + column] = 0;
  }
  return ConstantElements::of(std::move(result), shape, x.shape());
}

static ConstantElements sumUp(CumSumOp op, const ConstantElements &x) {
  int64_t axis = axisOf(op.getX(), op.getAxis());
  SmallVector<int64_t> shape = fullAlong(x, axis, axis + 1);
  std::vector<float> result = readElements(x, shape);
  int64_t length = shape[axis],
          inner = countOf(ArrayRef(shape).drop_front(axis + 1));
  for (size_t line = 0; line < result.size() / std::max<int64_t>(length, 1);
       ++line) {
    float *at = &result[line / inner * inner * length + line % inner];
    float sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      float &element = at[(op.getReverse() ? length - 1 - i : i) * inner];
      float before = sum;
      sum += element;
      element = op.getExclusive() ? before : sum;
    }
  }
  return ConstantElements::of(std::move(result), shape, x.shape());
}

static std::optional<ConstantElements> reduce(ReduceOp op,
                                              const ConstantElements &x) {
  if (op.getKind() != Combiner::sum && op.getKind() != Combiner::max &&
      op.getKind() != Combiner::min)
    return std::nullopt;
  SmallVector<int64_t> shape = x.distinctShape();
  for (int64_t axis : op.getAxes())
    shape[axis] = x.shape()[axis];
  std::vector<float> data = readElements(x, shape);
  for (int64_t axis : op.getAxes()) {
    int64_t length = shape[axis];
    int64_t inner = countOf(ArrayRef(shape).drop_front(axis + 1));
    if (length == 0)
      return std::nullopt;
    std::vector<float> result(data.size() / length);
    for (size_t i = 0; i < result.size(); ++i) {
      const float *at = &data[i / inner * inner * length + i % inner];
      float value = at[0];
      for (int64_t j = 1; j < length; ++j) {
        float next = at[j * inner];
        value = op.getKind() == Combiner::sum   ? value + next
                : op.getKind() == Combiner::max ? std::max(value, next)
                                                : std::min(value, next);
      }
      result[i] = value;
    }
    data = std::move(result);
    shape[axis] = 1;
  }
  return ConstantElements::of(std::move(data), shape, shapeOf(op.getY()));
}

static ConstantElements join(ConcatOp op, ArrayRef<ConstantElements> parts) {
  int64_t axis = axisOf(op.getY(), op.getAxis());
  ArrayRef<int64_t> shape = shapeOf(op.getY());
  SmallVector<int64_t> distinct(shape.size(), 1);
  for (const ConstantElements &part : parts)
    for (auto [size, own] : llvm::zip(distinct, part.distinctShape()))
      size = std::max(size, own);
  distinct[axis] = shape[axis];
  std::vector<float> result(countOf(distinct));
  int64_t inner = countOf(ArrayRef(distinct).drop_front(axis + 1));
  int64_t pitch = distinct[axis] * inner, offset = 0;
  for (const ConstantElements &part : parts) {
    SmallVector<int64_t> own(distinct);
    own[axis] = part.shape()[axis];
    std::vector<float> data = readElements(part, own);
    int64_t block = own[axis] * inner;
    for (size_t i = 0; block && i < data.size() / block; ++i)
      std::copy_n(&data[i * block], block, &result[i * pitch + offset]);
    offset += block;
  }
  return ConstantElements::of(std::move(result), distinct, shape);
}

static ConstantElements select(GatherOp op, const ConstantElements &x,
                               const ConstantElements &indices) {
  int64_t axis = axisOf(op.getX(), op.getAxis());
  int64_t size = x.shape()[axis];
  std::vector<float> table = readElements(x, fullAlong(x, axis, axis + 1));
  std::vector<float> places = indices.distinct();
  SmallVector<int64_t> outer(ArrayRef(x.distinctShape()).take_front(axis)),
      inner(ArrayRef(x.distinctShape()).drop_front(axis + 1)), distinct(outer);
  llvm::append_range(distinct, indices.distinctShape());
  llvm::append_range(distinct, inner);
  int64_t block = countOf(inner);
  std::vector<float> result;
  result.reserve(countOf(distinct));
  for (int64_t i = 0, n = countOf(outer); i < n; ++i)
    for (float place : places) {
      int64_t index = place < 0 ? place + size : place;
      index = std::clamp<int64_t>(index, 0, size - 1);
      const float *from = &table[(i * size + index) * block];
      result.insert(result.end(), from, from + block);
    }
  return ConstantElements::of(std::move(result), distinct, shapeOf(op.getY()));
}

static std::optional<ConstantElements> apply(Operation *op,
                                             ArrayRef<ConstantElements> x) {
  ConstantFunction function = constantFunctionOf(op);
  if (!function || x.size() > 3)
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  SmallVector<int64_t> distinct(shape.size(), 1);
  SmallVector<StridedPlaces, 3> places;
  SmallVector<const StridedPlaces *, 3> operands;
  for (const ConstantElements &operand : x) {
    places.push_back(operand.places.broadcast(shape));
    for (auto [d, stride] : llvm::enumerate(places.back().strides))
      if (stride != 0)
        distinct[d] = shape[d];
  }
  for (const StridedPlaces &own : places)
    operands.push_back(&own);
  if (countOf(shape) == 0)
    return ConstantElements::of({}, shape, shape);
  std::vector<float> result;
  result.reserve(countOf(distinct));
  float values[3] = {0, 0, 0};
  forEachLine(distinct, operands, [&](auto at, int64_t count, auto steps) {
    for (int64_t i = 0; i < count; ++i) {
      for (size_t n = 0; n < x.size(); ++n)
        values[n] = (*x[n].data)[at[n] + i * steps[n]];
      result.push_back(function(values));
    }
  });
  return ConstantElements::of(std::move(result), distinct, shape);
}

static std::optional<ConstantElements> compute(Operation *op,
                                               ArrayRef<ConstantElements> x) {
  if (auto constant = dyn_cast<ConstantOp>(op))
    return readConstant(constant);
  if (isa<ReshapeOp, TransposeOp, SliceOp, ExpandOp>(op))
    return move(op, x[0]);
  if (auto iota = dyn_cast<IotaOp>(op))
    return count(iota, x[0].distinct()[0], x[1].distinct()[0]);
  if (auto trilu = dyn_cast<TriluOp>(op))
    return triangle(trilu, x[0]);
  if (auto cumSum = dyn_cast<CumSumOp>(op))
    return sumUp(cumSum, x[0]);
  if (auto sums = dyn_cast<ReduceOp>(op))
    return reduce(sums, x[0]);
  if (auto concat = dyn_cast<ConcatOp>(op))
    return join(concat, x);
  if (auto gather = dyn_cast<GatherOp>(op)) {
    if (countOf(x[0].shape()) == 0)
      return std::nullopt;
    return select(gather, x[0], x[1]);
  }
  return isa<ElementwiseOp>(op) ? apply(op, x) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// Appends the operators that `value` depends on, each after its operands.
/// Returns false if there are too many, or it depends on an argument.
static bool collect(Value value, SmallVectorImpl<Operation *> &order) {
  llvm::DenseSet<Operation *> seen;
  SmallVector<std::pair<Operation *, unsigned>> stack;
  auto enter = [&](Value next) {
    Operation *op = next.getDefiningOp();
    if (!op || op->getNumResults() != 1 || op->getNumRegions() ||
        !isa<RankedTensorType>(next.getType()) ||
        !tensorType(next).hasStaticShape())
      return false;
    if (seen.insert(op).second)
      stack.push_back({op, 0});
    return seen.size() <= kMostOperators;
  };
  if (!enter(value))
    return false;
  while (!stack.empty()) {
    auto &[op, operand] = stack.back();
    if (operand < op->getNumOperands()) {
      if (!enter(op->getOperand(operand++)))
        return false;
      continue;
    }
    order.push_back(op);
    stack.pop_back();
  }
  return true;
}

bool frit::nn::mayEvaluate(Value value) {
  SmallVector<Operation *> order;
  return collect(value, order);
}

/// Returns whether the elements are exact.
static bool isExact(Type element, const ConstantElements &x) {
  return isa<FloatType>(element) || llvm::all_of(*x.data, [](float n) {
           return std::abs(n) <= kMostExact;
         });
}

std::optional<ConstantValue> frit::nn::evaluateConstant(Value value) {
  SmallVector<Operation *> order;
  if (!collect(value, order))
    return std::nullopt;
  llvm::DenseMap<Operation *, unsigned> readers;
  for (Operation *op : order)
    for (Value operand : op->getOperands())
      ++readers[operand.getDefiningOp()];
  ConstantValue result;
  llvm::DenseMap<Operation *, ConstantElements> known;
  int64_t total = 0;
  for (Operation *op : order) {
    SmallVector<ConstantElements> operands;
    int64_t largest = 1;
    for (Value operand : op->getOperands()) {
      operands.push_back(known.lookup(operand.getDefiningOp()));
      largest = std::max(largest, countOf(operands.back().distinctShape()));
    }
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      result.readsWeights |= !isFoldable(constant);
      auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!dense || !dense.isSplat())
        largest = countOf(shapeOf(constant.getY()));
    }
    if (largest > kMostElements)
      return std::nullopt;
    std::optional<ConstantElements> computed = compute(op, operands);
    if (!computed || int64_t(computed->data->size()) > kMostElements ||
        (total += computed->data->size()) > kMostTogether ||
        !isExact(tensorType(op->getResult(0)).getElementType(), *computed))
      return std::nullopt;
    for (Value operand : op->getOperands())
      if (--readers[operand.getDefiningOp()] == 0)
        known.erase(operand.getDefiningOp());
    known[op] = std::move(*computed);
  }
  result.elements = known.lookup(value.getDefiningOp());
  return result;
}
