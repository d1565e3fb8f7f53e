//===- Shuffle.cpp - The order of the samples of an epoch -----------------===//

#include "tools/frit-train/data/Shuffle.h"

#include <algorithm>
#include <bit>

using namespace frit::train;

/// Computes SplitMix64's finalizer, a bijection.
static uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

/// The increment of SplitMix64.
static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ull;

Shuffle::Shuffle(uint64_t seed, uint64_t epoch, uint64_t count) : count(count) {
  // The authors' bound is about 6 log2(count) rounds.
  unsigned number = 6 * unsigned(std::bit_width(count)) + 16;
  uint64_t state = mix(mix(seed + kGolden) + epoch + 1);
  for (unsigned i = 0; i < number; ++i) {
    uint64_t pivot = mix(state += kGolden);
    uint64_t key = mix(state += kGolden);
    rounds.push_back({count ? pivot % count : 0, key});
  }
}

uint64_t Shuffle::at(uint64_t position) const {
  uint64_t x = position;
  for (const Round &round : rounds) {
    uint64_t y = round.pivot >= x ? round.pivot - x : round.pivot + count - x;
    if (mix(round.key ^ std::max(x, y)) & 1)
      x = y;
  }
  return x;
}
