//===- RandomData.cpp - Tensors of random numbers -------------------------===//

#include "tools/support/RandomData.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

using namespace frit::tools;

namespace {
/// SplitMix64, which gives the same numbers on every machine.
struct Generator {
  uint64_t state;

  uint64_t next() {
    uint64_t value = state += 0x9e3779b97f4a7c15ull;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
    return value ^ (value >> 31);
  }
  /// Returns a number in [0, 1).
  double uniform() { return double(next() >> 11) * 0x1p-53; }
  /// Returns a normally distributed number (Box–Muller transform).
  double normal() {
    double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }
};
} // namespace

bool frit::tools::parseRandom(const std::string &text, RandomSpec &spec) {
  if (text.rfind("random", 0) != 0)
    return false;
  const char *at = text.c_str() + 6;
  char *end;
  if (*at == ':') {
    auto [after, fault] =
        std::from_chars(at + 1, text.c_str() + text.size(), spec.seed);
    if (fault != std::errc())
      return false;
    at = after;
  }
  if (*at == ':') {
    size_t dots = text.find("..", size_t(at - text.c_str()));
    if (dots == text.npos)
      return false;
    std::string low(at + 1, text.c_str() + dots), high = text.substr(dots + 2);
    spec.low = strtod(low.c_str(), &end);
    if (low.empty() || *end)
      return false;
    spec.high = strtod(high.c_str(), &end);
    if (high.empty() || *end || !(spec.low < spec.high))
      return false;
    spec.hasRange = true;
    return true;
  }
  return *at == '\0';
}

void frit::tools::fillRandom(Tensor &tensor, const RandomSpec &spec) {
  Generator generator{spec.seed};
  for (std::string &text : tensor.texts) {
    // A word of 1 to 8 letters.
    text.clear();
    for (uint64_t left = 1 + generator.next() % 8; left > 0; --left)
      text += char('a' + generator.next() % 26);
  }
  if (tensor.isString())
    return;
  bool floats = tensor.dtype <= FRIT_BF16 || tensor.dtype == FRIT_F8E4M3 ||
                tensor.dtype == FRIT_F8E5M2;
  double low = spec.hasRange ? spec.low : 0;
  double high = spec.hasRange ? spec.high : 2;
  for (uint64_t i = 0, count = tensor.count(); i < count; ++i) {
    double value = floats && !spec.hasRange
                       ? generator.normal()
                       : low + (high - low) * generator.uniform();
    tensor.set(i, floats ? value : std::floor(value));
  }
}
