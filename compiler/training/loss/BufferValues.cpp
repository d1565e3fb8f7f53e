//===- BufferValues.cpp - Tell buffers from parameters by their values ----===//

#include "compiler/training/loss/BufferValues.h"

#include "dialects/nn/Fold.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Maximum elements of a weight that is examined.
static constexpr int64_t kMostExamined = 1 << 22;

static bool isNamedAsBuffer(StringRef name) {
  // "encoder.rotary.inv_freq" and, of parts without names, "inv_freq".
  StringRef last = name.substr(name.find_last_of("./") + 1);
  return llvm::StringSwitch<bool>(last)
      .Cases({"mean", "std", "pixel_mean", "pixel_std"}, true)
      .Cases({"mask", "attn_mask", "causal_mask", "inv_freq"}, true)
      .Default(false);
}

/// Returns whether the numbers look like a mask: one is infinite, or at least
/// kFewest have only two values.
static bool isMask(ArrayRef<float> x) {
  constexpr size_t kFewest = 8;
  if (llvm::any_of(x, [](float v) { return std::isinf(v); }))
    return true;
  const float *other = llvm::find_if(x, [&](float v) { return v != x[0]; });
  return x.size() >= kFewest && other != x.end() &&
         llvm::all_of(x, [&](float v) { return v == x[0] || v == *other; });
}

/// Returns whether most numbers that lie `stride` apart continue those before:
/// x[i - 1] + x[i + 1] = c · x[i], as in progressions and on a sine, with one
/// c. Stretches of equal numbers do not count.
static bool isProgression(ArrayRef<float> x, size_t length, size_t stride) {
  constexpr size_t kLongest = 64; ///< later angles are rounded too much
  constexpr size_t kFewest = 8;   ///< numbers in a row
  constexpr float kTolerance = 1e-5f, kEqual = 1e-3f;
  if (length < kFewest)
    return false;
  size_t counted = 0, fitting = 0;
  for (size_t begin = 0; begin < x.size(); begin += length * stride)
    for (size_t column = 0; column < stride; ++column)
      for (size_t i = 0; i + 3 < std::min(length, kLongest); ++i) {
        const float *at = &x[begin + column + i * stride];
        float a = at[0], b = at[stride], c = at[2 * stride], d = at[3 * stride];
        float most =
            std::max({std::abs(a), std::abs(b), std::abs(c), std::abs(d)});
        float range = std::max({a, b, c, d}) - std::min({a, b, c, d});
        if (!(range > kEqual * most))
          continue;
        ++counted;
        fitting +=
            std::abs((a + c) * c - (b + d) * b) <= kTolerance * most * most;
      }
  return counted && fitting * 4 >= counted * 3;
}

bool frit::looksLikeBuffer(ConstantOp weight) {
  if (isNamedAsBuffer(*weight.getName()))
    return true;
  DenseElementsAttr value = constantValue(weight, kMostExamined);
  if (!value || value.isSplat() || !value.getElementType().isF32())
    return false;
  ArrayRef<float> x(reinterpret_cast<const float *>(value.getRawData().data()),
                    value.getNumElements());
  ArrayRef<int64_t> shape = value.getType().getShape();
  auto isAlong = [&](size_t dim) {
    size_t stride = 1;
    for (int64_t inner : shape.drop_front(dim + 1))
      stride *= inner;
    return isProgression(x, shape[dim], stride);
  };
  for (size_t dim = shape.size(); dim-- > 0;)
    if (isAlong(dim))
      return true;
  return isMask(x);
}
