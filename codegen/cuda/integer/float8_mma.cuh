//===- float8_mma.cuh - Tensor cores on floats of 8 bits ------------------===//
//
// mma.sync of e4m3 and e5m2 with sums in f32, on sm_89 and later, and a host
// version for the emulator. Fragments are those of bytes (integer_mma.cuh).
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_FLOAT8_MMA_CUH
#define FRIT_CODEGEN_CUDA_INTEGER_FLOAT8_MMA_CUH

#include "frit/mma.cuh"

namespace frit {

/// Formats of the OCP. e4m3 has no infinities, and 448 is its largest number.
enum class Float8 { e4m3, e5m2 };

#ifdef FRIT_EMULATE

/// Returns the number of a code.
template <Float8 Format> inline float float8Of(uint16_t code) {
  constexpr int bits = Format == Float8::e4m3 ? 3 : 2;
  constexpr int bias = Format == Float8::e4m3 ? 7 : 15;
  const int size = code & 127, exponent = size >> bits;
  const int mantissa = size & ((1 << bits) - 1);
  float number = exponent ? std::ldexp(float((1 << bits) + mantissa),
                                       exponent - bias - bits)
                          : std::ldexp(float(mantissa), 1 - bias - bits);
  if (Format == Float8::e4m3 ? size == 0x7f : size > 0x7c)
    number = NAN;
  else if (Format == Float8::e5m2 && size == 0x7c)
    number = INFINITY;
  return code & 128 ? -number : number;
}

/// Returns that of code `i` of a word.
template <Float8 Format> inline float float8At(uint32_t word, unsigned i) {
  return float8Of<Format>(uint16_t(word >> 8 * i & 255));
}

template <Float8 A, Float8 B>
inline void mmaFloats(float (&c)[4], const uint32_t (&a)[4],
                      const uint32_t (&b)[2]) {
  multiplyWords<4, 32>(c, a, b, float8At<A>, float8At<B>);
}

#else

/// Adds a · b to c for a 16 × 32 matrix a and a 32 × 8 matrix b.
template <Float8 A, Float8 B>
__device__ inline void mmaFloats(float (&c)[4], const uint32_t (&a)[4],
                                 const uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 890
#define FRIT_MMA_FLOATS(TypeA, TypeB)                                          \
  asm("mma.sync.aligned.m16n8k32.row.col.f32." TypeA "." TypeB ".f32 "         \
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"        \
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                         \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  if constexpr (A == Float8::e4m3 && B == Float8::e4m3)
    FRIT_MMA_FLOATS("e4m3", "e4m3");
  else if constexpr (A == Float8::e4m3)
    FRIT_MMA_FLOATS("e4m3", "e5m2");
  else if constexpr (B == Float8::e4m3)
    FRIT_MMA_FLOATS("e5m2", "e4m3");
  else
    FRIT_MMA_FLOATS("e5m2", "e5m2");
#undef FRIT_MMA_FLOATS
#endif
}

#endif

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_INTEGER_FLOAT8_MMA_CUH
