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
/// The most likely come first: those of sums, maxima, minima and products.
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
            b.getFloatAttr(f, 1.0)};
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

/// Returns whether a dimension has no padding.
static bool areSame(const DimPlaces &places) {
  return llvm::all_of(places,
                      [](SizePair part) { return part.small == part.large; });
}

/// Adds the lengths of a masked dimension's parts in the small model. Returns
/// false if the parts differ.
bool PaddingMasks::addSample(Mask &mask, const DimPlaces &places) const {
  if (areSame(places)) {
    for (Part &part : mask.parts)
      part.sizes.add(smallSizes, part.length);
    return true;
  }
  if (places.size() != mask.parts.size() || hasOffset(places))
    return false;
  for (auto [part, place] : llvm::zip_equal(mask.parts, places)) {
    if (part.length != place.large)
      return false;
    part.sizes.add(smallSizes, place.small);
  }
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
  for (const PaddedValue &operand : operands) {
    if (operand.anywhere)
      return std::nullopt;
    for (auto [dim, part] : llvm::enumerate(operand.places))
      if (int64_t(dim) == axis ? hasOffset(part) : !isLeading(part))
        return std::nullopt;
    places.push_back(operand.places[axis]);
    // New elements behind those of a cache have a variant for each size of it.
    if (found == joins.end() && !joinsFixed && areSame(places.back()))
      return std::nullopt;
    PaddedContent &content = result->content;
    content.inside = content.inside | operand.content.inside;
    content.outside = content.outside | operand.content.all();
  }
  if (found == joins.end())
    found = joins.insert({large, {}}).first;
  return found->second.add(smallSizes, places, largeSizes) ? result
                                                           : std::nullopt;
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
  return all;
}

size_t PaddingMasks::size() const {
  return masks.size() + constants.size() + joins.size() +
         llvm::count_if(
             limits, [](const auto &limit) { return limit.second.isNeeded; });
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

//===----------------------------------------------------------------------===//
// Inserting masks
//===----------------------------------------------------------------------===//

static Value buildScalar(NNBuilder &b, Type element, Attribute value) {
  auto type = RankedTensorType::get({}, element);
  return ConstantOp::create(b, DenseElementsAttr::get(type, value),
                            StringAttr());
}

static Value buildInteger(NNBuilder &b, int64_t value) {
  return buildScalar(b, b.getI64Type(), b.getI64IntegerAttr(value));
}

Value PaddingMasks::buildSize(const SizeExpr &expr) {
  Value &size = built[expr];
  if (size)
    return size;
  size = sizeOf(expr.symbol);
  OpBuilder at(size.getContext());
  at.setInsertionPointAfterValue(size);
  NNBuilder b(size.getLoc(), at);
  if (expr.scale != 1)
    size = b.mul(size, buildInteger(b, expr.scale));
  if (expr.shift != 0)
    size = b.add(size, buildInteger(b, expr.shift));
  if (expr.divisor != 1)
    size = b.div(size, buildInteger(b, expr.divisor));
  if (expr.factor != 1)
    size = b.mul(size, buildInteger(b, expr.factor));
  if (expr.offset != 0)
    size = b.add(size, buildInteger(b, expr.offset));
  if (expr.secondFactor != 0)
    size = b.add(
        size, b.mul(sizeOf(expr.second), buildInteger(b, expr.secondFactor)));
  return size;
}

/// Builds the condition that an index of the masked dimension is inside, in a
/// shape that broadcasts to that of `like`.
Value PaddingMasks::buildIsInside(const Mask &mask, Value like) {
  SmallVector<int64_t> line(shapeOf(like).size(), 1), parts;
  line[mask.dim] = shapeOf(like)[mask.dim];
  std::string key;
  llvm::raw_string_ostream os(key);
  llvm::interleave(line, os, "x");
  Value last;
  for (const Part &part : mask.parts) {
    parts.push_back(part.length);
    os << "," << part.length;
    if (auto size = part.sizes.fit()) {
      Value built = buildSize(*size);
      os << ":" << built.getAsOpaquePointer();
      if (!last ||
          (built.getDefiningOp() &&
           (!last.getDefiningOp() ||
            last.getDefiningOp()->isBeforeInBlock(built.getDefiningOp()))))
        last = built;
    }
  }
  Value &result = inside[key];
  if (result)
    return result;
  OpBuilder at(last.getContext());
  at.setInsertionPointAfterValue(last);
  NNBuilder b(last.getLoc(), at);
  if (parts.size() == 1)
    parts = line;
  Value zero = buildInteger(b, 0), one = buildInteger(b, 1);
  for (auto [i, part] : llvm::enumerate(mask.parts)) {
    auto size = part.sizes.fit();
    if (!size)
      continue;
    unsigned axis = mask.parts.size() == 1 ? mask.dim : i;
    Value isIn = LessOp::create(b, IotaOp::create(b, zero, one, parts, axis),
                                buildSize(*size));
    result = result ? Value(AndOp::create(b, result, isIn)) : isIn;
  }
  return result = b.reshape(result, line);
}

void PaddingMasks::applyLimits() {
  for (const auto &[op, limit] : limits) {
    if (!limit.isNeeded)
      continue;
    auto gather = cast<GatherOp>(op);
    Value last = buildSize(*limit.last.fit());
    OpBuilder at(op);
    NNBuilder b(op->getLoc(), at);
    Value indices = gather.getIndices();
    last = b.cast(last, tensorType(indices).getElementType());
    gather.getIndicesMutable().assign(MinOp::create(b, indices, last));
  }
}

void PaddingMasks::apply(llvm::function_ref<Value(unsigned)> sizes) {
  sizeOf = sizes;
  auto order = llvm::to_vector(llvm::make_first_range(masks));
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  std::map<std::tuple<void *, unsigned, void *>, Value> masked;
  for (Operation *op : order)
    for (const Mask &mask : masks[op]) {
      Value x = op->getOperand(mask.operand);
      Value &value =
          masked[{x.getAsOpaquePointer(), mask.dim,
                  const_cast<void *>(mask.value.getAsOpaquePointer())}];
      if (!value) {
        Value isInside = buildIsInside(mask, x);
        OpBuilder at(op);
        NNBuilder b(op->getLoc(), at);
        Type element = tensorType(x).getElementType();
        Attribute number = mask.value;
        if (auto integer = dyn_cast<IntegerAttr>(number))
          number = IntegerAttr::get(element, integer.getValue());
        value =
            WhereOp::create(b, isInside, x, buildScalar(b, element, number));
      }
      op->setOperand(mask.operand, value);
    }
  applyLimits();
  for (auto &[op, join] : joins)
    join.apply(cast<ConcatOp>(op),
               [&](const SizeExpr &expr) { return buildSize(expr); });
  for (auto &[op, samples] : constants) {
    auto constant = cast<ConstantOp>(op);
    Value size = buildSize(*samples.fit());
    auto type = constant.getY().getType();
    OpBuilder at(op->getContext());
    at.setInsertionPointAfterValue(size);
    NNBuilder b(op->getLoc(), at);
    constant.getY().replaceAllUsesWith(
        b.reshape(b.cast(size, type.getElementType()), type.getShape()));
    constant.erase();
  }
}
