//===- SizeSamples.cpp - Fit a number to the sizes of a call --------------===//

#include "compiler/padding/SizeSamples.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <array>
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
/// The largest numerator of a scale that is fitted, and its denominator.
static constexpr int64_t kMostScale = 16, kMostScaleDivisor = 32;

std::optional<SizeExpr> SizeSamples::fit(unsigned symbol, int64_t divisor,
                                         int64_t shift, int64_t scale) const {
  SizeExpr expr{symbol, 1, 0, divisor, shift, scale};
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

/// Fits a · size + b · size of `second` + c.
std::optional<SizeExpr> SizeSamples::fitSum(unsigned symbol,
                                            unsigned second) const {
  const auto &[sizes, value] = samples.front();
  // How other samples differ from the first: the two sizes and the number.
  llvm::SmallVector<std::array<int64_t, 3>> changes;
  for (const auto &[others, number] : samples)
    changes.push_back({others[symbol] - sizes[symbol],
                       others[second] - sizes[second], number - value});
  for (const auto &a : changes)
    for (const auto &b : changes) {
      int64_t determinant = a[0] * b[1] - a[1] * b[0];
      if (determinant == 0)
        continue;
      int64_t by = a[2] * b[1] - a[1] * b[2],
              bySecond = a[0] * b[2] - a[2] * b[0];
      if (by % determinant || bySecond % determinant)
        return std::nullopt;
      SizeExpr expr{symbol, by / determinant};
      expr.second = second;
      expr.secondFactor = bySecond / determinant;
      expr.offset = value - expr(sizes);
      return match(expr) ? std::optional(expr) : std::nullopt;
    }
  return std::nullopt;
}

std::optional<SizeExpr> SizeSamples::fit() const {
  if (samples.empty() || isFixed())
    return std::nullopt;
  auto symbols = unsigned(samples.front().first.size());
  for (int64_t divisor = 1; divisor <= kMostDivisor; ++divisor)
    for (unsigned symbol = 0; symbol < symbols; ++symbol)
      for (int64_t shift = 0; shift < divisor; ++shift)
        if (auto expr = fit(symbol, divisor, shift, 1))
          return expr;
  for (unsigned symbol = 0; symbol < symbols; ++symbol)
    for (unsigned second = symbol + 1; second < symbols; ++second)
      if (auto expr = fitSum(symbol, second))
        return expr;
  for (int64_t divisor = 2; divisor <= kMostScaleDivisor; ++divisor)
    for (int64_t scale = 2; scale <= kMostScale; ++scale)
      for (unsigned symbol = 0; symbol < symbols; ++symbol)
        for (int64_t shift = 0;
             std::gcd(scale, divisor) == 1 && shift < divisor; ++shift)
          if (auto expr = fit(symbol, divisor, shift, scale))
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
