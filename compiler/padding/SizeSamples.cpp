//===- SizeSamples.cpp - Fit a number to the sizes of a call --------------===//

#include "compiler/padding/SizeSamples.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <limits>
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

/// The largest distance of windows, as a product of strides, of which samples
/// show every remainder.
static constexpr int64_t kMostDivisor = 64;
/// The largest distance that is fitted, as that of frames of sound: 160 of
/// Whisper, 320 of wav2vec 2.0.
static constexpr int64_t kMostStride = 2048;
/// The largest numerator of a scale that is fitted, and its denominator.
static constexpr int64_t kMostScale = 16, kMostScaleDivisor = 32;
/// The largest numbers of a ratio of sampling rates that is fitted: from 44100
/// to 16000 it is 160 / 441.
static constexpr int64_t kMostRatio = 1024;

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
  llvm::SmallVector<Solution> solutions;
  for (int64_t divisor = kMostDivisor + 1; divisor <= kMostStride; ++divisor)
    for (unsigned symbol = 0; symbol < symbols; ++symbol)
      if (solve(symbol, divisor, solutions); !solutions.empty())
        return solutions.front().expr;
  for (int64_t divisor = 2; divisor <= kMostRatio; ++divisor)
    for (unsigned symbol = 0; symbol < symbols; ++symbol)
      if (solveRatio(symbol, divisor, solutions); !solutions.empty())
        return solutions.front().expr;
  return std::nullopt;
}

bool SizeSamples::isAmbiguous(llvm::ArrayRef<int64_t> multiples) const {
  auto expr = fit();
  if (!expr || expr->divisor == 1 || expr->divisor > kMostDivisor)
    return false;
  llvm::SmallDenseSet<int64_t> seen;
  for (const auto &[sizes, value] : samples)
    seen.insert(sizes[expr->symbol] % expr->divisor);
  return int64_t(seen.size()) <
         expr->divisor / std::gcd(expr->divisor, multiples[expr->symbol]);
}

//===----------------------------------------------------------------------===//
// Long strides and ratios
//===----------------------------------------------------------------------===//

/// The smallest and the largest size tell the ratio but for a part of 1 /
/// divisor. Each sample bounds the shift, of which an offset takes the whole
/// divisors.
void SizeSamples::solveRatio(unsigned symbol, int64_t divisor,
                             llvm::SmallVectorImpl<Solution> &solutions) const {
  auto bySize = [&](const auto &a, const auto &b) {
    return a.first[symbol] < b.first[symbol];
  };
  auto [first, last] =
      std::minmax_element(samples.begin(), samples.end(), bySize);
  int64_t distance = last->first[symbol] - first->first[symbol];
  int64_t change = last->second - first->second;
  if (distance == 0 || change <= 0)
    return;
  for (int64_t scale = std::max<int64_t>(2, (change - 1) * divisor / distance);
       scale <= std::min(kMostRatio, (change + 1) * divisor / distance + 1);
       ++scale) {
    if (std::gcd(scale, divisor) != 1)
      continue;
    int64_t from = std::numeric_limits<int64_t>::min(),
            to = std::numeric_limits<int64_t>::max();
    for (const auto &[sizes, number] : samples) {
      int64_t least = divisor * number - scale * sizes[symbol];
      from = std::max(from, least);
      to = std::min(to, least + divisor - 1);
    }
    if (from > to)
      continue;
    // Shifts of one solution have the same whole divisors.
    while (from <= to) {
      int64_t offset = llvm::divideFloorSigned(from, divisor);
      int64_t begin = offset * divisor;
      int64_t end = std::min(to, begin + divisor - 1);
      solutions.push_back(
          {{symbol, 1, offset, divisor, from - begin, scale}, end - begin});
      from = end + 1;
    }
  }
}

/// Each sample says which quotient it has once the factor and the quotient of
/// the smallest size are chosen, and so bounds the shift.
void SizeSamples::solve(unsigned symbol, int64_t divisor,
                        llvm::SmallVectorImpl<Solution> &solutions) const {
  auto bySize = [&](const auto &a, const auto &b) {
    return a.first[symbol] < b.first[symbol];
  };
  auto [first, last] =
      std::minmax_element(samples.begin(), samples.end(), bySize);
  int64_t least = first->first[symbol], value = first->second;
  int64_t distance = last->first[symbol] - least;
  int64_t change = last->second - value;
  for (int64_t steps : {distance / divisor, distance / divisor + 1}) {
    if (steps == 0 || change == 0 || change % steps)
      continue;
    int64_t factor = change / steps;
    for (int64_t quotient : {least / divisor, least / divisor + 1}) {
      int64_t from = 0, to = divisor - 1;
      for (const auto &[sizes, number] : samples) {
        if ((number - value) % factor) {
          from = divisor;
          break;
        }
        int64_t begin = (quotient + (number - value) / factor) * divisor;
        from = std::max(from, begin - sizes[symbol]);
        to = std::min(to, begin + divisor - 1 - sizes[symbol]);
      }
      if (from <= to)
        solutions.push_back(
            {{symbol, factor, value - factor * quotient, divisor, from}, to});
    }
  }
}

std::optional<llvm::SmallVector<int64_t, 2>>
SizeSamples::findProbe(llvm::ArrayRef<int64_t> least,
                       llvm::ArrayRef<int64_t> large,
                       llvm::ArrayRef<int64_t> multiples) const {
  auto expr = fit();
  if (!expr || (expr->scale == 1 && expr->divisor <= kMostDivisor))
    return std::nullopt;
  unsigned symbol = expr->symbol;
  llvm::SmallVector<int64_t, 2> sizes(large);
  int64_t begin = least[symbol], step = multiples[symbol];
  // The first size for which two expressions differ.
  auto differ = [&](const SizeExpr &other) {
    for (sizes[symbol] = begin; sizes[symbol] <= large[symbol];
         sizes[symbol] += step)
      if ((*expr)(sizes) != other(sizes))
        return true;
    return false;
  };
  llvm::SmallVector<Solution> solutions;
  if (expr->scale == 1)
    for (int64_t divisor = expr->divisor; divisor <= kMostStride; ++divisor)
      solve(symbol, divisor, solutions);
  // Few samples of a ratio may look like rows of several elements.
  if (expr->scale != 1 || expr->factor != 1)
    for (int64_t divisor = 2; divisor <= kMostRatio; ++divisor)
      solveRatio(symbol, divisor, solutions);
  for (const Solution &solution : solutions) {
    // Halve the shifts that are left.
    SizeExpr other = solution.expr;
    for (int64_t shift : {(other.shift + solution.lastShift + 1) / 2,
                          other.shift, solution.lastShift}) {
      other.shift = shift;
      if (differ(other))
        return sizes;
    }
  }
  return std::nullopt;
}
