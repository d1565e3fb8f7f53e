//===- float8.cuh - Round to floats of 8 bits -----------------------------===//
//
// Rounds f32 to the nearest e4m3 or e5m2, up to their largest numbers: by one
// instruction from sm_89 on.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_DEVICE_FLOAT8_CUH
#define FRIT_CODEGEN_CUDA_DEVICE_FLOAT8_CUH

#include "frit/math.cuh"

namespace frit {

#if !(__CUDA_ARCH__ >= 890)

/// Returns the code of the nearest float with `Mantissa` bits after the leading
/// one, of two the even one. `Largest` is the code of the largest number.
template <int Mantissa, int Bias, unsigned Largest, unsigned NaN>
__device__ inline int8_t float8Code(float x) {
  const unsigned all = bitCast<unsigned>(x), size = all & 0x7fffffff;
  const float magnitude = bitCast<float>(size);
  constexpr int dropped = 23 - Mantissa;
  // Below the least normal number the step is constant.
  constexpr unsigned least = (128 - Bias) << 23;
  constexpr float steps = float(1 << (Bias - 1 + Mantissa));
  unsigned code;
  if (size < least)
    code = unsigned(roundEven(magnitude * steps));
  else // a carry goes into the exponent by itself
    code = ((size + ((1u << (dropped - 1)) - 1) + (size >> dropped & 1)) >>
            dropped) -
           ((127 - Bias) << Mantissa);
  if (code > Largest)
    code = Largest;
  if (size > 0x7f800000)
    return int8_t(NaN);
  return int8_t(code | (all >> 24 & 128));
}

#endif

__device__ inline int8_t toE4m3(float x) {
#if __CUDA_ARCH__ >= 890
  uint16_t codes;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
      : "=h"(codes)
      : "f"(0.0f), "f"(x));
  return int8_t(codes);
#else
  return float8Code<3, 7, 0x7e, 0x7f>(x);
#endif
}

__device__ inline int8_t toE5m2(float x) {
#if __CUDA_ARCH__ >= 890
  uint16_t codes;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;"
      : "=h"(codes)
      : "f"(0.0f), "f"(x));
  return int8_t(codes);
#else
  return float8Code<2, 15, 0x7b, 0x7e>(x);
#endif
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_DEVICE_FLOAT8_CUH
