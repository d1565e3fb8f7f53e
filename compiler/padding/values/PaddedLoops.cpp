//===- PaddedLoops.cpp - Map an operator's loops to larger ones -----------===//

#include "compiler/padding/values/PaddedLoops.h"

using namespace mlir;
using namespace frit;

/// Returns `map` with loops of one iteration replaced by 0.
static AffineMap withoutSingles(AffineMap map, ArrayRef<int64_t> smallLoops) {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> dims;
  for (unsigned i = 0; i < map.getNumDims(); ++i)
    dims.push_back(smallLoops[i] == 1 ? getAffineConstantExpr(0, context)
                                      : getAffineDimExpr(i, context));
  return simplifyAffineMap(
      map.replaceDimsAndSymbols(dims, {}, map.getNumDims(), 0));
}

bool PaddedLoops::read(const PaddedValue &operand, AffineMap a, AffineMap b) {
  AffineMap own = withoutSingles(a, small);
  if (own != withoutSingles(b, small))
    return false;
  if (operand.anywhere)
    return true;
  for (auto [index, simple, dim] :
       llvm::enumerate(own.getResults(), operand.places)) {
    // A single element of a table may be behind others of the large one.
    AffineExpr expr = hasOffset(dim) && a.getResult(index) == b.getResult(index)
                          ? a.getResult(index)
                          : simple;
    if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
      std::optional<DimPlaces> &known = places[loop.getPosition()];
      if (known && *known != dim)
        return false;
      known = dim;
      continue;
    }
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    // Index 0 is the same in both tensors.
    if (constant && constant.getValue() == 0 && !hasOffset(dim))
      continue;
    if (!isLeading(dim))
      return false;
    for (unsigned i = 0; i < small.size(); ++i)
      mustLead[i] = mustLead[i] || expr.isFunctionOfDim(i);
  }
  return true;
}

void PaddedLoops::suggest(unsigned loop, const DimPlaces &dim) {
  if (!places[loop])
    places[loop] = dim;
}

/// Returns whether these are places of a loop of so many iterations.
static bool isWhole(const DimPlaces &dim, int64_t small, int64_t large) {
  for (SizePair part : dim) {
    small = part.small && small % part.small == 0 ? small / part.small : 0;
    large = part.large && large % part.large == 0 ? large / part.large : 0;
  }
  return small == 1 && large == 1;
}

bool PaddedLoops::finish() {
  for (unsigned i = 0; i < small.size(); ++i) {
    if (!places[i])
      places[i] = DimPlaces{{small[i], large[i]}};
    const bool leads = isLeading(*places[i]);
    // A loop may index a part of a dimension, as in a slice.
    if ((mustLead[i] && !leads) || small[i] > large[i] ||
        (!leads && !isWhole(*places[i], small[i], large[i])))
      return false;
  }
  return true;
}

std::optional<PaddedValue> PaddedLoops::write(Value to, AffineMap map) const {
  PaddedValue result{to, {}, false};
  for (AffineExpr expr : map.getResults()) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop)
      return std::nullopt;
    result.places.push_back(*places[loop.getPosition()]);
  }
  return result;
}
