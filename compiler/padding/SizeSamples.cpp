//===- SizeSamples.cpp - Fit a number to the sizes of a call --------------===//

#include "compiler/padding/SizeSamples.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

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

/// The largest distance of windows, as a product of strides, that is fitted.
static constexpr int64_t kMostDivisor = 64;

std::optional<SizeExpr> SizeSamples::fit(unsigned symbol, int64_t divisor,
                                         int64_t shift) const {
  SizeExpr expr{symbol, 1, 0, divisor, shift};
  const auto &[sizes, value] = samples.front();
  int64_t first = expr(sizes);
  auto other = llvm::find_if(
      samples, [&](const auto &sample) { return expr(sample.first) != first; });
  if (other == samples.end())
    return std::nullopt;
  int64_t by = expr(other->first) - first, change = other->second - value;
  if (change == 0 || change % by != 0)
    return std::nullopt;
  expr.factor = change / by;
  expr.offset = value - expr.factor * first;
  return match(expr) ? std::optional(expr) : std::nullopt;
}

bool SizeSamples::match(const SizeExpr &expr) const {
  return llvm::all_of(samples, [&](const auto &sample) {
    return expr(sample.first) == sample.second;
  });
}

std::optional<SizeExpr> SizeSamples::fit() const {
  if (samples.empty() || isFixed())
    return std::nullopt;
  for (int64_t divisor = 1; divisor <= kMostDivisor; ++divisor)
    for (unsigned symbol = 0; symbol < samples.front().first.size(); ++symbol)
      for (int64_t shift = 0; shift < divisor; ++shift)
        if (auto expr = fit(symbol, divisor, shift))
          return expr;
  return std::nullopt;
}

bool SizeSamples::isAmbiguous(llvm::ArrayRef<int64_t> multiples) const {
  auto expr = fit();
  if (!expr || expr->divisor == 1)
    return false;
  llvm::SmallDenseSet<int64_t> seen;
  for (const auto &[sizes, value] : samples)
    seen.insert(sizes[expr->symbol] % expr->divisor);
  return int64_t(seen.size()) <
         expr->divisor / std::gcd(expr->divisor, multiples[expr->symbol]);
}
