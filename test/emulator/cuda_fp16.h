//===- cuda_fp16.h - CUDA's half type for users' kernels on the host ------===//

#ifndef FRIT_TEST_EMULATOR_CUDA_FP16_H
#define FRIT_TEST_EMULATOR_CUDA_FP16_H

#include "frit/base.cuh"

/// CUDA's type, reduced to conversions to and from float.
struct __half {
  uint16_t bits;

  __half() = default;
  __half(float value) {
    frit::f16 rounded;
    frit::store(rounded, value);
    bits = rounded.bits;
  }
  operator float() const { return frit::load(frit::f16{bits}); }
};

inline float __half2float(__half value) { return value; }
inline __half __float2half(float value) { return value; }

#endif // FRIT_TEST_EMULATOR_CUDA_FP16_H
