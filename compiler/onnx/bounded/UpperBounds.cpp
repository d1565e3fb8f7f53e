//===- UpperBounds.cpp - Upper bounds of data-dependent tensors -----------===//
//
// Marks and masks tensors that are allocated at their upper bound, and moves
// their valid entries to the front.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/reader/Expr.h"

#include "dialects/nn/Fold.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Maximum entries that a gather can address.
static constexpr int64_t mostGathered = int64_t(1) << 31;

//===----------------------------------------------------------------------===//
// Marks and masks
//===----------------------------------------------------------------------===//

DataShape Node::dataShape(Value x) {
  if (!x)
    return {};
  DataShape shape = staticShape(x.getType());
  for (auto counted = x.getDefiningOp<nn::CountedOp>(); counted;
       counted = counted.getX().getDefiningOp<nn::CountedOp>())
    if (auto count = state.sizes.elementsOf(counted.getCount()))
      shape[counted.getAxis()] = count->front();
  return shape;
}

Value Node::marked(Value x, ArrayRef<Size> shape) {
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (!x)
      return {};
    int64_t most = std::max<int64_t>(state.sizes.mostOf(size), 0);
    if (most < nn::shapeOf(x)[d])
      x = slice(x, d, 0, most);
  }
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (size.isKnown())
      continue;
    Value count = state.sizes.valueOf(*this, size);
    if (!x || !count)
      return {};
    x = nn::CountedOp::create(builder(), loc, x.getType(), x, count, d,
                              nn::shapeOf(x)[d], 0);
  }
  return x;
}

Value Node::markedAlong(Value x, int64_t axis, const Size &count) {
  DataShape shape = dataShape(x);
  if (!x || !hasDimension(x, axis))
    return {};
  shape[axis] = count;
  return marked(unmarked(x), shape);
}

std::string Node::fullName() const { return scope.prefix + ownName(proto); }

std::optional<int64_t> Node::bound() const { return state.boundOf(fullName()); }

Size Node::count(Value value, int64_t most) {
  if (!value || failed)
    return 0;
  if (DenseElementsAttr known = nn::constantValue(value))
    return std::clamp<int64_t>(*known.value_begin<int64_t>(), 0, most);
  std::string name = fullName();
  std::optional<int64_t> bound = this->bound();
  if (bound && *bound < most) {
    // Entries beyond -fbound are reported at run time.
    Expr number = {*this, value}, limit = number.number(*bound);
    state.addCheck(limit - number,
                   "node '" + name + "' has more results than -fbound=" + name +
                       ":" + std::to_string(*bound) + " allows");
    value = number.min(limit);
    most = *bound;
  }
  return state.sizes.add(value, {0, most});
}

std::optional<DataShape> Node::boundElements(Value value) {
  DataSizes &sizes = state.sizes;
  if (auto known = sizes.elementsOf(value))
    return known;
  std::optional<int64_t> bound = this->bound();
  int64_t count = nn::tensorType(value).getNumElements();
  if (!bound || !isa<IntegerType>(elementOf(value)) ||
      elementOf(value).isInteger(1) || count > DataSizes::kMostElements ||
      isMarked(value))
    return std::nullopt;
  std::string name = fullName();
  Expr flat = Expr{*this, value}.reshape(count).to(builder().getI64Type());
  DataShape result;
  for (int64_t i = 0; i < count; ++i) {
    Expr number = flat.slice(0, i, 1).reshape({});
    Expr limit = number.number(static_cast<double>(*bound));
    if (!limit)
      return std::nullopt;
    state.addCheck(limit - number,
                   "node '" + name + "' has more results than -fbound=" + name +
                       ":" + std::to_string(*bound) + " allows");
    state.addCheck(number, "node '" + name +
                               "' computes a negative number, and "
                               "-fbound=" +
                               name + ":" + std::to_string(*bound) +
                               " takes a size");
    result.push_back(
        sizes.add(number.max(number.number(0)).min(limit), {0, *bound}));
  }
  sizes.know(value, result);
  return result;
}

Value Node::masked(Value x, Value fill) {
  if (!x || !isMarked(x))
    return x;
  Expr inside = {*this, {}}, all = {*this, unmarked(x)};
  for (auto [d, size] : llvm::enumerate(dataShape(x))) {
    if (size.isKnown())
      continue;
    SmallVector<int64_t> line(all.rank(), 1);
    line[d] = all.size(d);
    Expr isIn = iota(*this, builder().getI64Type(), line, d) <
                Expr{*this, state.sizes.valueOf(*this, size)};
    inside = inside ? inside & isIn : isIn;
  }
  return inside.select(all, fill);
}

static bool isEmpty(Value x) { return nn::tensorType(x).getNumElements() == 0; }

Value Node::choose(Value condition, Value x, Value y) {
  if (!condition || !x || !y || elementOf(x) != elementOf(y) ||
      rankOf(x) != rankOf(y))
    return {};
  if (x.getType() == y.getType() && !isMarked(x) && !isMarked(y))
    return create<nn::WhereOp>({condition, x, y});
  DataShape a = dataShape(x), b = dataShape(y), shape;
  x = unmarked(x);
  y = unmarked(y);
  for (auto [d, pair] : llvm::enumerate(llvm::zip_equal(a, b))) {
    auto &[own, other] = pair;
    shape.push_back(state.sizes.choose(*this, condition, own, other));
    int64_t bound = std::max(sizes(x)[d], sizes(y)[d]);
    for (Value *side : {&x, &y})
      if (*side && !isEmpty(*side))
        *side = Expr{*this, *side}.pad(d, 0, bound - sizes(*side)[d]);
    if (!x || !y)
      return {};
  }
  // Select from the other one if one is empty.
  if (isEmpty(x) || isEmpty(y))
    return marked(isEmpty(x) ? y : x, shape);
  return marked(create<nn::WhereOp>({condition, x, y}), shape);
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

std::optional<DataShape> Node::regroup(ArrayRef<Size> sizes,
                                       ArrayRef<int64_t> from,
                                       ArrayRef<int64_t> to, bool mustLead) {
  DataShape result;
  for (int64_t size : to)
    result.push_back(size);
  size_t i = 0, j = 0;
  while (i < from.size()) {
    size_t first = i, target = j;
    int64_t a = from[i++], b = j < to.size() ? to[j++] : 1;
    while (a != b) {
      if (a < b && i < from.size())
        a *= from[i++];
      else if (b < a && j < to.size())
        b *= to[j++];
      else
        return std::nullopt;
    }
    auto group = sizes.slice(first, i - first);
    if (isStatic(group))
      continue;
    Size total = 1;
    bool isFirst = true;
    for (const Size &size : group) {
      if (mustLead && !size.isKnown() && !isFirst)
        return std::nullopt;
      isFirst &= size == Size(1);
      total = state.sizes.times(*this, total, size);
    }
    // The outermost dimension gets the remaining factor.
    if (j == target)
      return std::nullopt;
    size_t outer = target;
    while (outer + 1 < j && to[outer] == 1)
      ++outer;
    int64_t rest = product(to.slice(outer + 1, j - outer - 1));
    bool isMultiple = rest > 0 && total.constant % rest == 0;
    for (Size::Term term : total.terms)
      isMultiple = isMultiple && term.factor % rest == 0;
    if (!isMultiple)
      return std::nullopt;
    result[outer] = state.sizes.quotient(*this, total, rest);
  }
  return result;
}

std::optional<Size> Node::ratio(const Size &a, const Size &b) {
  if (b.isKnown())
    return b.constant > 0 && (a.isKnown() || !a.terms.empty())
               ? std::optional(state.sizes.quotient(*this, a, b.constant))
               : std::nullopt;
  if (a.terms.empty() || a.terms[0].factor % b.terms[0].factor)
    return std::nullopt;
  int64_t factor = a.terms[0].factor / b.terms[0].factor;
  if (DataSizes::times(b, factor) == a)
    return Size(factor);
  return std::nullopt;
}

Value Node::reshapeTo(Value x, ArrayRef<Size> target) {
  if (!x)
    return {};
  SmallVector<int64_t> shape;
  for (const Size &size : target)
    shape.push_back(std::max<int64_t>(state.sizes.mostOf(size), 0));
  if (!mayHold(shape))
    return {};
  DataShape from = dataShape(x);
  Value raw = unmarked(x);
  if (product(shape) == nn::tensorType(raw).getNumElements()) {
    auto regrouped = regroup(from, sizes(raw), shape, /*mustLead=*/true);
    if (regrouped && llvm::equal(*regrouped, target))
      return marked(reshape(raw, shape), target);
  }
  // Each entry of the result computes its source index.
  auto i64 = builder().getI64Type();
  auto number = [&](const Size &size) {
    return Expr{*this, state.sizes.valueOf(*this, size)};
  };
  Expr flat = number(0);
  for (auto [d, size] : llvm::enumerate(target)) {
    SmallVector<int64_t> line(shape.size(), 1);
    line[d] = shape[d];
    flat = flat * number(size) + iota(*this, i64, line, d);
  }
  Expr place = number(0);
  int64_t stride = 1;
  auto whole = sizes(raw);
  for (size_t d = whole.size(); d-- > 0;) {
    Expr size = number(from[d]);
    place = place + flat.mod(size) * static_cast<double>(stride);
    flat = flat / size;
    stride *= whole[d];
  }
  Expr all = Expr{*this, raw}.reshape(stride);
  return marked(all.gather(place.expand(shape), 0), target);
}

bool Node::mayHold(ArrayRef<int64_t> shape) {
  if (product(shape) < mostGathered)
    return true;
  error() << "its size depends on the data, and its upper bound, "
          << nn::shapeText(shape)
          << ", is too large; -fbound=NODE:N limits the results of a node";
  return false;
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

Value Node::sliceTo(Value x, int64_t axis, const Size &start, const Size &count,
                    int64_t step) {
  if (!x)
    return {};
  DataShape shape = dataShape(x);
  Expr raw = {*this, unmarked(x)};
  int64_t whole = raw.size(axis), span = (whole + std::abs(step) - 1);
  int64_t most =
      std::clamp<int64_t>(state.sizes.mostOf(count), 0, span / std::abs(step));
  shape[axis] = count;
  if (start.isKnown() && step == 1 && start.constant >= 0 &&
      start.constant + most <= whole)
    return marked(raw.slice(axis, start.constant, most), shape);
  Expr places =
      iota(*this, builder().getI64Type(), most, 0) * static_cast<double>(step) +
      Expr{*this, state.sizes.valueOf(*this, start)};
  places =
      places.clamp(0, static_cast<double>(std::max<int64_t>(whole - 1, 0)));
  return marked(raw.gather(places, axis), shape);
}

//===----------------------------------------------------------------------===//
// Concatenations
//===----------------------------------------------------------------------===//

/// Computes the source indices of a concatenation's valid entries in its upper
/// bound.
static Expr findJoined(Node &node, ArrayRef<Size> counts,
                       ArrayRef<int64_t> bounds, DataSizes &sizes) {
  int64_t bound = 0;
  SmallVector<Value> ends, shifts;
  Size end = 0;
  for (auto [count, own] : llvm::zip_equal(counts, bounds)) {
    // The number of invalid entries before an entry.
    Expr gap = {
        node,
        sizes.valueOf(node, DataSizes::plus(bound, DataSizes::times(end, -1)))};
    shifts.push_back(gap.reshape(1));
    end = DataSizes::plus(end, count);
    ends.push_back(Expr{node, sizes.valueOf(node, end)}.reshape(1));
    bound += own;
  }
  Expr places = iota(node, node.builder().getI64Type(), bound, 0);
  Expr limits = {node, node.concat(ends, 0)},
       gaps = {node, node.concat(shifts, 0)};
  Expr part = limits.apply<nn::SearchSortedOp>({places});
  return (places + gaps.gather(part, 0))
      .clamp(0, static_cast<double>(bound - 1));
}

Value Node::concatCounted(ValueRange xs, int64_t axis) {
  SmallVector<Value> raws;
  SmallVector<Size> counts;
  SmallVector<int64_t> bounds;
  DataShape shape = dataShape(xs[0]);
  Size total = 0;
  std::string key = "join";
  bool isInPlace = true;
  for (Value x : xs) {
    DataShape own = dataShape(x);
    if (own.size() != shape.size())
      break;
    for (size_t d = 0; d < own.size(); ++d)
      if (int64_t(d) != axis && !(own[d] == shape[d]))
        return mixes(xs, "joins tensors that may differ in their sizes");
    raws.push_back(unmarked(x));
    isInPlace &= counts.empty() || counts.back().isKnown();
    counts.push_back(own[axis]);
    bounds.push_back(sizes(x)[axis]);
    total = DataSizes::plus(total, own[axis]);
    key +=
        " " + state.sizes.text(own[axis]) + ":" + std::to_string(bounds.back());
  }
  Value all = concat(raws, axis);
  shape[axis] = total;
  if (!all || isInPlace)
    return marked(all, shape);
  Value &places = state.joined[key];
  if (!places)
    places = findJoined(*this, counts, bounds, state.sizes);
  return marked(Expr{*this, all}.gather(places, axis), shape);
}
