//===- StrengthReduction.cpp - Strength reduction of scalar operations ----===//
//
// Replaces operations of a linalg body by cheaper ones: division by a value
// that many elements share becomes multiplication by its reciprocal, and
// functions made of exponentials use the GPU's special function unit (about 2
// ulp).
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/scalar/Graph.h"

#include <cmath>

using namespace mlir;
using namespace frit::cuda;

/// Scales of bytes that 2^23 may be multiplied by.
static constexpr double kMostByteScale = 0x1p100;

static bool is(const Node *node, StringRef form) {
  return node->kind == Node::Kind::operation && node->form->name == form;
}

/// Returns whether a node is the constant `number`, compared as f32.
static bool isNumber(const Node *node, double number) {
  auto value = node->kind == Node::Kind::constant
                   ? dyn_cast<FloatAttr>(node->value)
                   : FloatAttr();
  return value && static_cast<float>(value.getValueAsDouble()) ==
                      static_cast<float>(number);
}

/// Returns whether a node is a constant of a magnitude below `limit`.
static bool isNumberBelow(const Node *node, double limit) {
  auto value = node->kind == Node::Kind::constant
                   ? dyn_cast<FloatAttr>(node->value)
                   : FloatAttr();
  return value && std::abs(value.getValueAsDouble()) < limit;
}

/// Returns whether a node is a number whose reciprocal, of f32, is as precise.
static bool isInvertible(const Node *node) {
  constexpr double most = 0x1p100;
  auto value = node->kind == Node::Kind::constant
                   ? dyn_cast<FloatAttr>(node->value)
                   : FloatAttr();
  double size = value ? std::abs(value.getValueAsDouble()) : 0;
  return size >= 1 / most && size <= most;
}

/// Returns the other operand if `node` is a `form` with the constant `number`
/// as one operand, else null.
static Node *otherOperand(const Node *node, StringRef form, double number) {
  if (!is(node, form))
    return nullptr;
  for (unsigned i : {0, 1})
    if (isNumber(node->operands[i], number))
      return node->operands[1 - i];
  return nullptr;
}

/// Matches 0.5 · a · (1 + f(u)), where f is `function`; returns a and u, or
/// nulls.
static std::pair<Node *, Node *> halfGate(ArrayRef<Node *> factors,
                                          StringRef function) {
  for (unsigned i : {0, 1}) {
    Node *a = otherOperand(factors[i], "arith.mulf", 0.5);
    Node *inner = otherOperand(factors[1 - i], "arith.addf", 1);
    if (a && inner && is(inner, function))
      return {a, inner->operands[0]};
  }
  return {};
}

/// Matches 0.5 (1 + erf(a / sqrt(2))), the normal distribution function of a;
/// returns a, or null.
static Node *distribution(const Node *node) {
  Node *sum = otherOperand(node, "arith.mulf", 0.5);
  Node *erf = sum ? otherOperand(sum, "arith.addf", 1) : nullptr;
  return erf && is(erf, "math.erf")
             ? otherOperand(erf->operands[0], "arith.mulf", 0.7071067811865476)
             : nullptr;
}

/// Returns whether `node` is a times the normal density of a: a exp(-0.5 a a) /
/// sqrt(2 pi).
static bool isWeightedDensity(const Node *node, const Node *a) {
  if (!is(node, "arith.mulf") || !is(node->operands[1], "math.exp") ||
      otherOperand(node->operands[0], "arith.mulf", 0.3989422804014327) != a)
    return false;
  const Node *power = node->operands[1]->operands[0];
  return is(power, "arith.mulf") && power->operands[1] == a &&
         otherOperand(power->operands[0], "arith.mulf", -0.5) == a;
}

/// Matches the slope of an exact GELU; returns the slope's argument, or null.
static Node *slopeOfGelu(const Node *node) {
  Node *a = is(node, "arith.addf") ? distribution(node->operands[0]) : nullptr;
  return a && isWeightedDensity(node->operands[1], a) ? a : nullptr;
}

Node *Graph::operation(StringRef form, ArrayRef<Node *> operands) {
  return operation(lookupForm(form), operands, operands[0]->type,
                   {INT64_MIN, INT64_MAX});
}

Node *Graph::strengthReduced(const ScalarForm *form,
                             ArrayRef<Node *> operands) {
  if (!operands[0]->type || !operands[0]->type.isF32())
    return nullptr;
  StringRef name = form->name;
  auto number = [&](double value) {
    Type type = operands[0]->type;
    return constant(FloatAttr::get(type, value), type);
  };
  auto inverseOf = [](const Node *by) {
    return 1.0f / float(cast<FloatAttr>(by->value).getValueAsDouble());
  };
  // A quotient that is rounded to 8 bits, as quantizations are.
  if ((name == "round.e4m3" || name == "round.e5m2") &&
      is(operands[0], "arith.divf"))
    if (Node *by = operands[0]->operands[1]; isInvertible(by)) {
      Node *x = roundedTo8Bits(operands[0]->operands[0]);
      Node *inverse = number(inverseOf(by));
      x = followsSums ? operation("arith.mulf", {x, inverse})
                      : operation("quotient", {x, by, inverse});
      return operation(form, x, IntegerType::get(context, 8), {-128, 127});
    }
  // A quotient that is rounded to an integer.
  if (name == "math.roundeven" && is(operands[0], "arith.divf"))
    if (Node *by = operands[0]->operands[1]; isInvertible(by))
      return operation("round.quotient",
                       {operands[0]->operands[0], by, number(inverseOf(by))});
  // The argument is a difference from a row's maximum, for which three
  // instructions suffice.
  if (name == "math.exp" && is(operands[0], "arith.subf") &&
      (operands[0]->operands[0]->dependence & dividends & kReduced) &&
      !(operands[0]->operands[1]->dependence & dividends))
    return operation("math.exp.shifted", operands);
  if (name == "arith.divf") {
    // 1 / (1 + exp(-x))
    Node *power = otherOperand(operands[1], "arith.addf", 1);
    if (isNumber(operands[0], 1) && power && is(power, "math.exp") &&
        is(power->operands[0], "arith.negf"))
      return operation("logistic", power->operands[0]->operands[0]);
    // A division would take longer than all other work per element.
    bool isShared = (operands[0]->dependence & dividends) &&
                    !(operands[1]->dependence & dividends);
    bool isSum = operands[0]->kind == Node::Kind::loop ||
                 llvm::any_of(operands[0]->operands,
                              [&](Node *part) { return parts.contains(part); });
    if (isShared && !isNumber(operands[0], 1) &&
        ((dividends & kReduced) || isSum))
      return operation(
          "arith.mulf",
          {operands[0], operation("arith.divf", {number(1), operands[1]})});
  }
  // A byte becomes a number and is multiplied by one instruction.
  if (name == "arith.mulf" && is(operands[0], "byte.unsigned") &&
      isNumber(operands[0]->operands[1], 0))
    if (isNumberBelow(operands[1], kMostByteScale))
      return operation(lookupForm("byte.scaled"),
                       {operands[0]->operands[0], operands[1]},
                       operands[0]->type, operands[0]->range);
  // 0.5 a (1 + tanh(u)) = a / (1 + exp(-2 u))
  if (name == "arith.mulf")
    if (auto [a, u] = halfGate(operands, "math.tanh"); a)
      return operation(
          "arith.mulf",
          {a, operation("logistic", operation("arith.mulf", {number(2), u}))});
  return nullptr;
}

/// Returns a cheaper form of `value` that is accurate enough for rounding to 16
/// bits, or `value` itself.
Node *Graph::roundedTo16Bits(Node *value) {
  if (!is(value, "arith.mulf") || !value->type.isF32())
    return value;
  if (auto [a, u] = halfGate(value->operands, "math.erf");
      a && otherOperand(u, "arith.mulf", 0.7071067811865476) == a)
    return operation("gelu.16", a);
  for (unsigned i : {0, 1})
    if (Node *a = slopeOfGelu(value->operands[i]))
      return operation("arith.mulf",
                       {value->operands[1 - i], operation("gelu_slope.16", a)});
  return value;
}

Node *Graph::roundedTo8Bits(Node *value) {
  Node *result = roundedTo16Bits(value);
  return followsSums && is(result, "gelu.16")
             ? operation("gelu.8", result->operands[0])
             : result;
}
