//===- codes.cuh - Numbers of few bits ------------------------------------===//
//
// Codes as nn.dequantize has them become pairs of 16-bit floats, which tensor
// cores multiply, by a few instructions per pair: bits of a code are put into
// the mantissa of a number whose distance to the wanted one is constant, or
// into exponent and mantissa of one whose ratio to it is (as in Kim et al.,
// "Who Says Elephants Can't Run", arXiv:2211.10017). All conversions are exact;
// the NaN of e4m3 becomes 480.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_DEVICE_CODES_CUH
#define FRIT_CODEGEN_CUDA_DEVICE_CODES_CUH

#include "frit/base.cuh"
#include "frit/bytes.cuh"

namespace frit {

enum class Code { int4, int8, e2m1, e4m3 };

template <Code code>
inline constexpr int kCodeBits =
    code == Code::int4 || code == Code::e2m1 ? 4 : 8;
/// Codes in a word of 32 bits.
template <Code code> inline constexpr int kWordCodes = 32 / kCodeBits<code>;

/// Whether codes stand for integers.
template <Code code>
inline constexpr bool kHasIntegers = code == Code::int4 || code == Code::int8;

/// Returns numbers i and i + 4 of 8 of 16 bits: a pair of decodePair's order.
__device__ inline uint32_t selectPair(const uint32_t (&of)[4], int i) {
  return selectBytes(of[i / 2], of[2 + i / 2], i % 2 ? 0x7632 : 0x5410);
}

/// Returns (bits & mask) | set, in one instruction.
__device__ inline uint32_t keepAndSet(uint32_t bits, uint32_t mask,
                                      uint32_t set) {
#ifdef FRIT_EMULATE
  return (bits & mask) | set;
#else
  // With two constants the compiler makes two of it.
  uint32_t result;
  asm volatile("lop3.b32 %0, %1, %2, %3, 0xea;"
               : "=r"(result)
               : "r"(bits), "r"(mask), "r"(set));
  return result;
#endif
}

/// Returns a · b + c for pairs of T, f16 or bf16.
template <class T>
__device__ inline uint32_t multiplyAddPairs(uint32_t a, uint32_t b,
                                            uint32_t c) {
#if defined(FRIT_EMULATE) || __CUDA_ARCH__ < 800
  uint32_t result = 0;
  for (int i = 0; i < 32; i += 16) {
    T one;
    store(one, load(T{uint16_t(a >> i)}) * load(T{uint16_t(b >> i)}) +
                   load(T{uint16_t(c >> i)}));
    result |= uint32_t(one.bits) << i;
  }
  return result;
#else
  uint32_t result;
  if constexpr (kSame<T, f16>)
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  else
    asm("fma.rn.bf16x2 %0, %1, %2, %3;"
        : "=r"(result)
        : "r"(a), "r"(b), "r"(c));
  return result;
#endif
}

/// Repeats the bits of a 16-bit number.
__device__ constexpr uint32_t twice(uint32_t bits) { return bits | bits << 16; }

/// What the numbers of decodePair are multiplied by.
template <class T, Code code>
inline constexpr float kCodeFactor = !kSame<T, f16>       ? 1.f
                                     : code == Code::e2m1 ? 16384.f
                                     : code == Code::e4m3 ? 256.f
                                                          : 1.f;

/// What pair `i` of decodePair exceeds the wanted numbers by, before the
/// factor: a number of T.
template <class T, Code code> __device__ constexpr float codeBias(int i) {
  if (code == Code::int4)
    return kSame<T, f16> ? (i % 2 ? 72.f : 1032.f) : 136.f;
  return code == Code::int8 && kSame<T, f16> ? 1152.f : 0.f;
}

/// Returns a pair of the numbers of a word, as T, plus codeBias: of 4 bits
/// codes `i` and i + 4, of 8 bits codes 2 i and 2 i + 1.
template <class T, Code code>
__device__ inline uint32_t decodePair(uint32_t word, int i) {
  constexpr bool isHalf = kSame<T, f16>;
  constexpr uint32_t none = 0x80008000; // -0 leaves products as they are
  if constexpr (code == Code::int4 && isHalf) {
    // 1024 + code, or 64 + code with the code in bits 4 to 7.
    uint32_t bits = word >> i / 2 * 8;
    return i % 2 ? keepAndSet(bits, twice(0xf0), twice(0x5400))
                 : keepAndSet(bits, twice(15), twice(0x6400));
  } else if constexpr (code == Code::int4) {
    return keepAndSet(word >> 4 * i, twice(15), twice(0x4300)); // 128 + code
  } else if constexpr (code == Code::e2m1) {
    uint32_t bits = word >> 4 * i;
    uint32_t sign = bits << 12 & none, size = bits & twice(7);
    if constexpr (isHalf)
      return sign | size << 9;
    else
      return multiplyAddPairs<T>(sign | size << 6, twice(0x7e80),
                                 none); // 2^126
  } else if constexpr (code == Code::int8 && isHalf) {
    return selectBytes(word, twice(0x6464), i ? 0x4342 : 0x4140); // 1024 + code
  } else if constexpr (code == Code::int8) {
    // 128 + the low 7 bits, minus 128 if the highest is set, else 256.
    uint32_t bits = selectBytes(word, 0, i ? 0x4342 : 0x4140);
    return multiplyAddPairs<T>(keepAndSet(~bits, twice(0x80), twice(0x4300)),
                               twice(0xbf80),
                               keepAndSet(bits, twice(0x7f), twice(0x4300)));
  } else {
    uint32_t bits = selectBytes(word, 0, i ? 0x3424 : 0x1404);
    uint32_t sign = bits & none, size = bits & twice(0x7f00);
    if constexpr (isHalf)
      return sign | size >> 1;
    else
      return multiplyAddPairs<T>(sign | size >> 4, twice(0x7b80),
                                 none); // 2^120
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_DEVICE_CODES_CUH
