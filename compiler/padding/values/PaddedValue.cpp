//===- PaddedValue.cpp - A small model's value in a large model -----------===//

#include "compiler/padding/values/PaddedValue.h"

#include "dialects/nn/NN.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;
using namespace frit;

bool frit::isEmpty(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getNumElements() == 0;
}

bool frit::mayLead(Type small, Type large) {
  auto a = dyn_cast<RankedTensorType>(small);
  auto b = dyn_cast<RankedTensorType>(large);
  if (!a || !b)
    return small == large;
  return a.getElementType() == b.getElementType() &&
         a.getRank() == b.getRank() &&
         llvm::all_of(
             llvm::zip_equal(a.getShape(), b.getShape()),
             [](auto pair) { return std::get<0>(pair) <= std::get<1>(pair); });
}

std::optional<PaddedValue> frit::leadingValue(Value small, Value large) {
  if (!mayLead(small.getType(), large.getType()))
    return std::nullopt;
  PaddedValue value{large,
                    {},
                    !isa<RankedTensorType>(small.getType()),
                    PaddedContent::unknown(large.getType())};
  if (!value.anywhere)
    value.places = leadingPlaces(nn::shapeOf(small), nn::shapeOf(large));
  return value;
}

/// Calls `visit` with the offsets of each leading element in a small and a
/// large tensor, until it returns false.
static bool
forLeading(ArrayRef<int64_t> small, ArrayRef<int64_t> large,
           llvm::function_ref<bool(int64_t small, int64_t large)> visit) {
  int64_t count = ShapedType::getNumElements(small);
  for (int64_t at = 0; at < count; ++at) {
    int64_t rest = at, other = 0, scale = 1;
    for (size_t dim = small.size(); dim-- > 0;) {
      other += rest % small[dim] * scale;
      rest /= small[dim];
      scale *= large[dim];
    }
    if (!visit(at, other))
      return false;
  }
  return true;
}

/// Returns whether the constant `small` equals the leading elements of `large`.
static bool isLeadingValue(Attribute small, Attribute large) {
  if (small == large)
    return true;
  auto a = dyn_cast<ElementsAttr>(small), b = dyn_cast<ElementsAttr>(large);
  if (!a || !b || !mayLead(a.getType(), b.getType()))
    return false;
  ArrayRef<int64_t> from = a.getShapedType().getShape(),
                    to = b.getShapedType().getShape();
  auto x = dyn_cast<DenseResourceElementsAttr>(small);
  auto y = dyn_cast<DenseResourceElementsAttr>(large);
  if (x && y) {
    AsmResourceBlob *first = x.getRawHandle().getBlob();
    AsmResourceBlob *second = y.getRawHandle().getBlob();
    if (!first || !second || a.getNumElements() == 0)
      return false;
    size_t width = first->getData().size() / size_t(a.getNumElements());
    return forLeading(from, to, [&](int64_t i, int64_t j) {
      return !std::memcmp(first->getData().data() + i * width,
                          second->getData().data() + j * width, width);
    });
  }
  auto p = dyn_cast<DenseElementsAttr>(small);
  auto q = dyn_cast<DenseElementsAttr>(large);
  if (!p || !q)
    return false;
  if (isa<FloatType>(p.getElementType())) {
    auto values = p.getValues<APFloat>(), others = q.getValues<APFloat>();
    return forLeading(from, to, [&](int64_t i, int64_t j) {
      return values[i].bitwiseIsEqual(others[j]);
    });
  }
  auto values = p.getValues<APInt>(), others = q.getValues<APInt>();
  return forLeading(
      from, to, [&](int64_t i, int64_t j) { return values[i] == others[j]; });
}

std::optional<PaddedValue> frit::padConstant(Value small, Attribute value,
                                             Value large, Attribute other) {
  auto a = dyn_cast<DenseElementsAttr>(value);
  auto b = dyn_cast<DenseElementsAttr>(other);
  if (a && b && a.isSplat() && b.isSplat() &&
      a.getElementType() == b.getElementType() &&
      a.getSplatValue<Attribute>() == b.getSplatValue<Attribute>())
    return PaddedValue{
        large, {}, /*anywhere=*/true, PaddedContent::uniform(numbersOf(other))};
  if (!isLeadingValue(value, other))
    return std::nullopt;
  return leadingValue(small, large);
}
