//===- Halves.h - The bits of 16-bit floats -------------------------------===//

#ifndef FRIT_COMPILER_SUPPORT_HALVES_H
#define FRIT_COMPILER_SUPPORT_HALVES_H

#include <bit>
#include <cmath>
#include <cstdint>

namespace frit {

/// Returns the number that the bits of an f16 stand for.
inline float halfToFloat(uint16_t bits) {
  int exponent = bits >> 10 & 31, rest = bits & 1023;
  float size = exponent == 31 ? (rest ? NAN : INFINITY)
               : exponent     ? std::ldexp(float(rest + 1024), exponent - 25)
                              : std::ldexp(float(rest), -24);
  return bits >> 15 ? -size : size;
}

/// Returns the nearest f16, of two the even one.
inline uint16_t toHalf(float number) {
  uint32_t bits = std::bit_cast<uint32_t>(number);
  uint16_t sign = bits >> 16 & 0x8000;
  float size = std::fabs(number);
  if (std::isnan(number))
    return sign | 0x7e00;
  if (size >= 65520)
    return sign | 0x7c00;
  // Below 2^-14, numbers are multiples of 2^-24; nearbyint rounds to even.
  if (size < 0x1p-14f)
    return sign | uint16_t(std::nearbyint(size * 0x1p24f));
  uint32_t rest = bits & 0x7fffffff;
  rest += 0xfff + (rest >> 13 & 1);
  return sign | uint16_t((rest >> 13) - (112 << 10));
}

/// Returns the nearest bf16, of two the even one.
inline uint16_t toBrain(float number) {
  uint32_t bits = std::bit_cast<uint32_t>(number);
  if (std::isnan(number))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace frit

#endif // FRIT_COMPILER_SUPPORT_HALVES_H
