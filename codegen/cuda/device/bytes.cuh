//===- bytes.cuh - Vectors of bytes in words ------------------------------===//
//
// GPUs have no maxima of four bytes, but sm_90 has those of two 16-bit numbers.
// Such a number compares as its upper byte, signed or not; if two of these are
// equal, either number will do. So a word's bytes are two pairs: those of odd
// place where they are, the others after a shift.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_DEVICE_BYTES_CUH
#define FRIT_CODEGEN_CUDA_DEVICE_BYTES_CUH

#include "frit/base.cuh"

namespace frit {

/// Reads N words at `from`, which is aligned to their size, up to 16 bytes.
template <int N, class T>
__device__ inline void loadWords(uint32_t (&words)[N], const T *from) {
  static_assert(sizeof(T) == 1);
  loadVector(words, reinterpret_cast<const uint32_t *>(from));
}

/// Writes N words to `to`, which is aligned as in loadWords.
template <int N, class T>
__device__ inline void storeWords(T *to, const uint32_t (&words)[N]) {
  static_assert(sizeof(T) == 1);
  storeVector(reinterpret_cast<uint32_t *>(to), words);
}

/// Returns four bytes of `low` (0 to 3) and `high` (4 to 7); each digit of
/// `selector` has the number of one, from the lowest on.
__device__ inline uint32_t selectBytes(uint32_t low, uint32_t high,
                                       uint32_t selector) {
#ifdef FRIT_EMULATE
  uint64_t both = uint64_t(high) << 32 | low;
  uint32_t bytes = 0;
  for (int i = 0; i < 4; ++i)
    bytes |= uint32_t(both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
  return bytes;
#else
  return __byte_perm(low, high, selector);
#endif
}

/// Returns the larger ones (most) or the smaller ones of pairs of 16-bit
/// numbers, signed as T is.
template <class T, bool most>
__device__ inline uint32_t extremeOfPairs(uint32_t a, uint32_t b) {
  constexpr bool isSigned = T(-1) < T(0);
#ifdef FRIT_EMULATE
  uint32_t result = 0;
  for (int shift : {0, 16}) {
    int x = uint16_t(a >> shift), y = uint16_t(b >> shift);
    if (isSigned)
      x = int16_t(x), y = int16_t(y);
    result |= uint32_t(uint16_t((x > y) == most ? x : y)) << shift;
  }
  return result;
#else
  if constexpr (isSigned)
    return most ? __vmaxs2(a, b) : __vmins2(a, b);
  else
    return most ? __vmaxu2(a, b) : __vminu2(a, b);
#endif
}

/// Four bytes as the upper bytes of two pairs.
struct BytePairs {
  uint32_t odd, even;

  __device__ explicit BytePairs(uint32_t word) : odd(word), even(word << 8) {}
  __device__ uint32_t word() const { return selectBytes(odd, even, 0x3715); }
};

/// Returns word `i` of a vector of bytes, or four copies of a byte.
template <int N>
__device__ inline uint32_t wordOf(const uint32_t (&words)[N], int i) {
  return words[i];
}
__device__ inline uint32_t wordOf(int byte, int) {
  return uint8_t(byte) * 0x01010101u;
}

/// Writes the largest (most) or smallest of the operands to each byte of `to`.
/// Bytes are of type T; an operand is a vector of them, or a constant.
template <class T, bool most, int N, class First, class... Others>
__device__ inline void extremesOfBytes(uint32_t (&to)[N], const First &first,
                                       const Others &...others) {
  static_assert(sizeof(T) == 1);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    BytePairs best(wordOf(first, i));
    auto meet = [&](uint32_t word) {
      BytePairs pairs(word);
      best.odd = extremeOfPairs<T, most>(best.odd, pairs.odd);
      best.even = extremeOfPairs<T, most>(best.even, pairs.even);
    };
    (meet(wordOf(others, i)), ...);
    to[i] = best.word();
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_DEVICE_BYTES_CUH
