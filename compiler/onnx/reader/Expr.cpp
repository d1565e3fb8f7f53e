//===- Expr.cpp - Write formulas of nn operators --------------------------===//

#include "compiler/onnx/reader/Expr.h"

#include "dialects/nn/Fold.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

Expr frit::importer::table(Node &node, Type element, ArrayRef<int64_t> shape,
                           ArrayRef<double> values) {
  if (!node.mayTabulate(values.size()))
    return {node, {}};
  // The cast rounds to narrower types.
  OpBuilder &b = node.builder();
  auto type = RankedTensorType::get(shape, b.getF64Type());
  Value wide = node.constant(DenseElementsAttr::get(type, values));
  return {node, node.cast(wide, element)};
}

std::optional<SmallVector<double>> frit::importer::numbers(Node &node, size_t i,
                                                           size_t count) {
  Value x = node.input(i);
  if (!x)
    return std::nullopt;
  DenseElementsAttr value = knownElements(x);
  if (!value) {
    node.notKnown(i);
    return std::nullopt;
  }
  if (value.getNumElements() != static_cast<int64_t>(count)) {
    node.error() << "input " << i << " must have " << count
                 << (count == 1 ? " element" : " elements") << ", not "
                 << value.getNumElements();
    return std::nullopt;
  }
  SmallVector<double> result;
  Type type = value.getElementType();
  bool isNatural = type.isUnsignedInteger() || type.isInteger(1);
  for (Attribute element : value.getValues<Attribute>())
    if (auto real = dyn_cast<FloatAttr>(element))
      result.push_back(real.getValueAsDouble());
    else if (APInt x = cast<IntegerAttr>(element).getValue(); isNatural)
      result.push_back(static_cast<double>(x.getZExtValue()));
    else
      result.push_back(static_cast<double>(x.getSExtValue()));
  return result;
}

std::optional<double> frit::importer::number(Node &node, size_t i) {
  auto all = numbers(node, i, 1);
  return all ? std::optional(all->front()) : std::nullopt;
}
