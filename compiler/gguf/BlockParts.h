//===- BlockParts.h - Scales and bits in blocks of GGUF -------------------===//

#ifndef FRIT_COMPILER_GGUF_BLOCKPARTS_H
#define FRIT_COMPILER_GGUF_BLOCKPARTS_H

#include "compiler/support/Halves.h"

namespace frit::gguf {

inline uint16_t word(const uint8_t *bytes) {
  return uint16_t(bytes[0] | bytes[1] << 8);
}

/// Returns the f16 that lies at an address of any alignment.
inline float half(const uint8_t *bytes) { return halfToFloat(word(bytes)); }

/// Calls `set(j, five bits)`: the low four as Q4_0 has them, the fifth of
/// weight j in bit j of 32.
template <typename Set>
inline void fiveBits(const uint8_t *high, const uint8_t *low, Set set) {
  uint32_t bits = word(high) | uint32_t(word(high + 2)) << 16;
  for (int j = 0; j < 16; ++j) {
    set(j, (low[j] & 15) | (bits >> j & 1) << 4);
    set(j + 16, (low[j] >> 4) | (bits >> (j + 16) & 1) << 4);
  }
}

/// Scale and minimum of 32 of 256 weights, 6 bits each in 12 bytes.
struct ScaleAndMinimum {
  ScaleAndMinimum(const uint8_t *bytes, int group) {
    if (group < 4) {
      scale = bytes[group] & 63;
      minimum = bytes[group + 4] & 63;
      return;
    }
    scale = (bytes[group + 4] & 15) | bytes[group - 4] >> 6 << 4;
    minimum = bytes[group + 4] >> 4 | bytes[group] >> 6 << 4;
  }
  int scale, minimum;
};

/// The numbers of IQ4_NL's codes.
inline constexpr int8_t kIq4Levels[] = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

} // namespace frit::gguf

#endif // FRIT_COMPILER_GGUF_BLOCKPARTS_H
