//===- SizeSamples.cpp - Fit a number to the sizes of a call --------------===//

#include "compiler/padding/SizeSamples.h"

#include "llvm/ADT/STLExtras.h"

using namespace frit;

void SizeSamples::add(llvm::ArrayRef<int64_t> sizes, int64_t value) {
  std::pair<llvm::SmallVector<int64_t, 2>, int64_t> sample{
      llvm::SmallVector<int64_t, 2>(sizes), value};
  if (!llvm::is_contained(samples, sample))
    samples.push_back(std::move(sample));
}

bool SizeSamples::isFixed() const {
  return llvm::all_of(samples, [&](const auto &sample) {
    return sample.second == samples.front().second;
  });
}

std::optional<SizeExpr> SizeSamples::fit() const {
  if (samples.empty())
    return std::nullopt;
  const auto &[sizes, value] = samples.front();
  auto other = llvm::find_if(samples, [value = value](const auto &sample) {
    return sample.second != value;
  });
  if (other == samples.end())
    return std::nullopt;
  for (unsigned symbol = 0; symbol < sizes.size(); ++symbol) {
    int64_t by = other->first[symbol] - sizes[symbol];
    int64_t change = other->second - value;
    if (by == 0 || change % by != 0)
      continue;
    SizeExpr expr{symbol, change / by, 0};
    expr.offset = value - expr(sizes);
    if (llvm::all_of(samples, [&](const auto &sample) {
          return expr(sample.first) == sample.second;
        }))
      return expr;
  }
  return std::nullopt;
}
