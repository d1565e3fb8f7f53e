//===- float8_codes.h - Codes of 8-bit floats on the host -----------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_FLOAT8_CODES_H
#define FRIT_TEST_CODEGEN_SKELETONS_FLOAT8_CODES_H

#include "frit/float8_mma.cuh"
#include "harness.h"

namespace harness {

/// Returns the number of a code, from its bits.
inline double numberOf(uint8_t code, frit::Float8 format) {
  const int bits = format == frit::Float8::e4m3 ? 3 : 2,
            bias = format == frit::Float8::e4m3 ? 7 : 15;
  const int exponent = (code & 127) >> bits,
            mantissa = code & ((1 << bits) - 1);
  double number =
      exponent ? ldexp(1 + ldexp(double(mantissa), -bits), exponent - bias)
               : ldexp(double(mantissa), 1 - bias - bits);
  return code & 128 ? -number : number;
}

/// Fills codes of finite numbers: of the whole range, or so few exponents that
/// all sums are exact in f32.
inline void fill(Buffer<uint8_t> &codes, uint32_t seed, frit::Float8 format,
                 bool isExact) {
  for (size_t i = 0; i < codes.size(); ++i) {
    seed = seed * 1664525 + 1013904223;
    uint8_t code = uint8_t(seed >> 24);
    const int bits = format == frit::Float8::e4m3 ? 3 : 2,
              bias = format == frit::Float8::e4m3 ? 7 : 15;
    if (isExact)
      code = uint8_t((code & (128 | ((1 << bits) - 1))) |
                     (bias - 1 + (code >> 4) % 3) << bits);
    else if (format == frit::Float8::e4m3 ? (code & 127) == 127
                                          : (code & 127) >= 0x7c)
      code = 1;
    codes.host()[i] = code;
  }
  codes.upload();
}

} // namespace harness

#endif // FRIT_TEST_CODEGEN_SKELETONS_FLOAT8_CODES_H
