//===- SizeValues.cpp - Sizes as values of the model ----------------------===//

#include "compiler/onnx/reader/Expr.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Returns a number that is computed from sizes, creating it once per `key`.
Size DataSizes::derive(std::string key, SizeRange range,
                       llvm::function_ref<Value()> build) {
  auto [it, isNew] = derived.try_emplace(key);
  if (!isNew)
    return it->second;
  Value value = build();
  if (!value)
    return Size(0);
  return derived[key] = add(value, range);
}

Size DataSizes::times(Node &node, const Size &a, const Size &b) {
  if (a.isKnown() || b.isKnown())
    return a.isKnown() ? times(b, a.constant) : times(a, b.constant);
  SizeRange x = rangeOf(a), y = rangeOf(b);
  int64_t ends[] = {
      boundedProduct(x.least, y.least), boundedProduct(x.least, y.most),
      boundedProduct(x.most, y.least), boundedProduct(x.most, y.most)};
  auto [low, high] = std::minmax_element(std::begin(ends), std::end(ends));
  std::string keys[] = {text(a), text(b)};
  llvm::sort(keys);
  return derive(keys[0] + "*" + keys[1], {*low, *high}, [&] {
    return node.build<nn::MulOp>({valueOf(node, a), valueOf(node, b)});
  });
}

Size DataSizes::least(Node &node, const Size &a, const Size &b) {
  SizeRange difference = rangeOf(plus(a, times(b, -1)));
  if (difference.most <= 0)
    return a;
  if (difference.least >= 0)
    return b;
  SizeRange x = rangeOf(a), y = rangeOf(b);
  std::string keys[] = {text(a), text(b)};
  llvm::sort(keys);
  return derive("min " + keys[0] + "," + keys[1],
                {std::min(x.least, y.least), std::min(x.most, y.most)}, [&] {
                  return node.build<nn::MinOp>(
                      {valueOf(node, a), valueOf(node, b)});
                });
}

Size DataSizes::largest(Node &node, const Size &a, const Size &b) {
  return times(least(node, times(a, -1), times(b, -1)), -1);
}

Size DataSizes::quotient(Node &node, const Size &a, int64_t divisor) {
  bool isExact = a.constant % divisor == 0;
  for (Size::Term term : a.terms)
    isExact &= term.factor % divisor == 0;
  if (isExact) {
    Size result = a.constant / divisor;
    for (Size::Term term : a.terms)
      result.terms.push_back({term.number, term.factor / divisor});
    return result;
  }
  SizeRange range = rangeOf(a);
  return derive(text(a) + "/" + std::to_string(divisor),
                {range.least / divisor, range.most / divisor}, [&] {
                  return node.build<nn::DivOp>(
                      {valueOf(node, a), valueOf(node, divisor)});
                });
}

Size DataSizes::choose(Node &node, Value condition, const Size &a,
                       const Size &b) {
  if (a == b)
    return a;
  SizeRange x = rangeOf(a), y = rangeOf(b);
  std::string key = llvm::utohexstr(
      reinterpret_cast<uintptr_t>(condition.getAsOpaquePointer()));
  return derive("if " + key + "," + text(a) + "," + text(b),
                {std::min(x.least, y.least), std::max(x.most, y.most)}, [&] {
                  return node.build<nn::WhereOp>(
                      {condition, valueOf(node, a), valueOf(node, b)});
                });
}

Value DataSizes::valueOf(Node &node, const Size &size) {
  Type i64 = node.builder().getI64Type();
  auto number = [&](int64_t n) {
    return node.constant(DenseElementsAttr::get(
        RankedTensorType::get({}, i64), node.builder().getI64IntegerAttr(n)));
  };
  if (size.isKnown())
    return number(size.constant);
  if (size.constant == 0 && size.terms.size() == 1 && size.terms[0].factor == 1)
    return numbers[size.terms[0].number].value;
  std::string key = text(size);
  if (Value value = values.lookup(key))
    return value;
  Value sum;
  for (Size::Term term : size.terms) {
    Value value = numbers[term.number].value;
    if (term.factor != 1)
      value = node.build<nn::MulOp>({value, number(term.factor)});
    sum = sum ? node.build<nn::AddOp>({sum, value}) : value;
  }
  if (size.constant)
    sum = node.build<nn::AddOp>({sum, number(size.constant)});
  if (!sum)
    return {};
  elements[sum] = {size};
  return values[key] = sum;
}

//===----------------------------------------------------------------------===//
// Operators that compute sizes
//===----------------------------------------------------------------------===//

std::optional<DataShape> DataSizes::anyElementsOf(Node &node, Value value) {
  if (auto known = elementsOf(value))
    return known;
  int64_t count = nn::tensorType(value).getNumElements();
  if (!isa<IntegerType>(elementOf(value)) || count > kMostElements ||
      isMarked(value))
    return std::nullopt;
  Expr flat = Expr{node, value}.reshape(count).to(node.builder().getI64Type());
  DataShape result;
  for (int64_t i = 0; i < count; ++i) {
    Value element = flat.slice(0, i, 1).reshape({});
    if (!element)
      return std::nullopt;
    result.push_back(add(element, {-kEndless, kEndless}));
  }
  elements[value] = result;
  return result;
}

/// Applies an operator to two sizes; none if the result is not a Size.
std::optional<Size> DataSizes::combine(Node &node, Operation *op, const Size &a,
                                       const Size &b) {
  if (isa<nn::AddOp>(op))
    return plus(a, b);
  Size difference = plus(a, times(b, -1));
  if (isa<nn::SubOp>(op))
    return difference;
  if (isa<nn::MulOp>(op))
    return times(node, a, b);
  if (isa<nn::MinOp>(op))
    return least(node, a, b);
  if (isa<nn::MaxOp>(op))
    return largest(node, a, b);
  if (isa<nn::DivOp>(op) && b.isKnown() && b.constant > 0 &&
      rangeOf(a).least >= 0)
    return quotient(node, a, b.constant);
  // Comparisons whose result is the same over the whole ranges.
  auto [low, high] = rangeOf(difference);
  auto decide = [&](bool always, bool never) -> std::optional<Size> {
    return always || never ? std::optional<Size>(always) : std::nullopt;
  };
  if (isa<nn::EqualOp>(op))
    return decide(low == 0 && high == 0, low > 0 || high < 0);
  if (isa<nn::LessOp>(op))
    return decide(high < 0, low >= 0);
  if (isa<nn::LessEqualOp>(op))
    return decide(high <= 0, low > 0);
  if (isa<nn::GreaterOp>(op))
    return decide(low > 0, high <= 0);
  if (isa<nn::GreaterEqualOp>(op))
    return decide(low >= 0, high < 0);
  return std::nullopt;
}

/// Combines all elements of an operand to one.
static std::optional<DataShape> reduced(DataSizes &sizes, Node &node,
                                        nn::Combiner kind, ArrayRef<Size> x) {
  if (x.empty())
    return std::nullopt;
  Size all = x[0];
  for (const Size &size : x.drop_front())
    switch (kind) {
    case nn::Combiner::sum:
      all = DataSizes::plus(all, size);
      break;
    case nn::Combiner::prod:
      all = sizes.times(node, all, size);
      break;
    case nn::Combiner::max:
      all = sizes.largest(node, all, size);
      break;
    case nn::Combiner::min:
      all = sizes.least(node, all, size);
      break;
    }
  return DataShape{all};
}

/// Returns the elements of a vector at constant indices.
static std::optional<DataShape> gathered(ArrayRef<Size> x,
                                         ArrayRef<Size> indices) {
  DataShape result;
  int64_t all = x.size();
  for (const Size &index : indices) {
    if (!index.isKnown())
      return std::nullopt;
    int64_t at = index.constant + (index.constant < 0 ? all : 0);
    if (at < 0 || at >= all)
      return std::nullopt;
    result.push_back(x[at]);
  }
  return result;
}

/// Applies an elementwise operator or a broadcast to operands `x`, each a
/// scalar or one number per element of the result, which has `count` elements.
/// An unknown part of a `where` is empty. `combine` is for two operands.
static std::optional<DataShape>
elementwise(Operation *op, ArrayRef<DataShape> x, int64_t count,
            llvm::function_ref<std::optional<Size>(const Size &, const Size &)>
                combine) {
  auto element = [&](unsigned operand, int64_t i) -> const Size & {
    return x[operand].size() == 1 ? x[operand][0] : x[operand][i];
  };
  for (const DataShape &all : x)
    if (all.size() > 1 && static_cast<int64_t>(all.size()) != count)
      return std::nullopt;
  DataShape result;
  for (int64_t i = 0; i < count; ++i) {
    if (isa<nn::ExpandOp>(op)) {
      result.push_back(element(0, i));
    } else if (isa<nn::WhereOp>(op)) {
      if (x[0].empty() || !element(0, i).isKnown())
        return std::nullopt;
      unsigned from = element(0, i).constant ? 1 : 2;
      if (x[from].empty())
        return std::nullopt;
      result.push_back(element(from, i));
    } else if (isa<nn::NegOp>(op)) {
      result.push_back(DataSizes::times(element(0, i), -1));
    } else {
      auto combined = op->getNumOperands() == 2
                          ? combine(element(0, i), element(1, i))
                          : std::nullopt;
      if (!combined)
        return std::nullopt;
      result.push_back(*combined);
    }
  }
  return result;
}

std::optional<DataShape> DataSizes::evaluate(Node &node, Operation *op) {
  auto type = nn::tensorType(op->getResult(0));
  int64_t count = type.getNumElements();
  // Floats are followed only from a cast to the next.
  bool isFollowed = isa<IntegerType>(type.getElementType()) ||
                    isa<nn::CastOp, nn::ReshapeOp>(op);
  if (!isFollowed || count > kMostElements)
    return std::nullopt;
  SmallVector<DataShape> x;
  bool isNew = false;
  for (Value operand : op->getOperands()) {
    isNew |= elements.contains(operand);
    auto known = elementsOf(operand);
    if (!known && !isa<nn::WhereOp>(op))
      return std::nullopt;
    x.push_back(known.value_or(DataShape()));
  }
  if (!isNew)
    return std::nullopt;
  if (isa<nn::ReshapeOp>(op))
    return x[0];
  if (isa<nn::CastOp>(op)) {
    // An f32 has all integers up to 2^24.
    bool isExact = llvm::all_of(x[0], [&](const Size &size) {
      auto [least, most] = rangeOf(size);
      return isa<IntegerType>(type.getElementType()) ||
             (least >= -(1 << 24) && most <= 1 << 24);
    });
    return isExact && type.getElementTypeBitWidth() >= 32 ? std::optional(x[0])
                                                          : std::nullopt;
  }
  if (auto reduce = dyn_cast<nn::ReduceOp>(op))
    return count == 1 ? reduced(*this, node, reduce.getKind(), x[0])
                      : std::nullopt;
  if (isa<nn::GatherOp>(op))
    return rankOf(op->getOperand(0)) == 1 || x[1].empty() ? gathered(x[0], x[1])
                                                          : std::nullopt;
  if (isa<nn::ElementwiseOp, nn::ExpandOp>(op))
    return elementwise(op, x, count, [&](const Size &a, const Size &b) {
      return combine(node, op, a, b);
    });
  // Concatenations and slices of vectors.
  if (type.getRank() != 1)
    return std::nullopt;
  DataShape result;
  if (isa<nn::ConcatOp>(op)) {
    for (const DataShape &part : x)
      result.append(part);
    return result;
  }
  auto slice = dyn_cast<nn::SliceOp>(op);
  if (!slice)
    return std::nullopt;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(x[0][slice.getStarts()[0] + i * slice.getSteps()[0]]);
  return result;
}

void DataSizes::follow(Node &node, Operation *op) {
  if (!numbers.empty())
    if (auto result = evaluate(node, op))
      elements[op->getResult(0)] = *result;
}
