//===- AbstractBody.cpp - Abstract interpretation of scalar bodies --------===//
//
// MLIR folds constants; arithmetic has transfer rules. The result of an
// operator without a rule may be anything.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/values/AbstractValue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace frit;
using Known = AbstractValue;

/// Folds an operator on constants.
static Known foldConstants(Operation *op, ArrayRef<Known> x) {
  auto values = llvm::map_to_vector(
      x, [](const Known &known) { return Attribute(known.value); });
  // Fold a copy, since folding may change the operator.
  Operation *copy = op->clone();
  SmallVector<OpFoldResult> results;
  Known result = unknownNumber(op->getResult(0).getType());
  if (succeeded(copy->fold(values, results)) && results.size() == 1) {
    if (auto value = dyn_cast<Attribute>(results[0])) {
      if (auto typed = dyn_cast<TypedAttr>(value))
        result = Known(typed);
    } else {
      for (auto [operand, known] : llvm::zip_equal(copy->getOperands(), x))
        if (operand == cast<Value>(results[0]))
          result = known;
    }
  }
  copy->destroy();
  return result;
}

/// Returns the accumulator unchanged if `other` is neutral to the operator,
/// else `any`.
static Known combineGiven(Operation *op, const Known &other) {
  std::optional<TypedAttr> neutral = arith::getNeutralElement(op);
  if (!neutral || other.kind != Known::constant)
    return Known::any;
  Known wanted(*neutral);
  bool same = wanted == other || (wanted.isZero() && other.isZero()) ||
              (wanted.infinity() && wanted.infinity() == other.infinity());
  return same ? Known::given : Known::any;
}

static bool isBelow(const Known &x) {
  return x.kind >= Known::constant && x.sign() <= Known::below;
}

static Known add(const Known &a, const Known &b) {
  if (a.infinity() || b.infinity()) {
    const Known &rest = a.infinity() ? b : a;
    const Known &end = a.infinity() ? a : b;
    bool apart = rest.isReal() || rest.infinity() == end.infinity() ||
                 (end.infinity() < 0 && isBelow(rest));
    return apart ? end : Known(Known::any);
  }
  if (a.isZero())
    return b;
  if (b.isZero())
    return a;
  if (a.isNotNegative() && b.isNotNegative())
    return a.isPositive() || b.isPositive() ? Known::positive
                                            : Known::notNegative;
  if (a.isReal() && b.isReal())
    return Known::real;
  return isBelow(a) && isBelow(b) ? Known::below : Known::any;
}

static Known negate(Operation *op, const Known &x, Type type) {
  if (x.kind == Known::constant)
    if (auto number = dyn_cast<FloatAttr>(x.value))
      return Known(FloatAttr::get(type, llvm::neg(number.getValue())));
  return x.isReal() ? Known::real : unknownNumber(type);
}

static Known multiply(const Known &a, const Known &b) {
  if (a.isReal() && b.isReal()) {
    if (a.isZero() || b.isZero())
      return a.isZero() ? a : b;
    if (a.isPositive() && b.isPositive())
      return Known::positive;
    bool square = a.element && a.element == b.element;
    return square || (a.isNotNegative() && b.isNotNegative())
               ? Known::notNegative
               : Known::real;
  }
  if (a.infinity() && b.isPositive())
    return a;
  if (b.infinity() && a.isPositive())
    return b;
  bool scales =
      (a.isPositive() && isBelow(b)) || (b.isPositive() && isBelow(a));
  return scales ? Known::below : Known::any;
}

static Known divide(const Known &a, const Known &b) {
  if (!b.isPositive())
    return Known::any;
  return a.isZero() || a.infinity() ? a
         : isBelow(a)               ? Known(a.sign())
                                    : Known(Known::any);
}

/// Returns the larger of two values, or with `sign` -1 the smaller.
static Known largest(const Known &a, const Known &b, int sign) {
  if (a.infinity() || b.infinity()) {
    const Known &end = a.infinity() ? a : b, &rest = a.infinity() ? b : a;
    bool wins = rest.isReal() || (end.infinity() < 0 && isBelow(rest));
    return end.infinity() == -sign ? rest : wins ? end : Known(Known::any);
  }
  if (!isBelow(a) || !isBelow(b))
    return Known::any;
  return sign > 0 ? std::min(a.sign(), b.sign()) : std::max(a.sign(), b.sign());
}

static Known power(const Known &base, const Known &exponent) {
  if (base.isPositive() && exponent.isReal())
    return Known::positive;
  auto number = dyn_cast_if_present<FloatAttr>(exponent.value);
  if (!number || !base.isReal() || !exponent.isNotNegative())
    return Known::any;
  APFloat half = number.getValue();
  half.divide(APFloat(half.getSemantics(), 2), APFloat::rmNearestTiesToEven);
  if (half.isInteger() || base.isNotNegative())
    return Known::notNegative;
  return number.getValue().isInteger() ? Known::real : Known::any;
}

/// Compares an infinite value with a finite one, or tells that neither is NaN.
static Known compare(arith::CmpFOp op, const Known &a, const Known &b) {
  auto isNumber = [](const Known &x) { return isBelow(x) || x.infinity(); };
  bool isOrdered = op.getPredicate() == arith::CmpFPredicate::ORD;
  if ((isOrdered || op.getPredicate() == arith::CmpFPredicate::UNO) &&
      isNumber(a) && isNumber(b))
    return Known(BoolAttr::get(op.getContext(), isOrdered));
  // Nothing is below -inf or above inf, and NaN is neither.
  bool isBelowNone = op.getPredicate() == arith::CmpFPredicate::OLT &&
                     (a.infinity() > 0 || b.infinity() < 0);
  bool isAboveNone = op.getPredicate() == arith::CmpFPredicate::OGT &&
                     (a.infinity() < 0 || b.infinity() > 0);
  if (isBelowNone || isAboveNone)
    return Known(BoolAttr::get(op.getContext(), false));
  bool comparable =
      (a.infinity() && b.isReal()) || (b.infinity() && a.isReal());
  if (!comparable)
    return Known::real;
  bool less = a.infinity() ? a.infinity() < 0 : b.infinity() > 0;
  using P = arith::CmpFPredicate;
  bool holds = false;
  switch (op.getPredicate()) {
  case P::OLT:
  case P::OLE:
  case P::ULT:
  case P::ULE:
    holds = less;
    break;
  case P::OGT:
  case P::OGE:
  case P::UGT:
  case P::UGE:
    holds = !less;
    break;
  case P::ONE:
  case P::UNE:
  case P::ORD:
  case P::AlwaysTrue:
    holds = true;
    break;
  case P::OEQ:
  case P::UEQ:
  case P::UNO:
  case P::AlwaysFalse:
    holds = false;
    break;
  }
  return Known(BoolAttr::get(op.getContext(), holds));
}

/// Compares an integer with the least or largest of its type, such as padding
/// that is last in order.
static Known compare(arith::CmpIOp op, const Known &a, const Known &b) {
  using P = arith::CmpIPredicate;
  auto isEnd = [&](const Known &x, bool isLeast, bool isSigned) {
    auto number = dyn_cast_if_present<IntegerAttr>(x.value);
    if (x.kind != Known::constant || !number)
      return false;
    const APInt &bits = number.getValue();
    return isSigned
               ? isLeast ? bits.isMinSignedValue() : bits.isMaxSignedValue()
           : isLeast ? bits.isZero()
                     : bits.isAllOnes();
  };
  P predicate = op.getPredicate();
  if (predicate == P::eq || predicate == P::ne)
    return Known::real;
  auto isOneOf = [&](std::initializer_list<P> some) {
    return llvm::is_contained(some, predicate);
  };
  bool isSigned = isOneOf({P::slt, P::sle, P::sgt, P::sge});
  bool isStrict = isOneOf({P::slt, P::sgt, P::ult, P::ugt});
  // x >= y and x > y are y <= x and y < x.
  bool swaps = isOneOf({P::sgt, P::sge, P::ugt, P::uge});
  const Known &x = swaps ? b : a, &y = swaps ? a : b;
  // Nothing is below the least or above the largest; x <= y holds for the least
  // x and the largest y.
  if (isEnd(x, !isStrict, isSigned) || isEnd(y, isStrict, isSigned))
    return Known(BoolAttr::get(op.getContext(), !isStrict));
  return Known::real;
}

/// Returns the loop whose index a value is.
static std::optional<unsigned> loopOf(Value value) {
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  auto index = value.getDefiningOp<linalg::IndexOp>();
  return index ? std::optional<unsigned>(index.getDim()) : std::nullopt;
}

/// Compares the indices of two loops.
static Known
compareLoops(arith::CmpIOp op,
             llvm::function_ref<bool(unsigned loop, unsigned other)> isAhead) {
  std::optional<unsigned> a = loopOf(op.getLhs()), b = loopOf(op.getRhs());
  bool isLess = op.getPredicate() == arith::CmpIPredicate::slt;
  return a && b && isLess && isAhead(*a, *b)
             ? Known(BoolAttr::get(op.getContext(), false))
             : Known(Known::real);
}

static Known select(const Known &condition, const Known &a, const Known &b) {
  if (condition.kind != Known::constant)
    return a | b;
  return condition.isZero() ? b : a;
}

static Known logical(Operation *op, const Known &a, const Known &b) {
  bool isAnd = isa<arith::AndIOp>(op);
  if (!op->getResult(0).getType().isInteger(1))
    return Known::real;
  for (auto [x, y] : {std::pair(&a, &b), std::pair(&b, &a)})
    if (x->kind == Known::constant)
      return x->isZero() == isAnd ? *x : *y;
  return Known::real;
}

static Known floatRule(Operation *op, ArrayRef<Known> x) {
  Type type = op->getResult(0).getType();
  return TypeSwitch<Operation *, Known>(op)
      .Case([&](arith::AddFOp) { return add(x[0], x[1]); })
      .Case([&](arith::SubFOp) { return add(x[0], negate(op, x[1], type)); })
      .Case([&](arith::NegFOp) { return negate(op, x[0], type); })
      .Case([&](arith::MulFOp) { return multiply(x[0], x[1]); })
      .Case([&](arith::DivFOp) { return divide(x[0], x[1]); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return largest(x[0], x[1], 1); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return largest(x[0], x[1], -1); })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) {
        Known same = x[0].sign();
        same.element = x[0].element;
        return same;
      })
      .Case<arith::SIToFPOp, arith::UIToFPOp>(
          [&](auto) { return Known(x[0].sign()); })
      .Case([&](math::PowFOp) { return power(x[0], x[1]); })
      .Case([&](math::ExpOp) {
        return x[0].isReal()   ? Known::positive
               : isBelow(x[0]) ? Known::notNegative
                               : Known::any;
      })
      .Case([&](math::LogOp) {
        return x[0].isPositive() ? Known::real : Known::any;
      })
      .Case<math::SqrtOp, math::Log1pOp>(
          [&](auto) { return x[0].isNotNegative() ? x[0].sign() : Known::any; })
      .Case([&](math::RsqrtOp) {
        return x[0].isPositive() ? Known::positive : Known::any;
      })
      .Case([&](math::AbsFOp) {
        return x[0].isReal() ? Known::notNegative : Known::any;
      })
      .Case<math::TanhOp, math::ErfOp, math::SinOp, math::CosOp, math::AtanOp,
            math::SinhOp, math::CoshOp, math::AsinhOp, math::FloorOp,
            math::CeilOp, math::RoundEvenOp>(
          [&](auto) { return x[0].isReal() ? Known::real : Known::any; })
      .Default(Known(Known::any));
}

static Known evaluate(Operation *op, ArrayRef<Known> x) {
  Type type = op->getResult(0).getType();
  if (isa<arith::SelectOp>(op))
    return select(x[0], x[1], x[2]);
  auto isConstant = [](const Known &known) {
    return known.kind == Known::constant;
  };
  if (llvm::all_of(x, isConstant))
    return foldConstants(op, x);
  if (x.size() == 2)
    for (int i : {0, 1})
      if (x[i].kind == Known::given)
        return combineGiven(op, x[1 - i]);
  if (isa<FloatType>(type))
    return floatRule(op, x);
  if (auto comparison = dyn_cast<arith::CmpFOp>(op))
    return compare(comparison, x[0], x[1]);
  if (auto comparison = dyn_cast<arith::CmpIOp>(op))
    return compare(comparison, x[0], x[1]);
  if (isa<arith::AndIOp, arith::OrIOp>(op))
    return logical(op, x[0], x[1]);
  return Known::real;
}

Known frit::evaluateBody(Region &body, ArrayRef<Known> arguments,
                         llvm::function_ref<Known(Value)> elementOf,
                         llvm::function_ref<bool(unsigned, unsigned)> isAhead) {
  llvm::DenseMap<Value, Known> known;
  for (auto [argument, number] :
       llvm::zip_equal(body.getArguments(), arguments))
    known[argument] = number;
  auto numberOf = [&](Value value) {
    TypedAttr constant;
    if (auto found = known.find(value); found != known.end())
      return found->second;
    return matchPattern(value, m_Constant(&constant))
               ? Known(constant)
               : unknownNumber(value.getType());
  };
  for (Operation &op : body.front().without_terminator()) {
    if (op.getNumResults() != 1)
      continue;
    Value result = op.getResult(0);
    TypedAttr constant;
    if (matchPattern(&op, m_Constant(&constant)))
      known[result] = Known(constant);
    else if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      known[result] = elementOf(extract.getTensor());
    else if (op.getNumRegions() || isa<linalg::IndexOp>(op))
      known[result] = unknownNumber(result.getType());
    else if (auto order = dyn_cast<arith::CmpIOp>(op);
             order && loopOf(order.getLhs()) && loopOf(order.getRhs()))
      known[result] = compareLoops(order, isAhead);
    else
      known[result] =
          evaluate(&op, llvm::map_to_vector(op.getOperands(), numberOf));
  }
  Operation *end = body.front().getTerminator();
  return end->getNumOperands() == 1 ? numberOf(end->getOperand(0))
                                    : Known(Known::any);
}
