//===- PaddingMasks.cpp - Masks of padded dimensions ----------------------===//
//
// As in the proof, operators need no rules of their own: a mask is right if the
// proof succeeds with it. Candidates are the neutral elements of reductions, at
// one or two operands.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/PaddingMasks.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns candidates for neutral elements, in the type that bodies compute in.
/// The most likely come first: those of sums, maxima, minima, products and
/// ascending order.
static SmallVector<TypedAttr> neutralNumbers(Type element) {
  Builder b(element.getContext());
  if (isSmall(element))
    return {};
  Type type = signlessType(element);
  if (auto f = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = f.getFloatSemantics();
    return {b.getFloatAttr(f, 0.0),
            b.getFloatAttr(f, APFloat::getInf(semantics, /*Negative=*/true)),
            b.getFloatAttr(f, APFloat::getInf(semantics)),
            b.getFloatAttr(f, 1.0),
            b.getFloatAttr(f, APFloat::getNaN(semantics))};
  }
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return {};
  unsigned bits = integer.getWidth();
  if (bits == 1)
    return {b.getBoolAttr(false), b.getBoolAttr(true)};
  bool isUnsigned = element.isUnsignedInteger();
  APInt most =
      isUnsigned ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits);
  SmallVector<TypedAttr> numbers = {b.getIntegerAttr(integer, 0)};
  if (!isUnsigned)
    numbers.push_back(
        b.getIntegerAttr(integer, APInt::getSignedMinValue(bits)));
  numbers.push_back(b.getIntegerAttr(integer, most));
  numbers.push_back(b.getIntegerAttr(integer, 1));
  return numbers;
}

//===----------------------------------------------------------------------===//
// Finding them
//===----------------------------------------------------------------------===//

/// Adds the lengths of a masked dimension's parts in the small model. Returns
/// false if the parts differ.
bool PaddingMasks::addSample(Mask &mask, const DimPlaces &places) const {
  if (areSame(places)) {
    for (Part &part : mask.parts)
      part.sizes.add(smallSizes, part.length);
    return true;
  }
  if (hasOffset(places))
    return false;
  // A part without padding may be one with the part before it.
  DimPlaces rest(llvm::reverse(places));
  SmallVector<int64_t> sizes;
  for (Part &part : mask.parts) {
    auto size = takePart(rest, part.length);
    if (!size)
      return false;
    sizes.push_back(*size);
  }
  if (!llvm::all_of(rest, [](SizePair part) { return part.large == 1; }))
    return false;
  for (auto [part, size] : llvm::zip_equal(mask.parts, sizes))
    part.sizes.add(smallSizes, size);
  return true;
}

std::optional<PaddedValue> PaddingMasks::pad(Operation *large,
                                             Operands operands, Pad pad) {
  if (auto found = masks.find(large); found != masks.end())
    for (Mask &mask : found->second) {
      PaddedValue &operand = operands[mask.operand];
      if (operand.anywhere || !addSample(mask, operand.places[mask.dim]))
        return std::nullopt;
      operand.content.setFill(mask.dim, AbstractValue(mask.value));
    }
  if (auto result = pad(operands))
    return result;
  return search(large, operands, pad);
}

std::optional<PaddedValue>
PaddingMasks::search(Operation *large, const Operands &operands, Pad pad) {
  SmallVector<Site> sites;
  SmallVector<Type> types;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    if (operand.anywhere)
      continue;
    for (auto [dim, places] : llvm::enumerate(operand.places))
      if (!areSame(places) && !hasOffset(places)) {
        sites.push_back({unsigned(i), unsigned(dim), places});
        types.push_back(tensorType(operand.large).getElementType());
      }
  }
  for (size_t i = 0; i < sites.size(); ++i)
    for (TypedAttr value : neutralNumbers(types[i]))
      if (auto result = tryMasks(large, operands, sites[i], value, pad))
        return result;
  for (size_t i = 0; i < sites.size(); ++i)
    for (size_t j = i + 1; j < sites.size(); ++j)
      if (types[i] == types[j])
        for (TypedAttr value : neutralNumbers(types[i]))
          if (auto result =
                  tryMasks(large, operands, {sites[i], sites[j]}, value, pad))
            return result;
  return std::nullopt;
}

std::optional<PaddedValue> PaddingMasks::tryMasks(Operation *large,
                                                  Operands operands,
                                                  ArrayRef<Site> sites,
                                                  TypedAttr value, Pad pad) {
  for (const Site &site : sites)
    operands[site.operand].content.setFill(site.dim, AbstractValue(value));
  std::optional<PaddedValue> result = pad(operands);
  if (!result)
    return std::nullopt;
  for (const Site &site : sites) {
    Mask mask{site.operand, site.dim, value, {}};
    for (SizePair part : site.places) {
      mask.parts.push_back({part.large, {}});
      mask.parts.back().sizes.add(largeSizes, part.large);
    }
    addSample(mask, site.places);
    masks[large].push_back(std::move(mask));
  }
  return result;
}

/// Returns the integer in an unnamed constant of one element.
static std::optional<int64_t> integerOf(ConstantOp op) {
  auto value = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!value || value.getNumElements() != 1 || op.getName())
    return std::nullopt;
  if (!isa<FloatType>(value.getElementType())) {
    APInt number = *value.value_begin<APInt>();
    return number.getBitWidth() == 1 || number.getSignificantBits() > 64
               ? std::nullopt
               : std::optional(number.getSExtValue());
  }
  APSInt number(64, /*isUnsigned=*/false);
  bool exact = false;
  APFloat element = *value.value_begin<APFloat>();
  if (element.convertToInteger(number, APFloat::rmTowardZero, &exact) !=
          APFloat::opOK ||
      !exact)
    return std::nullopt;
  return number.getSExtValue();
}

std::optional<PaddedValue> PaddingMasks::padSize(ConstantOp small,
                                                 ConstantOp large) {
  std::optional<int64_t> from = integerOf(small), to = integerOf(large);
  if (!from || !to || small.getType() != large.getType())
    return std::nullopt;
  SizeSamples &samples = constants[large];
  samples.add(largeSizes, *to);
  samples.add(smallSizes, *from);
  bool isPositive = *from > 0 && *to > 0;
  return PaddedValue{large.getY(),
                     {},
                     /*anywhere=*/true,
                     PaddedContent::uniform(isPositive ? AbstractValue::positive
                                                       : AbstractValue::real)};
}

void PaddingMasks::limit(GatherOp large, int64_t last, bool isLimited) {
  auto [it, isNew] = limits.try_emplace(large);
  if (isNew)
    it->second.last.add(
        largeSizes,
        shapeOf(large.getX())[axisOf(large.getX(), large.getAxis())] - 1);
  it->second.last.add(smallSizes, last);
  it->second.isNeeded |= isLimited;
}

/// Returns places of elements that are all equal, `small` of `large`: such as a
/// list of as many has that was joined before, since they may be anywhere.
std::optional<DimPlaces> PaddingMasks::placesOfEqual(int64_t small,
                                                     int64_t large) const {
  if (small == large)
    return DimPlaces{{large, large}};
  for (const DimPlaces &places : listed) {
    int64_t own = 1, whole = 1;
    for (SizePair part : places)
      own *= part.small, whole *= part.large;
    if (own == small && whole == large)
      return places;
  }
  return std::nullopt;
}

std::optional<PaddedValue> PaddingMasks::join(ConcatOp small, ConcatOp large,
                                              const Operands &operands,
                                              bool isNew) {
  int64_t axis = axisOf(small.getY(), small.getAxis());
  auto found = joins.find(large);
  auto result = leadingValue(small.getY(), large.getY());
  if ((found == joins.end() && !isNew) || !result ||
      axis != axisOf(large.getY(), large.getAxis()))
    return std::nullopt;
  result->content = {};
  SmallVector<DimPlaces> places;
  for (auto [from, to, operand] :
       llvm::zip_equal(small.getXs(), large.getXs(), operands)) {
    for (auto [dim, part] : llvm::enumerate(operand.places))
      if (!operand.anywhere &&
          (int64_t(dim) == axis ? hasOffset(part) : !isLeading(part)))
        return std::nullopt;
    auto part = operand.anywhere
                    ? placesOfEqual(shapeOf(from)[axis], shapeOf(to)[axis])
                    : operand.places[axis];
    if (!part)
      return std::nullopt;
    places.push_back(*part);
    // New elements behind those of a cache have a variant for each size of it.
    if (found == joins.end() && !joinsFixed && areSame(places.back()))
      return std::nullopt;
    PaddedContent &content = result->content;
    content.inside = content.inside | operand.content.inside;
    content.outside = content.outside | operand.content.all();
  }
  PaddedJoin joined = found == joins.end() ? PaddedJoin() : found->second;
  if (!joined.add(smallSizes, places, largeSizes))
    return std::nullopt;
  joins[large] = std::move(joined);
  llvm::append_range(listed, places);
  return result;
}

std::optional<PaddedValue> PaddingMasks::shift(SliceOp small, SliceOp large,
                                               const PaddedValue &x,
                                               bool isNew) {
  auto found = slices.find(large);
  if (found == slices.end() && !isNew)
    return std::nullopt;
  PaddedSlice slice = isNew ? PaddedSlice() : found->second;
  auto result = slice.add(small, smallSizes, large, largeSizes, x);
  if (result)
    slices[large] = slice;
  return result;
}

std::optional<PaddedValue> PaddingMasks::pick(Operation *small,
                                              Operation *large,
                                              const Operands &operands,
                                              bool isNew) {
  auto found = picks.find(large);
  if (found == picks.end() && !isNew)
    return std::nullopt;
  PaddedPick pick = isNew ? PaddedPick() : found->second;
  auto result = pick.add(small, smallSizes, large, largeSizes, operands);
  if (result)
    picks[large] = pick;
  return result;
}

SmallVector<PaddingMasks::Use> PaddingMasks::uses() const {
  SmallVector<Use> all;
  for (const auto &[op, list] : masks)
    for (const Mask &mask : list)
      for (const Part &part : mask.parts)
        if (!part.sizes.isFixed())
          all.push_back({op, &part.sizes});
  for (const auto &[op, samples] : constants)
    all.push_back({op, &samples});
  for (const auto &[op, limit] : limits)
    if (limit.isNeeded)
      all.push_back({op, &limit.last});
  for (const auto &[op, join] : joins)
    for (const SizeSamples *samples : join.uses())
      all.push_back({op, samples});
  for (const auto &[op, slice] : slices)
    all.push_back({op, &slice.start()});
  for (const auto &[op, pick] : picks)
    for (const SizeSamples *samples : pick.uses())
      all.push_back({op, samples});
  return all;
}

size_t PaddingMasks::size() const {
  return masks.size() + constants.size() + joins.size() + slices.size() +
         picks.size() + llvm::count_if(limits, [](const auto &limit) {
           return limit.second.isNeeded;
         });
}

Operation *PaddingMasks::findMisfit() const {
  for (auto [op, samples] : uses())
    if (!samples->fit())
      return op;
  return nullptr;
}

bool PaddingMasks::areAmbiguous() const {
  return llvm::any_of(uses(), [&](const Use &use) {
    return use.second->isAmbiguous(multiples);
  });
}

std::optional<SmallVector<int64_t, 2>>
PaddingMasks::findProbe(ArrayRef<int64_t> least) const {
  for (auto [op, samples] : uses())
    if (auto sizes = samples->findProbe(least, largeSizes, multiples))
      return sizes;
  return std::nullopt;
}

std::vector<bool> PaddingMasks::symbols() const {
  std::vector<bool> needed(largeSizes.size());
  for (auto [op, samples] : uses()) {
    SizeExpr expr = *samples->fit();
    needed[expr.symbol] = true;
    if (expr.secondFactor)
      needed[expr.second] = true;
  }
  return needed;
}
