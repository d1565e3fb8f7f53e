//===- PaddedPick.cpp - Elements that the data choose ---------------------===//
//
// Messages between the nodes of a graph, 3 padded to 4: the source of an edge
// is row i of 3, and -1 is the last of them. Where a dimension is folded into
// it, as 2x3 in 2x4, index i is at (i / 3) · 4 + i mod 3. Edges beyond a call's
// have indices that no row has (PaddingMasks), so that a scatter ignores them.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/PaddedPick.h"

#include "dialects/nn/Fold.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

bool PaddedPick::isPick(Operation *op) {
  return isa<GatherOp, GatherElementsOp, ScatterElementsOp>(op);
}

static int64_t pickedAxis(Operation *op) {
  Value x = op->getOperand(0);
  return TypeSwitch<Operation *, int64_t>(op)
      .Case<GatherOp, GatherElementsOp, ScatterElementsOp>(
          [&](auto pick) { return axisOf(x, pick.getAxis()); });
}

/// Returns the places of a value's dimensions: elements that are all equal may
/// be anywhere, also first.
static Places placesOf(Value small, const PaddedValue &value) {
  return value.anywhere ? leadingPlaces(shapeOf(small), shapeOf(value.large))
                        : value.places;
}

/// Returns the places of what an operator picks from. Equal elements that are
/// written to, and viewed in another shape behind that, are leading in it.
static Places placesOfPicked(Operation *small, Operation *large,
                             const PaddedValue &x) {
  auto viewOf = [](Operation *op) {
    Value y = op->getResult(0);
    return y.hasOneUse() ? dyn_cast<ReshapeOp>(*y.user_begin()) : ReshapeOp();
  };
  ReshapeOp from = viewOf(small), to = viewOf(large);
  if (x.anywhere && isa<ScatterElementsOp>(small) && from && to &&
      mayLead(from.getY().getType(), to.getY().getType()))
    if (auto places = reshapePlaces(
            leadingPlaces(shapeOf(from.getY()), shapeOf(to.getY())),
            shapeOf(small->getOperand(0)), shapeOf(large->getOperand(0))))
      return *places;
  return placesOf(small->getOperand(0), x);
}

/// Most elements of a constant that are read.
static constexpr int64_t kMostScanned = 1 << 16;

/// Returns whether a value is the same along a dimension, by which its place
/// there does not matter.
static bool isSameAlong(Value value, size_t dim) {
  ArrayRef<int64_t> shape = shapeOf(value);
  if (auto expand = value.getDefiningOp<ExpandOp>())
    return shapeOf(expand.getX()).size() == shape.size() &&
           shapeOf(expand.getX())[dim] == 1;
  auto constant = nn::constantValue(value, kMostScanned);
  if (!constant || !isa<IntegerType>(constant.getElementType()))
    return false;
  auto numbers = llvm::to_vector(constant.getValues<APInt>());
  size_t stride = ShapedType::getNumElements(shape.drop_front(dim + 1)),
         length = shape[dim];
  for (size_t i = 0; i < numbers.size(); ++i)
    if (i / stride % length && numbers[i] != numbers[i - stride])
      return false;
  return true;
}

/// Returns whether no row has an index that stands beyond a call's updates.
static bool isNoIndex(const PaddedContent &indices, unsigned dim,
                      int64_t count) {
  const PaddedContent::Fill *fill = indices.fillOf(dim);
  if (!fill || !fill->everywhere ||
      fill->number.kind != AbstractValue::constant)
    return false;
  auto number = dyn_cast<IntegerAttr>(fill->number.value);
  return number && number.getValue().getSignificantBits() <= 64 &&
         (number.getInt() < -count || number.getInt() >= count);
}

/// Returns what is known of the elements that a scatter writes.
static AbstractValue combine(StringRef reduction, AbstractValue x,
                             AbstractValue update) {
  AbstractValue either = x | update;
  if (reduction == "none" || reduction == "max" || reduction == "min")
    return either;
  if (either.isNotNegative())
    return AbstractValue::notNegative;
  return either.isReal() ? AbstractValue::real : AbstractValue::any;
}

static std::optional<PaddedValue> padGathered(Operation *small,
                                              Operation *large, int64_t axis,
                                              const Places &x,
                                              ArrayRef<PaddedValue> operands) {
  Places indices = placesOf(small->getOperand(1), operands[1]);
  PaddedValue result{large->getResult(0), {}};
  if (isa<GatherOp>(small)) {
    llvm::append_range(result.places, ArrayRef(x).take_front(axis));
    llvm::append_range(result.places, indices);
    llvm::append_range(result.places, ArrayRef(x).drop_front(axis + 1));
  } else {
    // Index i of another dimension is element i of x.
    for (auto [dim, own, other] : llvm::enumerate(x, indices))
      if (int64_t(dim) != axis && own != other &&
          !(isLeading(own) && isLeading(other)))
        return std::nullopt;
    result.places = indices;
  }
  const PaddedContent &content = operands[0].content;
  result.content = {content.inside, content.all(), {}, {}};
  return result;
}

static std::optional<PaddedValue> padScattered(ScatterElementsOp small,
                                               ScatterElementsOp large,
                                               int64_t axis, Places x,
                                               ArrayRef<PaddedValue> operands) {
  Places indices = placesOf(small.getIndices(), operands[1]),
         updates = placesOf(small.getUpdates(), operands[2]);
  if (small.getReduction() != large.getReduction())
    return std::nullopt;
  for (auto [dim, own, place, update] : llvm::enumerate(x, indices, updates)) {
    if (operands[2].anywhere || isSameAlong(small.getUpdates(), dim))
      update = place;
    if (operands[1].anywhere || isSameAlong(small.getIndices(), dim))
      place = update;
    if (operands[0].anywhere && int64_t(dim) != axis &&
        shapeOf(small.getX())[dim] == shapeOf(small.getIndices())[dim] &&
        shapeOf(large.getX())[dim] == shapeOf(large.getIndices())[dim])
      own = place;
    if (place != update)
      return std::nullopt;
    bool isPadded = !areSame(place);
    if (int64_t(dim) == axis
            ? hasOffset(place) ||
                  (isPadded && !isNoIndex(operands[1].content, dim,
                                          shapeOf(large.getX())[axis]))
            : place != own &&
                  (isPadded || !isLeading(place) || !isLeading(own)))
      return std::nullopt;
  }
  PaddedValue result{large.getY(), x};
  StringRef reduction = small.getReduction();
  const PaddedContent &content = operands[0].content,
                      &update = operands[2].content;
  result.content = {combine(reduction, content.inside, update.inside),
                    combine(reduction, content.all(), update.all()),
                    {},
                    {}};
  return result;
}

/// Adds a dimension's places to its parts, of which several may be one where
/// the inner ones have all elements.
bool PaddedPick::addTo(SmallVectorImpl<Part> &parts, ArrayRef<int64_t> sizes,
                       const DimPlaces &places) {
  DimPlaces rest(llvm::reverse(places));
  for (Part &part : parts) {
    auto small = takePart(rest, part.length);
    if (!small)
      return false;
    part.sizes.add(sizes, *small);
  }
  return llvm::all_of(rest,
                      [](SizePair part) { return part == SizePair{1, 1}; });
}

bool PaddedPick::addPlaces(ArrayRef<int64_t> sizes, const DimPlaces &places,
                           ArrayRef<int64_t> largeSizes) {
  if (hasOffset(places))
    return false;
  records.push_back({SmallVector<int64_t>(sizes), places});
  // The parts are those of the comparison that has most.
  const DimPlaces *most = &places;
  for (const auto &[own, other] : records)
    if (other.size() > most->size())
      most = &other;
  parts.clear();
  for (SizePair part : *most) {
    parts.push_back({part.large, {}});
    parts.back().sizes.add(largeSizes, part.large);
  }
  return llvm::all_of(records, [&](const auto &record) {
    return addTo(parts, record.first, record.second);
  });
}

std::optional<PaddedValue>
PaddedPick::add(Operation *small, ArrayRef<int64_t> sizes, Operation *large,
                ArrayRef<int64_t> largeSizes, ArrayRef<PaddedValue> operands) {
  int64_t axis = pickedAxis(small);
  if (axis != pickedAxis(large))
    return std::nullopt;
  Places x = placesOfPicked(small, large, operands[0]);
  DimPlaces places = x[axis];
  auto scatter = dyn_cast<ScatterElementsOp>(small);
  auto result = scatter ? padScattered(scatter, cast<ScatterElementsOp>(large),
                                       axis, x, operands)
                        : padGathered(small, large, axis, x, operands);
  if (!result || !addPlaces(sizes, places, largeSizes))
    return std::nullopt;
  return result;
}

SmallVector<const SizeSamples *> PaddedPick::uses() const {
  SmallVector<const SizeSamples *> all;
  for (const Part &part : parts)
    if (!part.sizes.isFixed())
      all.push_back(&part.sizes);
  return all;
}

void PaddedPick::apply(
    Operation *op,
    llvm::function_ref<Value(const SizeExpr &)> buildSize) const {
  if (uses().empty())
    return;
  OpBuilder at(op);
  NNBuilder b(op->getLoc(), at);
  Type element = tensorType(op->getOperand(1)).getElementType();
  Value index = b.cast(op->getOperand(1), b.getI64Type()), zero = b.integer(0),
        count = b.integer(1);
  SmallVector<Value> lengths;
  for (const Part &part : parts) {
    auto expr = part.sizes.fit();
    lengths.push_back(expr ? buildSize(*expr) : b.integer(part.length));
    count = b.mul(count, lengths.back());
  }
  index = WhereOp::create(b, LessOp::create(b, index, zero),
                          b.add(index, count), index);
  Value last = b.sub(count, b.integer(1)),
        rest = MaxOp::create(b, MinOp::create(b, index, last), zero), place;
  Value isInside = EqualOp::create(b, index, rest);
  int64_t stride = 1;
  for (size_t i = parts.size(); i-- > 0;) {
    // No number is divided by 0.
    Value length = MaxOp::create(b, lengths[i], b.integer(1));
    Value part = i ? Value(ModOp::create(b, rest, length)) : rest;
    part = b.mul(part, b.integer(stride));
    place = place ? b.add(place, part) : part;
    if (i)
      rest = b.div(rest, length);
    stride *= parts[i].length;
  }
  if (isa<ScatterElementsOp>(op))
    place = WhereOp::create(b, isInside, place, b.integer(stride));
  op->setOperand(1, b.cast(place, element));
}
