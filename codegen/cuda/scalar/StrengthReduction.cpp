//===- StrengthReduction.cpp - Values by fewer instructions ---------------===//
//
// What a GPU has cheaper forms for than the operations of a linalg body say:
// quotients by what many elements share, and functions made of exponentials,
// which its special unit takes to about two units in the last place.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/scalar/Graph.h"

using namespace mlir;
using namespace frit::cuda;

static bool is(const Node *node, StringRef form) {
  return node->kind == Node::Kind::operation && node->form->name == form;
}

/// Whether a node is a number, as f32 has it.
static bool isNumber(const Node *node, double number) {
  auto value = node->kind == Node::Kind::constant
                   ? dyn_cast<FloatAttr>(node->value)
                   : FloatAttr();
  return value && static_cast<float>(value.getValueAsDouble()) ==
                      static_cast<float>(number);
}

/// The other operand of a `form` one of whose two is `number`, or null.
static Node *besides(const Node *node, StringRef form, double number) {
  if (!is(node, form))
    return nullptr;
  for (unsigned i : {0, 1})
    if (isNumber(node->operands[i], number))
      return node->operands[1 - i];
  return nullptr;
}

/// a and u of 0.5 · a · (1 + f(u)), where f is `function`.
static std::pair<Node *, Node *> halfGate(ArrayRef<Node *> factors,
                                          StringRef function) {
  for (unsigned i : {0, 1}) {
    Node *a = besides(factors[i], "arith.mulf", 0.5);
    Node *inner = besides(factors[1 - i], "arith.addf", 1);
    if (a && inner && is(inner, function))
      return {a, inner->operands[0]};
  }
  return {};
}

Node *Graph::operation(StringRef form, ArrayRef<Node *> operands) {
  return operation(lookupForm(form), operands, operands[0]->type,
                   {INT64_MIN, INT64_MAX});
}

Node *Graph::shorter(const ScalarForm *form, ArrayRef<Node *> operands) {
  if (!operands[0]->type || !operands[0]->type.isF32())
    return nullptr;
  StringRef name = form->name;
  auto number = [&](double value) {
    Type type = operands[0]->type;
    return constant(FloatAttr::get(type, value), type);
  };
  // An exponential in three instructions; its argument is a difference from a
  // row's maximum.
  if (name == "math.exp" && is(operands[0], "arith.subf") &&
      (operands[0]->operands[0]->dependence & dividends & kReduced) &&
      !(operands[0]->operands[1]->dependence & dividends))
    return operation("math.exp.shifted", operands);
  if (name == "arith.divf") {
    // 1 / (1 + exp(-x))
    Node *power = besides(operands[1], "arith.addf", 1);
    if (isNumber(operands[0], 1) && power && is(power, "math.exp") &&
        is(power->operands[0], "arith.negf"))
      return operation("logistic", power->operands[0]->operands[0]);
    // A division takes longer than all else that an element needs.
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
  // 0.5 a (1 + tanh(u)) = a / (1 + exp(-2 u))
  if (name == "arith.mulf")
    if (auto [a, u] = halfGate(operands, "math.tanh"); a)
      return operation(
          "arith.mulf",
          {a, operation("logistic", operation("arith.mulf", {number(2), u}))});
  return nullptr;
}

/// What rounding to 16 bits hides need not be computed.
Node *Graph::roundedTo16Bits(Node *value) {
  if (is(value, "arith.mulf") && value->type.isF32())
    if (auto [a, u] = halfGate(value->operands, "math.erf");
        a && besides(u, "arith.mulf", 0.7071067811865476) == a)
      return operation("gelu.16", a);
  return value;
}
