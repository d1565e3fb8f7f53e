//===- SlidingWindow.cpp - Windows of convolution and pooling -------------===//

#include "dialects/nn/lowering/SlidingWindow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace frit::nn;

LogicalResult SlidingWindow::check(std::optional<Location> loc,
                                   size_t spatialRank) const {
  std::tuple<StringRef, ArrayRef<int64_t>, size_t, int64_t> lists[] = {
      {"window", window, spatialRank, 1},
      {"strides", strides, spatialRank, 1},
      {"pads", pads, 2 * spatialRank, 0},
      {"dilations", dilations, spatialRank, 1}};
  for (auto [name, list, length, least] : lists) {
    if (list.size() != length)
      return emitOptionalError(loc, name, " has ", list.size(), " entries for ",
                               spatialRank, " spatial dimensions");
    // The window is the filters' shape, which may be dynamic.
    bool mayBeOpen = name == "window";
    for (int64_t entry : list)
      if ((entry < least && !(mayBeOpen && ShapedType::isDynamic(entry))) ||
          entry > maxEntry)
        return emitOptionalError(loc, name, " has an entry of ", entry,
                                 ", not from ", least, " to ", maxEntry);
  }
  return success();
}

bool SlidingWindow::leavesInput() const {
  return llvm::any_of(llvm::seq<size_t>(0, rank()),
                      [&](size_t dim) { return leavesInput(dim); });
}

bool SlidingWindow::clampsIntoWindow() const {
  return llvm::all_of(llvm::seq<size_t>(0, rank()), [&](size_t dim) {
    return !leavesInput(dim) ||
           (dilations[dim] == 1 && pads[dim] < window[dim]);
  });
}

SmallVector<AffineExpr> SlidingWindow::places(MLIRContext *context,
                                              unsigned firstOutput,
                                              unsigned firstWindow) const {
  SmallVector<AffineExpr> result;
  for (size_t dim = 0; dim < rank(); ++dim)
    result.push_back(
        getAffineDimExpr(firstOutput + dim, context) * strides[dim] +
        getAffineDimExpr(firstWindow + dim, context) * dilations[dim]);
  return result;
}

SlidingWindow::Places SlidingWindow::buildPlaces(ImplicitLocOpBuilder &b,
                                                 unsigned firstOutput,
                                                 unsigned firstWindow) const {
  Places result;
  for (size_t dim = 0; dim < rank(); ++dim) {
    Value start =
        scaleIndex(b, indexOf(b, firstOutput + dim), strides[dim], -pads[dim]);
    Value offset =
        scaleIndex(b, indexOf(b, firstWindow + dim), dilations[dim], 0);
    Value place = arith::AddIOp::create(b, start, offset);
    if (leavesInput(dim)) {
      Value isIn = indexIsIn(b, place, 0, input[dim]);
      result.inside =
          result.inside ? arith::AndIOp::create(b, result.inside, isIn) : isIn;
      place = clampIndex(b, place, 0, input[dim] - 1);
    }
    result.indices.push_back(place);
  }
  return result;
}
