//===- Rotary.cpp - Tables of rotary positions ----------------------------===//
//
// Numbers are rounded to f32 where transformers rounds them, so that angles of
// late positions agree.
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/Rotary.h"

#include "compiler/import/Elements.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

//===----------------------------------------------------------------------===//
// Frequencies
//===----------------------------------------------------------------------===//

/// Returns the frequency of a pair by Llama 3's rule: long waves are stretched,
/// short ones kept, and those between interpolated.
static float scaleLlama3(const RotaryConfig &rotary, float frequency) {
  double original = rotary.originalPositions;
  double wave = 2 * std::numbers::pi / frequency;
  if (wave > original / rotary.lowFrequencyFactor)
    return frequency / rotary.factor;
  if (wave < original / rotary.highFrequencyFactor)
    return frequency;
  double smooth = (original / wave - rotary.lowFrequencyFactor) /
                  (rotary.highFrequencyFactor - rotary.lowFrequencyFactor);
  return (1 - smooth) * frequency / rotary.factor + smooth * frequency;
}

/// Returns the pair that turns `rotations` times within the original context
/// (Peng et al., "YaRN", arXiv:2309.00071).
static double pairOfRotations(const RotaryConfig &rotary, double rotations) {
  return rotary.size *
         std::log(rotary.originalPositions /
                  (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(rotary.theta));
}

/// Returns the share of interpolation in a pair's frequency.
static double yarnShare(const RotaryConfig &rotary, int64_t pair) {
  double low = pairOfRotations(rotary, rotary.betaFast);
  double high = pairOfRotations(rotary, rotary.betaSlow);
  if (rotary.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.);
  high = std::min(high, double(rotary.size - 1));
  if (low == high)
    high += 0.001;
  return std::clamp((pair - low) / (high - low), 0., 1.);
}

std::vector<float> decoder::rotaryFrequencies(const RotaryConfig &rotary,
                                              int64_t positions) {
  std::vector<float> result;
  const std::vector<double> &stretch = positions > rotary.originalPositions
                                           ? rotary.longFactors
                                           : rotary.shortFactors;
  for (int64_t pair = 0; pair < rotary.size / 2; ++pair) {
    float power = std::pow(float(rotary.theta), float(2 * pair) / rotary.size);
    float frequency = 1 / power;
    switch (rotary.kind) {
    case RotaryKind::plain:
    case RotaryKind::dynamic:
      break;
    case RotaryKind::linear:
      frequency /= rotary.factor;
      break;
    case RotaryKind::llama3:
      frequency = scaleLlama3(rotary, frequency);
      break;
    case RotaryKind::yarn: {
      double share = yarnShare(rotary, pair);
      frequency = share / (rotary.factor * power) + (1 - share) / power;
      break;
    }
    case RotaryKind::longrope:
      frequency = 1 / (float(stretch[pair]) * power);
      break;
    }
    result.push_back(frequency);
  }
  return result;
}

double decoder::rotaryFactor(const RotaryConfig &rotary) {
  if (rotary.attentionFactor)
    return rotary.attentionFactor;
  if (rotary.factor <= 1)
    return 1;
  if (rotary.kind == RotaryKind::longrope)
    return std::sqrt(1 + std::log(rotary.factor) /
                             std::log(double(rotary.originalPositions)));
  if (rotary.kind != RotaryKind::yarn)
    return 1;
  auto scale = [&](double by) {
    return 0.1 * by * std::log(rotary.factor) + 1;
  };
  return rotary.mscale && rotary.mscaleAllDim
             ? scale(rotary.mscale) / scale(rotary.mscaleAllDim)
             : scale(1);
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static ElementsAttr table(ArrayRef<int64_t> shape, std::vector<float> values,
                          StringRef name, MLIRContext &context) {
  auto type = RankedTensorType::get(shape, Float32Type::get(&context));
  auto owner = std::make_shared<std::vector<float>>(std::move(values));
  ArrayRef<char> bytes(reinterpret_cast<const char *>(owner->data()),
                       owner->size() * sizeof(float));
  return importer::makeElements(type, {bytes, owner}, name);
}

RotaryAttrs decoder::computeRotary(const RotaryConfig &rotary,
                                   int64_t positions, MLIRContext &context) {
  std::vector<float> frequencies = rotaryFrequencies(rotary, positions);
  double factor = rotaryFactor(rotary);
  int64_t pairs = frequencies.size();
  std::vector<float> cosines(positions * pairs), sines(positions * pairs * 2);
  for (int64_t position = 0; position < positions; ++position)
    for (int64_t pair = 0; pair < pairs; ++pair) {
      float angle = float(position) * frequencies[pair];
      float sine = std::sin(double(angle)) * factor;
      cosines[position * pairs + pair] = std::cos(double(angle)) * factor;
      sines[(2 * position) * pairs + pair] = -sine;
      sines[(2 * position + 1) * pairs + pair] = sine;
    }
  return {table({positions, 1, pairs}, std::move(cosines), "cosines", context),
          table({positions, 2, pairs}, std::move(sines), "sines", context)};
}

Value decoder::rotate(nn::NNBuilder &b, Value x, const RotaryTables &rows) {
  SmallVector<int64_t> shape(nn::shapeOf(x)), starts(4, 0), ones(4, 1);
  int64_t pairs = nn::shapeOf(rows.cosines).back(), rest = shape[3] - 2 * pairs;
  Value turned = x, kept;
  if (rest > 0) {
    SmallVector<int64_t> sizes(shape);
    sizes[3] = 2 * pairs;
    turned = nn::SliceOp::create(b, x, starts, sizes, ones);
    starts[3] = 2 * pairs;
    sizes[3] = rest;
    kept = nn::SliceOp::create(b, x, starts, sizes, ones);
  }
  // As compiler/transform/recognize/RotaryPatterns.cpp writes it.
  SmallVector<int64_t> halved{shape[0], shape[1], shape[2], 2, pairs};
  Type element = nn::tensorType(x).getElementType();
  Value halves = b.cast(b.reshape(turned, halved), b.getF32Type());
  Value swapped =
      nn::SliceOp::create(b, halves, ArrayRef<int64_t>{0, 0, 0, 1, 0}, halved,
                          ArrayRef<int64_t>{1, 1, 1, -1, 1});
  auto row = [&](Value value, int64_t count) {
    return b.reshape(value, {shape[0], shape[1], 1, count, pairs});
  };
  Value added = b.mul(swapped, row(rows.sines, 2));
  Value y = b.add(b.mul(halves, row(rows.cosines, 1)), added);
  // Casts of this shape are parts of the same kernel.
  y = b.reshape(b.cast(y, element), {shape[0], shape[1], shape[2], 2 * pairs});
  return kept ? nn::ConcatOp::create(b, ValueRange{y, kept}, 3).getResult() : y;
}
