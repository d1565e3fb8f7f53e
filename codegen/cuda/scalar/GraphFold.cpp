//===- GraphFold.cpp - Fold operations during graph construction ----------===//

#include "codegen/cuda/scalar/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Returns whether a model's 64-bit integer that is an index or a constant
/// fits in 32 bits, short of the last values.
static bool isNarrow(const Node *node) {
  return node->type && node->type.isInteger(64) &&
         (node->kind == Node::Kind::index ||
          node->kind == Node::Kind::constant) &&
         node->range.isWithin(INT32_MIN + 1, INT32_MAX - 1);
}

/// Compares an index and any other 64-bit integer in 32 bits. What does not fit
/// becomes a number that the index never is.
Node *Graph::narrowedEquality(arith::CmpIOp compare,
                              ArrayRef<Node *> operands) {
  static const ScalarForm saturate = {"saturate", "frit::saturate32($0)"};
  auto predicate = compare.getPredicate();
  if (predicate != arith::CmpIPredicate::eq &&
      predicate != arith::CmpIPredicate::ne)
    return nullptr;
  for (unsigned i : {0, 1}) {
    Node *place = operands[i], *other = operands[1 - i];
    if (place->kind != Node::Kind::index || !isNarrow(place) ||
        other->kind == Node::Kind::index || other->kind == Node::Kind::constant)
      continue;
    Node *narrow = operation(&saturate, other, IntegerType::get(context, 32),
                             {INT64_MIN, INT64_MAX});
    return operation(lookupForm(compare), {index(place->index), narrow},
                     IntegerType::get(context, 1), {0, 1});
  }
  return nullptr;
}

namespace {
/// Range of a float, both ends included. It may also be NaN.
struct FloatBounds {
  double low = -INFINITY, high = INFINITY;
};
} // namespace

/// Returns the range of a float that is clamped by constants.
static FloatBounds boundsOf(const Node *node) {
  FloatBounds bounds;
  while (node->kind == Node::Kind::operation && node->operands.size() == 2) {
    std::optional<double> limit = node->operands[1]->number();
    if (limit && node->form->name == "arith.minimumf")
      bounds.high = std::min(bounds.high, *limit);
    else if (limit && node->form->name == "arith.maximumf")
      // A smaller upper bound outside of it wins.
      bounds.low = std::max(bounds.low, std::min(*limit, bounds.high));
    else
      break;
    node = node->operands[0];
  }
  return bounds;
}

/// Returns whether a comparison with a constant is false for all clamped
/// floats, and for NaN.
static bool isNever(arith::CmpFOp compare, ArrayRef<Node *> operands) {
  std::optional<double> limit = operands[1]->number();
  if (!limit)
    return false;
  FloatBounds bounds = boundsOf(operands[0]);
  switch (compare.getPredicate()) {
  case arith::CmpFPredicate::OLT:
    return bounds.low >= *limit;
  case arith::CmpFPredicate::OGE:
    return bounds.high < *limit;
  default:
    return false;
  }
}

/// Returns whether a comparison with a constant is true for all clamped floats,
/// but not for NaN.
static bool isTrueUnlessNan(const Node *node) {
  if (node->kind != Node::Kind::operation || node->operands.size() != 2)
    return false;
  std::optional<double> limit = node->operands[1]->number();
  FloatBounds bounds = boundsOf(node->operands[0]);
  return limit && ((node->form->name == "cmpf.oge" && bounds.low >= *limit) ||
                   (node->form->name == "cmpf.olt" && bounds.high < *limit));
}

/// Returns the integer that a node is, if it is a constant float, or nothing if
/// it does not have 16 bits.
static std::optional<double> smallInteger(const Node *node) {
  std::optional<double> value = node->number();
  bool isSmall = value && std::abs(*value) < 1 << 16;
  return isSmall && std::floor(*value) == *value ? value : std::nullopt;
}

/// Returns whether a node is a product by a constant, or a sum of such.
static bool isScaled(const Node *node) {
  if (node->kind != Node::Kind::operation || node->operands.size() != 2)
    return false;
  if (node->form->name == "arith.addf")
    return llvm::all_of(node->operands, isScaled);
  return (node->form->name == "arith.mulf" ||
          node->form->name == "byte.scaled") &&
         node->operands[1]->number().has_value();
}

Node *Graph::scaled(Node *x, double factor) {
  if (!isScaled(x))
    return operation("arith.mulf",
                     {x, constant(FloatAttr::get(x->type, factor), x->type)});
  if (x->form->name == "arith.addf")
    return operation("arith.addf", {scaled(x->operands[0], factor),
                                    scaled(x->operands[1], factor)});
  factor *= *x->operands[1]->number();
  if (x->form->name == "byte.scaled")
    return operation(
        x->form,
        {x->operands[0], constant(FloatAttr::get(x->type, factor), x->type)},
        x->type, x->range);
  return scaled(x->operands[0], factor);
}

Node *Graph::preparedSum(Node *x, double factor, double term) {
  if (!isPrepared || !x->is("arith.addf") || !x->operands[0]->is("arith.mulf"))
    return nullptr;
  Node *product = x->operands[0], *added = x->operands[1];
  Node *sum = product->operands[0], *by = product->operands[1];
  if (!isPrepared(by) || isPrepared(sum) || !isPrepared(added))
    return nullptr;
  auto number = [&](double number) {
    return constant(FloatAttr::get(x->type, number), x->type);
  };
  Node *offset = operation("arith.mulf", {added, number(factor)});
  if (term != 0)
    offset = operation("arith.addf", {offset, number(term * factor)});
  return operation(
      "arith.addf",
      {operation("arith.mulf",
                 {sum, operation("arith.mulf", {by, number(factor)})}),
       offset});
}

Node *Graph::roundedToByte(const Node *value) {
  // A conversion takes 0 instead of NaN.
  if (!value->is("arith.select") || !isTrueUnlessNan(value->operands[0]) ||
      !value->operands[0]->is("cmpf.oge") ||
      value->operands[0]->operands[0] != value->operands[1] ||
      value->operands[2]->number() != 0.0 || !value->type.isF32())
    return nullptr;
  const Node *node = value->operands[1];
  FloatBounds bounds = boundsOf(node);
  if (bounds.low < -128 || bounds.high > 255 ||
      std::floor(bounds.low) != bounds.low ||
      std::floor(bounds.high) != bounds.high)
    return nullptr;
  while (node->is("arith.minimumf") || node->is("arith.maximumf"))
    node = node->operands[0];
  double offset = 0;
  if (node->is("arith.addf"))
    if (auto added = smallInteger(node->operands[1])) {
      offset = *added;
      node = node->operands[0];
    }
  if (!node->is("math.roundeven") && !node->is("round.quotient"))
    return nullptr;
  // Clamping to 0 or more makes a relu needless.
  Node *x = node->operands[0];
  if (x->is("arith.maximumf") && x->operands[1]->number() == 0.0 &&
      bounds.low - offset >= 0)
    x = x->operands[0];
  if (node->is("round.quotient")) {
    Node *by = node->operands[1], *inverse = node->operands[2];
    x = followsSums ? scaled(roundedTo8Bits(x), *inverse->number())
                    : operation("quotient", {x, by, inverse});
  }
  auto number = [&](double number) {
    return constant(FloatAttr::get(value->type, number), value->type);
  };
  return operation(lookupForm("round.byte"),
                   {x, number(bounds.low - offset),
                    number(bounds.high - offset), number(offset)},
                   IntegerType::get(context, 8), {-128, 127});
}

Node *Graph::numberOfByte(Node *difference) {
  Node *wide = difference;
  double zero = 0;
  if (difference->is("arith.subi")) {
    auto value =
        dyn_cast_if_present<IntegerAttr>(difference->operands[1]->value);
    if (difference->operands[1]->kind != Node::Kind::constant || !value ||
        !value.getValue().isSignedIntN(9))
      return nullptr;
    wide = difference->operands[0];
    zero = double(value.getValue().getSExtValue());
  }
  bool isSigned = wide->is("arith.extsi");
  if ((!isSigned && !wide->is("arith.extui")) ||
      !wide->operands[0]->type.isInteger(8))
    return nullptr;
  Node *byte = wide->operands[0];
  Type f32 = Float32Type::get(context);
  auto number = [&](double number) {
    return constant(FloatAttr::get(f32, number), f32);
  };
  Bounds any = {INT64_MIN, INT64_MAX};
  if (byte->kind == Node::Kind::load || byte->kind == Node::Kind::given)
    return operation(lookupForm(isSigned ? "byte.signed" : "byte.unsigned"),
                     {byte, number(zero)}, f32, any);
  if (!byte->is("round.byte"))
    return nullptr;
  double offset = *byte->operands[3]->number();
  double least = *byte->operands[1]->number() + offset,
         most = *byte->operands[2]->number() + offset;
  if (least >= most ||
      (isSigned ? least < -128 || most > 127 : least < 0 || most > 255))
    return nullptr;
  // Clamped to 0 to 1, NaN becomes the least number, which must be the code 0.
  if (Node *unit = least == 0 && offset == zero
                       ? preparedSum(byte->operands[0], 1 / (most - least),
                                     -*byte->operands[1]->number())
                       : nullptr)
    return operation(lookupForm("round.unit"),
                     {unit, byte->operands[1], byte->operands[2]}, f32, any);
  // The hardware clamps to 0 to 1 for nothing.
  Node *unit = scaled(byte->operands[0], 1 / (most - least));
  Node *clamped =
      operation(lookupForm("round.clamped"),
                {unit, byte->operands[1], byte->operands[2], byte->operands[3]},
                f32, any);
  return offset == zero
             ? clamped
             : operation("arith.addf", {clamped, number(offset - zero)});
}

/// Folds an operation. A cast in the model rounds at once. A cast that the
/// lowering added rounds when its result is stored.
Node *Graph::foldOperation(Operation *op, ArrayRef<Node *> operands) {
  auto truth = [&](bool value) {
    Type type = IntegerType::get(context, 1);
    return constant(IntegerAttr::get(type, value), type);
  };
  auto known = [](Node *node) -> std::optional<bool> {
    if (node->kind != Node::Kind::constant || !node->type.isInteger(1))
      return std::nullopt;
    return !cast<IntegerAttr>(node->value).getValue().isZero();
  };
  // Floats of 8 bits are kept as their bits (roundByTarget).
  if (auto truncate = dyn_cast<arith::TruncFOp>(op);
      truncate && truncate.getType().getIntOrFloatBitWidth() == 8)
    return operation(
        lookupForm(isa<Float8E4M3FNType>(truncate.getType()) ? "round.e4m3"
                                                             : "round.e5m2"),
        roundedTo8Bits(operands[0]), IntegerType::get(context, 8), {-128, 127});
  if (auto bits = dyn_cast<arith::BitcastOp>(op);
      bits && isa<FloatType>(bits.getIn().getType()) &&
      bits.getIn().getType().getIntOrFloatBitWidth() == 8)
    return operands[0];
  if (isa<arith::SIToFPOp>(op) && followsSums &&
      op->getResult(0).getType().isF32())
    if (Node *number = numberOfByte(operands[0]))
      return number;
  if (isa<arith::FPToUIOp, arith::FPToSIOp>(op) &&
      op->getResult(0).getType().isInteger(8))
    if (Node *byte = roundedToByte(operands[0]))
      return byte;
  // Round at the model's own casts; stores round otherwise.
  if (auto truncate = dyn_cast<arith::TruncFOp>(op);
      truncate && truncate.getRoundingmode())
    return operation(truncate.getType().isF16() ? "round.f16" : "round.bf16",
                     operands[0]);
  if (isa<arith::ExtFOp, arith::TruncFOp>(op) &&
      valueType(op->getResult(0).getType()) == operands[0]->type)
    return isa<arith::TruncFOp>(op) ? roundedTo16Bits(operands[0])
                                    : operands[0];
  if (isa<arith::SelectOp>(op)) {
    if (auto condition = known(operands[0]))
      return *condition ? operands[1] : operands[2];
    return operands[1] == operands[2] ? operands[1] : nullptr;
  }
  if (isa<arith::AndIOp, arith::OrIOp>(op) && operands[0]->type.isInteger(1)) {
    bool neutral = isa<arith::AndIOp>(op);
    for (int i : {0, 1})
      if (auto value = known(operands[i]))
        return *value == neutral ? operands[1 - i] : operands[i];
    if (neutral && isTrueUnlessNan(operands[0]) &&
        isTrueUnlessNan(operands[1]) &&
        operands[0]->operands[0] == operands[1]->operands[0])
      return operands[0];
  }
  if (isa<arith::CmpFOp>(op) && operands[0] == operands[1] &&
      cast<arith::CmpFOp>(op).getPredicate() == arith::CmpFPredicate::UNO) {
    static const ScalarForm isNan = {"isNan", "frit::isNan($0)"};
    return operation(&isNan, operands[0], IntegerType::get(context, 1), {0, 1});
  }
  if (auto compare = dyn_cast<arith::CmpFOp>(op);
      compare && isNever(compare, operands))
    return truth(false);
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (Node *narrow = compare ? narrowedEquality(compare, operands) : nullptr)
    return narrow;
  if (!compare || operands[0]->kind != Node::Kind::index ||
      operands[1]->kind != Node::Kind::index)
    return nullptr;
  Bounds r = space.range(
      space.add(operands[0]->index, space.mul(operands[1]->index, -1)));
  using P = arith::CmpIPredicate;
  switch (compare.getPredicate()) {
  case P::slt:
    return r.high < 0 ? truth(true) : r.low >= 0 ? truth(false) : nullptr;
  case P::sle:
    return r.high <= 0 ? truth(true) : r.low > 0 ? truth(false) : nullptr;
  case P::sgt:
    return r.low > 0 ? truth(true) : r.high <= 0 ? truth(false) : nullptr;
  case P::sge:
    return r.low >= 0 ? truth(true) : r.high < 0 ? truth(false) : nullptr;
  default:
    return nullptr;
  }
}

/// Translates a model's 64-bit arithmetic of indices and constants.
Node *Graph::wideIndex(Operation *op, ArrayRef<Node *> operands) {
  if (operands.size() != 2 || !llvm::all_of(operands, isNarrow))
    return nullptr;
  AffineExpr x = asIndex(operands[0]), y = asIndex(operands[1]);
  AffineExpr result;
  if (isa<arith::AddIOp>(op))
    result = space.add(x, y);
  else if (isa<arith::SubIOp>(op))
    result = space.add(x, space.mul(y, -1));
  else if (isa<arith::MulIOp>(op) && operands[1]->kind == Node::Kind::constant)
    result = space.mul(x, operands[1]->range.low);
  else if (isa<arith::MulIOp>(op) && operands[0]->kind == Node::Kind::constant)
    result = space.mul(y, operands[0]->range.low);
  return result ? index(result, op->getResult(0).getType()) : nullptr;
}

/// Translates operations on indices: to affine expressions where possible, else
/// to nodes with a range, so that a clamped index is known to be in bounds.
Node *Graph::indexOperation(Operation *op, ArrayRef<Node *> operands) {
  Type result = op->getResult(0).getType();
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    if (isa<IndexType>(result))
      return operands[0];
    if (operands[0]->kind == Node::Kind::index)
      return index(operands[0]->index, result);
    return nullptr;
  }
  if (result.isInteger(64))
    return wideIndex(op, operands);
  if (!isa<IndexType>(result))
    return nullptr;
  if (isa<arith::SelectOp>(op)) {
    Bounds a = operands[1]->range, b = operands[2]->range;
    return operation(lookupForm(op), operands, nullptr,
                     {std::min(a.low, b.low), std::max(a.high, b.high)});
  }
  if (operands.size() != 2)
    return nullptr;
  Bounds a = operands[0]->range, b = operands[1]->range;
  if (isa<arith::MaxSIOp>(op)) {
    if (a.low >= b.high || b.low >= a.high)
      return operands[a.low >= b.high ? 0 : 1];
    return operation(lookupForm(op), operands, nullptr,
                     {std::max(a.low, b.low), std::max(a.high, b.high)});
  }
  if (isa<arith::MinSIOp>(op)) {
    if (a.high <= b.low || b.high <= a.low)
      return operands[a.high <= b.low ? 0 : 1];
    return operation(lookupForm(op), operands, nullptr,
                     {std::min(a.low, b.low), std::min(a.high, b.high)});
  }
  AffineExpr x = asIndex(operands[0]), y = asIndex(operands[1]);
  auto by = dyn_cast<AffineConstantExpr>(y);
  if (isa<arith::AddIOp>(op))
    return index(space.add(x, y));
  if (isa<arith::SubIOp>(op))
    return index(space.add(x, space.mul(y, -1)));
  if (isa<arith::MulIOp>(op) && (by || isa<AffineConstantExpr>(x)))
    return by ? index(space.mul(x, by.getValue()))
              : index(space.mul(y, cast<AffineConstantExpr>(x).getValue()));
  bool divides = by && by.getValue() > 0;
  if (divides && (isa<arith::FloorDivSIOp>(op) ||
                  (a.low >= 0 && isa<arith::DivSIOp, arith::DivUIOp>(op))))
    return index(space.floorDiv(x, by.getValue()));
  if (divides && a.low >= 0 && isa<arith::RemSIOp, arith::RemUIOp>(op))
    return index(space.mod(x, by.getValue()));
  if (divides && isa<arith::RemSIOp>(op))
    return operation(lookupForm(op), operands, nullptr,
                     {-by.getValue() + 1, by.getValue() - 1});
  return nullptr;
}
