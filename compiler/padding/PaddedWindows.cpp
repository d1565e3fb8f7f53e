//===- PaddedWindows.cpp - Windows over padded inputs ---------------------===//

#include "compiler/padding/PaddedWindows.h"

#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns whether both have the same attributes, apart from `open` ones.
static bool haveSameAttributes(Operation *small, Operation *large,
                               ArrayRef<StringRef> open) {
  NamedAttrList a(small->getAttrDictionary()), b(large->getAttrDictionary());
  for (StringRef name : open) {
    a.erase(name);
    b.erase(name);
  }
  return a.getDictionary(small->getContext()) ==
         b.getDictionary(small->getContext());
}

/// Returns whether all elements of `x` beyond the small model's size, in every
/// dimension that has some but the batch, equal what a window reads outside of
/// its input.
static bool isFilledLikeOutside(Value small, const PaddedValue &x,
                                function_ref<bool(const AbstractValue &)> is) {
  if (x.anywhere || !areLeading(x.places))
    return false;
  ArrayRef<int64_t> a = shapeOf(small), b = shapeOf(x.large);
  for (unsigned dim = 1; dim < a.size(); ++dim) {
    if (a[dim] == b[dim])
      continue;
    const PaddedContent::Fill *fill = x.content.fillOf(dim);
    if (!fill || !fill->everywhere || !is(fill->number))
      return false;
  }
  return true;
}

std::optional<PaddedValue> frit::padWindows(Operation *small, Operation *large,
                                            ArrayRef<PaddedValue> operands) {
  Value from = small->getResult(0), to = large->getResult(0);
  auto isZero = [](const AbstractValue &number) { return number.isZero(); };
  auto isLeast = [](const AbstractValue &number) {
    return number.infinity() < 0;
  };
  auto sameStarts = [](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    return a.take_front(a.size() / 2) == b.take_front(b.size() / 2);
  };
  bool isFilled = false;
  if (auto conv = dyn_cast<ConvOp>(small)) {
    for (unsigned i = 1; i < operands.size(); ++i)
      if (small->getOperand(i).getType() != large->getOperand(i).getType() ||
          !(operands[i].anywhere || areLeading(operands[i].places)))
        return std::nullopt;
    // Weights that may be infinite would make NaN of a zero.
    isFilled = haveSameAttributes(small, large, {"pads"}) &&
               sameStarts(conv.getPads(), cast<ConvOp>(large).getPads()) &&
               operands[1].content.all().isReal() &&
               isFilledLikeOutside(conv.getX(), operands[0], isZero);
  } else if (auto pool = dyn_cast<MaxPoolOp>(small)) {
    isFilled = haveSameAttributes(small, large, {"pads", "shape"}) &&
               sameStarts(pool.getPads(), cast<MaxPoolOp>(large).getPads()) &&
               isFilledLikeOutside(pool.getX(), operands[0], isLeast);
  } else if (auto pool = dyn_cast<AvgPoolOp>(small)) {
    // Without `include_pad`, means are of fewer elements at the end.
    auto other = cast<AvgPoolOp>(large);
    bool counts = pool.getIncludePad() ||
                  (llvm::all_of(pool.getPads(), [](int64_t n) { return !n; }) &&
                   llvm::all_of(other.getPads(), [](int64_t n) { return !n; }));
    isFilled = counts && haveSameAttributes(small, large, {"pads", "shape"}) &&
               sameStarts(pool.getPads(), other.getPads()) &&
               isFilledLikeOutside(pool.getX(), operands[0], isZero);
  }
  return isFilled ? leadingValue(from, to) : std::nullopt;
}
