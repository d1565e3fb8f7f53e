//===- PaddedWindows.cpp - Windows over padded inputs ---------------------===//

#include "compiler/padding/values/PaddedWindows.h"

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

/// Returns whether the mean of every window is that of all of its elements,
/// also of those outside of the input and its pads.
static bool areWhole(AvgPoolOp pool, ArrayRef<int64_t> shape) {
  size_t rank = pool.getWindow().size(), first = pool.getChannelsLast() ? 1 : 2;
  if (!pool.getIncludePad())
    return llvm::all_of(pool.getPads(), [](int64_t n) { return n == 0; });
  for (size_t d = 0; d < rank; ++d) {
    int64_t end = (shape[d] - 1) * pool.getStrides()[d] - pool.getPads()[d] +
                  (pool.getWindow()[d] - 1) * pool.getDilations()[d] + 1;
    if (end > shapeOf(pool.getX())[first + d] + pool.getPads()[rank + d])
      return false;
  }
  return true;
}

/// Returns where the result of a pad with a constant is. Elements beyond the
/// small model's must be that constant if it adds some there.
static std::optional<PaddedValue> padPads(PadOp small, PadOp large,
                                          ArrayRef<PaddedValue> operands) {
  const PaddedValue &x = operands[0];
  if (small.getMode() != "constant" || large.getMode() != "constant" ||
      small.getLow() != large.getLow() || x.anywhere)
    return std::nullopt;
  auto result = leadingValue(small.getY(), large.getY());
  if (!result)
    return std::nullopt;
  auto isPad = [&](const AbstractValue &number) {
    if (operands.size() < 2)
      return number.isZero();
    return number.kind == AbstractValue::constant &&
           number == operands[1].content.all();
  };
  for (auto [dim, high] : llvm::enumerate(small.getHigh())) {
    if (small.getLow()[dim] == 0 && high == 0 && large.getHigh()[dim] == 0) {
      result->places[dim] = x.places[dim];
      continue;
    }
    if (!isLeading(x.places[dim]))
      return std::nullopt;
    if (shapeOf(small.getX())[dim] == shapeOf(large.getX())[dim]) {
      if (high > large.getHigh()[dim])
        return std::nullopt;
      continue;
    }
    const PaddedContent::Fill *fill = x.content.fillOf(dim);
    if (high > 0 && (!fill || !fill->everywhere || !isPad(fill->number)))
      return std::nullopt;
  }
  return result;
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
  if (auto pad = dyn_cast<PadOp>(small))
    return padPads(pad, cast<PadOp>(large), operands);
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
    // The large model's windows where the small one has some must be whole too.
    auto other = cast<AvgPoolOp>(large);
    bool counts =
        areWhole(pool, pool.getShape()) && areWhole(other, pool.getShape());
    isFilled = counts && haveSameAttributes(small, large, {"pads", "shape"}) &&
               sameStarts(pool.getPads(), other.getPads()) &&
               isFilledLikeOutside(pool.getX(), operands[0], isZero);
  }
  return isFilled ? leadingValue(from, to) : std::nullopt;
}
