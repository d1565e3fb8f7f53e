//===- GraphBytes.cpp - Bytes that the end of a product stores ------------===//
//
// Fewer instructions for the last byte of an end, by functions of
// byte_numbers.cuh:
//
//   round.byte(sum * by + added), odd or clamped  ->  round.fraction(unit)
//   round.byte(unit's integer * a + byte * b)     ->  round.tiny(sum)
//
// where `unit` is clamped to 0 to 1 for nothing, and a tiny number is so small
// that the bits of a byte are one. Both need constants and are of the last byte
// alone, since its form shows then that nothing else is done with it.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/scalar/Graph.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Scales of tiny numbers, which stay far from the ends of a float's range.
static constexpr double kLeastScale = 0x1p-40, kMostScale = 0x1p20;
/// Most results of a sum of tiny numbers.
static constexpr double kLargestCode = 255;

std::optional<double> Node::number() const {
  auto number = dyn_cast_if_present<FloatAttr>(value);
  if (kind != Kind::constant || !number)
    return std::nullopt;
  return number.getValueAsDouble();
}

namespace {
/// A constant times a value.
struct Scaled {
  Node *of;
  double by;
};
} // namespace

static Scaled withoutFactor(Node *x) {
  if (x->is("arith.mulf") || x->is("byte.scaled"))
    if (auto by = x->operands[1]->number())
      return {x->is("byte.scaled") ? x : x->operands[0], *by};
  return {x, 1};
}

static bool isTinyScale(double scale) {
  return std::abs(scale) >= kLeastScale && std::abs(scale) <= kMostScale;
}

Node *Graph::tinySum(Node *x) {
  if (!x->is("arith.addf"))
    return nullptr;
  Scaled rounded = withoutFactor(x->operands[0]),
         read = withoutFactor(x->operands[1]);
  if (!rounded.of->is("round.unit"))
    std::swap(rounded, read);
  bool isSigned = read.of->is("byte.signed");
  bool isScaled = read.of->is("byte.scaled");
  if (!rounded.of->is("round.unit") || !isTinyScale(rounded.by) ||
      !isTinyScale(read.by) ||
      (!isSigned && !isScaled && !read.of->is("byte.unsigned")))
    return nullptr;
  double zero = isScaled ? 0 : *read.of->operands[1]->number();
  double low = *rounded.of->operands[1]->number(),
         high = *rounded.of->operands[2]->number();
  auto number = [&](double number) {
    return constant(FloatAttr::get(x->type, number), x->type);
  };
  Node *tiny = operation(
      lookupForm(isSigned ? "tiny.signed" : "tiny.unsigned"),
      {read.of->operands[0], number(read.by),
       number(low * rounded.by - (zero + (isSigned ? 128 : 0)) * read.by)},
      x->type, x->range);
  return operation(
      lookupForm("tiny.sum"),
      {tiny, rounded.of->operands[0], number(high - low), number(rounded.by)},
      x->type, x->range);
}

Node *Graph::storedByte(Node *root) {
  if (!root->is("round.byte") || lanes.width % 4)
    return root;
  Node *x = root->operands[0];
  if (Node *sum = tinySum(x))
    return operation(
        lookupForm("round.tiny"),
        {sum, root->operands[1], root->operands[2], root->operands[3]},
        root->type, root->range);
  double low = *root->operands[1]->number(),
         high = *root->operands[2]->number(),
         offset = *root->operands[3]->number();
  bool isOdd = std::fmod(offset, 2) != 0;
  // Clamped to 0 to 1, NaN becomes the least code, which must be 0.
  if (low + offset != 0 || high <= low ||
      (!isOdd && high + offset == kLargestCode))
    return root;
  Node *unit = preparedSum(x, 1 / (high - low), -low);
  if (!unit)
    return root;
  return operation(
      lookupForm("round.fraction"),
      {unit, constant(FloatAttr::get(x->type, high - low), x->type)},
      root->type, root->range);
}
