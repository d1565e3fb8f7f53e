//===- Ranges.cpp - Ranges of activations ---------------------------------===//

#include "compiler/driver/quantize/Ranges.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace frit;
using llvm::ArrayRef;

/// Bins of magnitudes.
static constexpr size_t kBins = 2048;
/// Share of the numbers that the percentile calibrator keeps within the range.
static constexpr double kPercentile = 0.9999;
/// A range gets unsigned codes and a zero point if one side is this many times
/// as long as the other: that is worth a bit.
static constexpr float kOneSided = 3;
/// The least scale.
static constexpr float kLeastScale = 0x1p-100f;

void TensorRange::addRange(ArrayRef<float> numbers, int64_t columns) {
  if (columns)
    columnMost.resize(columns);
  for (size_t i = 0; i < numbers.size(); ++i) {
    float number = numbers[i];
    if (!std::isfinite(number)) {
      isFinite = false;
      continue;
    }
    low = std::min(low, number);
    high = std::max(high, number);
    if (columns) {
      float &most = columnMost[i % size_t(columns)];
      most = std::max(most, std::abs(number));
    }
  }
}

bool TensorRange::isZero() const {
  return !(std::max(-low, high) >= kLeastScale * 256);
}

void TensorRange::smooth(std::vector<float> by) {
  factors = std::move(by);
  bool isPositive = low == 0;
  high = 0;
  for (size_t i = 0; i < factors.size(); ++i)
    high = std::max(high, columnMost[i] / factors[i]);
  low = isPositive ? 0 : -high;
}

void TensorRange::addCounts(ArrayRef<float> numbers) {
  counts.resize(kBins);
  float most = std::max(-low, high);
  for (size_t i = 0; i < numbers.size() && most > 0; ++i) {
    float number = std::abs(numbers[i]);
    if (!factors.empty())
      number /= factors[i % factors.size()];
    if (std::isfinite(number))
      ++counts[std::min<size_t>(size_t(number / most * kBins), kBins - 1)];
  }
}

/// Returns how far the distribution of magnitudes in the first `bins` bins is
/// from what `levels` codes make of it, as relative entropy. Magnitudes beyond
/// get the last code.
static double divergence(ArrayRef<uint64_t> counts, size_t bins,
                         unsigned levels) {
  std::vector<double> whole(counts.begin(), counts.begin() + ptrdiff_t(bins));
  for (uint64_t count : counts.drop_front(bins))
    whole.back() += double(count);
  std::vector<double> coded(bins);
  double total = 0, totalCoded = 0;
  for (unsigned level = 0; level < levels; ++level) {
    size_t begin = bins * level / levels, end = bins * (level + 1) / levels;
    double sum = 0;
    size_t used = 0;
    for (size_t i = begin; i < end; ++i) {
      sum += double(counts[i]);
      used += whole[i] > 0;
    }
    for (size_t i = begin; i < end; ++i)
      coded[i] = whole[i] > 0 ? sum / double(used) : 0;
    totalCoded += sum;
  }
  for (double count : whole)
    total += count;
  if (total == 0 || totalCoded == 0)
    return HUGE_VAL;
  // A bin that has no code costs as much as a rare one.
  constexpr double kRare = 1e-9;
  double result = 0;
  for (size_t i = 0; i < bins; ++i)
    if (whole[i] > 0)
      result +=
          whole[i] / total *
          std::log(whole[i] / total / std::max(coded[i] / totalCoded, kRare));
  return result;
}

float TensorRange::threshold(Calibrator calibrator, unsigned levels) const {
  float most = std::max(-low, high);
  if (calibrator == Calibrator::max || counts.empty())
    return most;
  size_t chosen = kBins;
  if (calibrator == Calibrator::percentile) {
    uint64_t total = 0, sum = 0;
    for (uint64_t count : counts)
      total += count;
    for (chosen = 0;
         chosen < kBins && double(sum) < kPercentile * double(total); ++chosen)
      sum += counts[chosen];
  } else {
    double least = HUGE_VAL;
    for (size_t bins = levels; bins <= kBins; ++bins)
      if (double here = divergence(counts, bins, levels); here < least) {
        least = here;
        chosen = bins;
      }
  }
  return most * float(std::max<size_t>(chosen, 1)) / kBins;
}

void TensorRange::chooseFloats(Calibrator calibrator,
                               ProductScales &row) const {
  assert(calibrator != Calibrator::entropy && "it counts codes of integers");
  row.code = InputCode::e4m3;
  row.zero = 0;
  row.scale = threshold(calibrator, /*levels=*/128) / kMostE4m3;
  if (!(row.scale >= kLeastScale))
    row.scale = 1; // of zeros
}

void TensorRange::choose(Calibrator calibrator, ProductScales &row) const {
  bool isOneSided = high >= -low * kOneSided || -low >= high * kOneSided;
  float bound = threshold(calibrator, isOneSided ? 256 : 128);
  float least = std::max(low, -bound), most = std::min(high, bound);
  row.code = isOneSided ? InputCode::u8 : InputCode::s8;
  row.zero = 0;
  row.scale = isOneSided ? (most - least) / 255 : std::max(-least, most) / 127;
  if (!(row.scale >= kLeastScale))
    row.scale = 1; // of zeros
  else if (isOneSided)
    row.zero = std::clamp<int64_t>(std::lround(-least / row.scale), 0, 255);
}
