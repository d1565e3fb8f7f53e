//===- PaddedContent.cpp - Abstract values of padding ---------------------===//
//
// A row of 3 scores among 4, masked before a softmax:
//
//   %x = [a, b, c, -inf]       filled with -inf beyond 3
//   %m = max %x                a step with -inf changes no maximum
//   %e = exp(%x - %m)          -inf - real = -inf, exp(-inf) = 0: filled with 0
//   %s = sum %e                a step with 0 changes no sum; it is positive
//   %y = %e / %s               0 / positive = 0: filled with 0
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/values/PaddedContent.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace frit;

const PaddedContent::Fill *PaddedContent::fillOf(unsigned dim) const {
  auto found =
      llvm::find_if(fills, [&](const Fill &fill) { return fill.dim == dim; });
  return found == fills.end() ? nullptr : found;
}

const AbstractValue *PaddedContent::someOf(unsigned dim) const {
  for (const auto &[along, number] : some)
    if (along == dim)
      return &number;
  return nullptr;
}

void PaddedContent::setFill(unsigned dim, AbstractValue number) {
  llvm::erase_if(some, [&](const auto &line) { return line.first != dim; });
  llvm::erase_if(fills, [&](const Fill &fill) { return fill.dim == dim; });
  // Elements beyond the true size in both dimensions have the new fill.
  for (Fill &fill : fills)
    fill.everywhere &= fill.number == number;
  fills.push_back({dim, number, /*everywhere=*/true});
}

AbstractValue PaddedContent::all() const {
  AbstractValue number = inside | outside;
  for (const Fill &fill : fills)
    number = number | fill.number;
  return number;
}

std::string PaddedContent::text() const {
  std::string text = inside.text() + "," + outside.text();
  for (const Fill &fill : fills)
    text += (fill.everywhere ? "," : "~") + std::to_string(fill.dim) + "=" +
            fill.number.text();
  for (const auto &[dim, number] : some)
    text += "!" + std::to_string(dim) + "=" + number.text();
  return text;
}

static int64_t sizeBehind(ArrayRef<int64_t> shape, unsigned dim) {
  return ShapedType::getNumElements(shape.drop_front(dim + 1));
}

PaddedContent frit::reshapeContent(PaddedContent content,
                                   ArrayRef<int64_t> small,
                                   ArrayRef<int64_t> large,
                                   ArrayRef<int64_t> newSmall,
                                   ArrayRef<int64_t> newLarge) {
  auto placeOf = [&](unsigned dim) -> std::optional<unsigned> {
    for (unsigned other = 0; other < newLarge.size(); ++other)
      if (newSmall[other] == small[dim] && newLarge[other] == large[dim] &&
          sizeBehind(newSmall, other) == sizeBehind(small, dim) &&
          sizeBehind(newLarge, other) == sizeBehind(large, dim))
        return other;
    return std::nullopt;
  };
  PaddedContent result{content.inside, content.outside, {}, {}};
  for (const PaddedContent::Fill &fill : content.fills) {
    if (auto dim = placeOf(fill.dim))
      result.fills.push_back({*dim, fill.number, fill.everywhere});
    else
      result.outside = result.outside | fill.number;
  }
  for (const auto &[along, number] : content.some)
    if (auto dim = placeOf(along))
      result.some.push_back({*dim, number});
  return result;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LoopContent::LoopContent(linalg::LinalgOp large, ArrayRef<int64_t> from,
                         ContentOf contentOf)
    : op(large), from(from), to(large.getStaticLoopRanges()),
      maps(large.getIndexingMapsArray()), contentOf(contentOf) {
  for (utils::IteratorType kind : large.getIteratorTypesArray())
    isReduction.push_back(kind == utils::IteratorType::reduction);
}

int LoopContent::loopOf(unsigned operand, unsigned dim) const {
  auto loop = dyn_cast<AffineDimExpr>(maps[operand].getResult(dim));
  return loop ? int(loop.getPosition()) : -1;
}

/// Returns the value read where only `loop` is beyond the small model's range.
AbstractValue LoopContent::readBeyond(unsigned operand, unsigned loop) const {
  const PaddedContent &content = contentOf(op->getOperand(operand));
  bool isFunction = false;
  for (AffineExpr expr : maps[operand].getResults())
    isFunction |= expr.isFunctionOfDim(loop);
  if (!isFunction)
    return content.inside;
  for (const PaddedContent::Fill &fill : content.fills)
    if (loopOf(operand, fill.dim) == int(loop))
      return fill.number;
  return content.all();
}

AbstractValue LoopContent::read(unsigned operand, const Place &place) const {
  const PaddedContent &content = contentOf(op->getOperand(operand));
  AbstractValue number = content.inside;
  if (place.inside && place.beyond >= 0)
    number = readBeyond(operand, place.beyond);
  if (!place.inside) {
    number = number | content.outside;
    for (const PaddedContent::Fill &fill : content.fills) {
      int loop = loopOf(operand, fill.dim);
      if (fill.everywhere && loop >= 0 && loop == place.beyond) {
        number = fill.number;
        break;
      }
      if (!fill.everywhere || loop < 0 || !place.notBeyond[loop])
        number = number | fill.number;
    }
  }
  // Two operands may read one element, as in a square.
  unsigned first = 0;
  while (op->getOperand(first) != op->getOperand(operand) ||
         maps[first] != maps[operand])
    ++first;
  number.element = first + 1;
  return number;
}

/// Returns the value that the body yields; `given` is the accumulator, if there
/// is one.
AbstractValue LoopContent::evaluate(const Place &place,
                                    const AbstractValue *given,
                                    const Some *some) const {
  SmallVector<AbstractValue> arguments;
  unsigned last = op->getNumOperands() - 1;
  for (unsigned operand = 0; operand <= last; ++operand)
    arguments.push_back(operand == last && given ? *given
                        : some && some->operand == operand
                            ? some->number
                            : read(operand, place));
  auto elementOf = [&](Value tensor) {
    const PaddedContent &content = contentOf(tensor);
    return place.inside && place.beyond < 0 ? content.inside : content.all();
  };
  // Indices that a body reads are the same in both models, so that one beyond
  // the small model's is behind those of a loop that is no longer.
  auto isAhead = [&](unsigned loop, unsigned other) {
    return place.inside && int(loop) == place.beyond && loop != other &&
           from[other] <= from[loop];
  };
  return evaluateBody(op->getRegion(0), arguments, elementOf, isAhead);
}

/// Returns the operands with a known element in every line along a loop.
SmallVector<LoopContent::Some> LoopContent::someAlong(unsigned loop) const {
  SmallVector<Some> result;
  for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
    for (const auto &[dim, number] : contentOf(op->getOperand(operand)).some)
      if (loopOf(operand, dim) == int(loop))
        result.push_back({operand, number});
  return result;
}

/// Returns the accumulator after any number of further steps.
AbstractValue LoopContent::repeat(const Place &place, AbstractValue sum) const {
  // Terminates: the value only grows, and the lattice is small.
  for (AbstractValue next;; sum = next) {
    next = sum | evaluate(place, &sum);
    if (next == sum)
      return sum;
  }
}

/// Returns the result of a reduction's steps, in any order.
AbstractValue LoopContent::combine(const Place &place, const Some *some) const {
  if (!llvm::is_contained(isReduction, true))
    return evaluate(place, nullptr, some);
  AbstractValue start = read(op->getNumOperands() - 1, place);
  AbstractValue sum = repeat(place, evaluate(place, &start));
  bool isEmpty = false;
  for (unsigned loop = 0; loop < to.size(); ++loop)
    isEmpty |= isReduction[loop] && from[loop] == 0;
  if (isEmpty)
    return repeat(place, sum | start);
  for (unsigned loop = 0; loop < to.size(); ++loop)
    for (const Some &line : someAlong(loop))
      if (isReduction[loop]) {
        // More is known about one of the steps.
        AbstractValue any = sum | start;
        AbstractValue better = repeat(place, evaluate(place, &any, &line));
        if (better.sign() < sum.sign())
          sum = better;
      }
  return sum;
}

/// Returns whether all additional steps are neutral. Steps beyond the range in
/// two loops must be neutral because of one loop, whatever the index of the
/// other.
bool LoopContent::hasNeutralSteps() const {
  unsigned onlyAlone = 0;
  for (unsigned loop = 0; loop < to.size(); ++loop) {
    if (!isReduction[loop] || from[loop] == to[loop] || isNeutral(loop))
      continue;
    if (++onlyAlone > 1 || !isNeutral({/*inside=*/true, int(loop), {}}))
      return false;
  }
  return true;
}

bool LoopContent::isNeutral(unsigned loop) const {
  SmallVector<bool> notBeyond(to.size());
  return isNeutral({/*inside=*/false, int(loop), notBeyond});
}

bool LoopContent::isNeutral(const Place &place) const {
  AbstractValue given = AbstractValue::given;
  return evaluate(place, &given).kind == AbstractValue::given;
}

PaddedContent LoopContent::result() const {
  bool isPadded = false, isOpen = false, isSummed = false;
  SmallVector<bool> notBeyond(to.size());
  for (unsigned loop = 0; loop < to.size(); ++loop) {
    if (from[loop] == to[loop])
      continue;
    isPadded = true;
    isOpen |= !isReduction[loop];
    // Neutral steps change no result and can be ignored.
    notBeyond[loop] = isReduction[loop] && isNeutral(loop);
    isSummed |= isReduction[loop] && !notBeyond[loop];
  }
  PaddedContent content;
  content.inside = combine({/*inside=*/true, -1, {}});
  // Assume that the small model computes finite numbers.
  if (isPadded && content.inside.kind > AbstractValue::real)
    content.inside = AbstractValue::real;
  content.inside.element = 0;
  for (unsigned dim = 0; dim < maps.back().getNumResults(); ++dim) {
    int loop = loopOf(maps.size() - 1, dim);
    if (loop < 0)
      continue;
    SmallVector<bool> inLine = notBeyond;
    inLine[loop] = true;
    for (const Some &line : someAlong(loop)) {
      AbstractValue number =
          combine({/*inside=*/false, -1, inLine}, &line).sign();
      if (number.isReal() && !content.someOf(dim))
        content.some.push_back({dim, number});
    }
  }
  if (!isOpen)
    return content;
  SmallVector<bool> unfilled = notBeyond;
  for (unsigned dim = 0; dim < maps.back().getNumResults(); ++dim) {
    int loop = loopOf(maps.size() - 1, dim);
    if (loop < 0 || from[loop] == to[loop])
      continue;
    AbstractValue fill = combine({/*inside=*/false, loop, notBeyond});
    bool everywhere = fill.kind == AbstractValue::constant;
    if (!everywhere && !isSummed)
      fill = combine({/*inside=*/true, loop, {}});
    if (fill.kind != AbstractValue::constant)
      continue;
    content.fills.push_back({dim, AbstractValue(fill.value), everywhere});
    unfilled[loop] = everywhere;
  }
  content.outside = combine({/*inside=*/false, -1, unfilled});
  content.outside.element = 0;
  return content;
}
