//===- Shuffle.h - The order of the samples of an epoch -------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_DATA_SHUFFLE_H
#define FRIT_TOOLS_FRIT_TRAIN_DATA_SHUFFLE_H

#include <cstdint>
#include <vector>

namespace frit::train {

/// A permutation of 0 … count - 1 for each seed and epoch: the swap-or-not
/// shuffle of Hoang, Morris and Rogaway (2012). It takes no memory per sample,
/// gives any entry at once, and is the same on every machine:
///
///   for each round:  y = (pivot - x) mod count
///                    x = y, if bit 0 of mix(key ^ max(x, y))
///
/// where mix is the finalizer of SplitMix64. Pivots and keys are the numbers of
/// SplitMix64 seeded with mix(mix(seed + golden) + epoch + 1).
class Shuffle {
public:
  Shuffle(uint64_t seed, uint64_t epoch, uint64_t count);

  /// Returns the sample at `position`, which must be less than the count.
  uint64_t at(uint64_t position) const;

private:
  struct Round {
    uint64_t pivot, key;
  };
  uint64_t count;
  std::vector<Round> rounds;
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_DATA_SHUFFLE_H
