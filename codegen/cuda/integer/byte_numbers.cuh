//===- byte_numbers.cuh - Bytes and floats in the end of a product --------===//
//
// What follows sums of bytes is bound by instructions, most of which convert.
// Here they take fewer: bytes are moved into the mantissa of 2^23, and four
// floats of 8 bits are rounded together.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_BYTE_NUMBERS_CUH
#define FRIT_CODEGEN_CUDA_INTEGER_BYTE_NUMBERS_CUH

#include "frit/base.cuh"
#include "frit/bytes.cuh"
#include "frit/float8.cuh"
#include "frit/math.cuh"

namespace frit {

/// Byte number `at` of a word.
struct ByteOf {
  uint32_t word;
  int at;

  /// Returns the byte in the lowest bits of `high`, whose lowest byte is 0.
  __device__ uint32_t under(uint32_t high) const {
    return selectBytes(word, high, 0x7650 | at);
  }
  __device__ operator int8_t() const { return int8_t(under(0)); }
};

/// Returns byte `i` of an array of words.
template <int N>
__device__ inline ByteOf byteAt(const uint32_t (&words)[N], int i) {
  return {words[i / 4], i % 4};
}

/// Reads N elements as they are.
template <int N, class T>
__device__ inline void loadOwn(T (&to)[N], const T *from) {
  constexpr int n = packOf<T, N>();
#pragma unroll
  for (int i = 0; i < N; i += n) {
    auto pack = *reinterpret_cast<const Pack<T, n> *>(from + i);
#pragma unroll
    for (int j = 0; j < n; ++j)
      to[i + j] = pack.at[j];
  }
}

/// Returns the bits of 2^23 in a register, which the compiler does not know: a
/// permutation of bytes takes one constant, and it has its selector.
__device__ inline uint32_t largeBits() {
#ifdef FRIT_EMULATE
  return 0x4b000000;
#else
  uint32_t processor;
  asm("mov.u32 %0, %%smid;" : "=r"(processor));
  return 0x4b000000 | processor >> 20;
#endif
}

/// Return the number of a byte minus `zero`, an integer of at most 255.
__device__ inline float unsignedNumber(ByteOf byte, float zero) {
  return bitCast<float>(byte.under(largeBits())) - (8388608.0f + zero);
}
__device__ inline float unsignedNumber(int8_t byte, float zero) {
  return unsignedNumber(ByteOf{uint32_t(uint8_t(byte)), 0}, zero);
}
/// Returns the number of a byte times `scale`, rounded once: 2^23 times a scale
/// of less than 2^100 is exact.
__device__ inline float scaledNumber(ByteOf byte, float scale) {
  return ::fmaf(bitCast<float>(byte.under(largeBits())), scale,
                -8388608.0f * scale);
}
__device__ inline float scaledNumber(int8_t byte, float scale) {
  return scaledNumber(ByteOf{uint32_t(uint8_t(byte)), 0}, scale);
}
__device__ inline float signedNumber(ByteOf byte, float zero) {
  return unsignedNumber(ByteOf{byte.word ^ 0x80808080, byte.at}, zero + 128);
}
__device__ inline float signedNumber(int8_t byte, float zero) {
  return signedNumber(ByteOf{uint32_t(uint8_t(byte)), 0}, zero);
}

/// Clamps to 0 to 1, which costs no instruction; 0 for NaN.
__device__ inline float saturate(float x) {
#ifdef FRIT_EMULATE
  return x > 0.0f ? ::fminf(x, 1.0f) : 0.0f;
#else
  return __saturatef(x);
#endif
}

/// Rounds unit * (high - low) to the nearest integer and clamps it to integers
/// from `low` to `high`, which are below 2^21; -offset for NaN. The division
/// that made `unit` may break ties.
__device__ inline float roundClamped(float unit, float low, float high,
                                     float offset) {
  const float width = high - low;
  if (low + offset != 0.0f && unit != unit)
    unit = -offset / width;
  float part = saturate(low == 0.0f ? unit : unit - low / width);
  return ::fmaf(part, width, 12582912.0f + low) - 12582912.0f;
}

/// Returns low + unit * (high - low) rounded to the nearest integer and clamped
/// to integers from `low` to `high`, which are below 2^21; `low` for NaN.
__device__ inline float roundUnit(float unit, float low, float high) {
  return ::fmaf(saturate(unit), high - low, 12582912.0f + low) - 12582912.0f;
}

/// Computes GELU for results of 8 bits: x (1 + tanh(x p(x^2))) / 2, with p
/// fitted by weighted least squares. The absolute error is below 3e-4, and
/// below 1.2e-3 with the GPU's tanh.
__device__ inline float geluTo8Bits(float x) {
  float half = 0.5f * x;
  float u = x * ::fmaf(x * x, 0.0347009f, 0.80015705f);
#ifdef FRIT_EMULATE
  float t = ::tanhf(u);
#else
  float t;
  asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(u));
#endif
  return ::fmaf(half, t, half);
}

/// The bits of a byte are the byte times the least float above 0. A float can
/// have no factor of the inverse, so that a sum is made smaller by as much as
/// one can have.
inline constexpr float kLeastFloat = 0x1p-149f, kTinyFactor = 0x1p100f,
                       kTiny = kLeastFloat * kTinyFactor;

/// Return (byte * scale + added) * kTiny, rounded once.
__device__ inline float unsignedTiny(ByteOf byte, float scale, float added) {
  return ::fmaf(bitCast<float>(byte.under(0)), scale * kTinyFactor,
                added * kTiny);
}
__device__ inline float unsignedTiny(int8_t byte, float scale, float added) {
  return unsignedTiny(ByteOf{uint32_t(uint8_t(byte)), 0}, scale, added);
}
/// Likewise of the byte plus 128.
__device__ inline float signedTiny(ByteOf byte, float scale, float added) {
  return unsignedTiny(ByteOf{byte.word ^ 0x80808080, byte.at}, scale, added);
}
__device__ inline float signedTiny(int8_t byte, float scale, float added) {
  return signedTiny(ByteOf{uint32_t(uint8_t(byte)), 0}, scale, added);
}

/// Returns the bits of the integer nearest to unit * width, where unit is
/// clamped to 0 to 1 and 0 for NaN: they are the integer times kLeastFloat.
__device__ inline float fractionBits(float unit, float width) {
  return saturate(unit) * (width * kLeastFloat);
}
/// Returns `tiny` plus kTiny times the integer nearest to unit * width, times
/// scale.
__device__ inline float addFraction(float tiny, float unit, float width,
                                    float scale) {
  return ::fmaf(fractionBits(unit, width), scale * kTinyFactor, tiny);
}

__device__ inline int8_t roundFraction(float unit, float width) {
  return int8_t(bitCast<int>(fractionBits(unit, width)));
}
/// Rounds tiny / kTiny like roundToByte.
__device__ inline int8_t roundTiny(float tiny, float low, float high,
                                   float offset) {
  return roundToByte(tiny * 0x1p49f, low, high, offset);
}

/// Returns four bytes, the first in the lowest: integers of 0 or more, of which
/// larger ones become 255.
__device__ inline uint32_t packBytes(const int *codes) {
  uint32_t word;
#ifdef FRIT_EMULATE
  word = 0;
  for (int i = 0; i < 4; ++i)
    word |= uint32_t(minimum<int>(maximum<int>(codes[i], 0), 255)) << 8 * i;
#else
  asm("{\n.reg .b32 upper;\n"
      "cvt.pack.sat.u8.s32.b32 upper, %4, %3, 0;\n"
      "cvt.pack.sat.u8.s32.b32 %0, %2, %1, upper;\n}\n"
      : "=r"(word)
      : "r"(codes[0]), "r"(codes[1]), "r"(codes[2]), "r"(codes[3]));
#endif
  return word;
}

/// Returns four bytes, the first in the lowest: those of roundFraction.
__device__ inline uint32_t roundFourFractions(const float *units, float width) {
  int codes[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    codes[i] = bitCast<int>(fractionBits(units[i], width));
  return packBytes(codes);
}

/// Returns four codes, the first in the lowest byte.
template <bool E4m3> __device__ inline uint32_t roundFour(const float *x) {
#if !defined(FRIT_EMULATE) && __CUDA_ARCH__ >= 890
  uint32_t codes;
  if constexpr (E4m3)
    asm("{\n.reg .b16 low, high;\n"
        "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
        "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
        "mov.b32 %0, {low, high};\n}\n"
        : "=r"(codes)
        : "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]));
  else
    asm("{\n.reg .b16 low, high;\n"
        "cvt.rn.satfinite.e5m2x2.f32 low, %2, %1;\n"
        "cvt.rn.satfinite.e5m2x2.f32 high, %4, %3;\n"
        "mov.b32 %0, {low, high};\n}\n"
        : "=r"(codes)
        : "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]));
  return codes;
#else
  uint32_t codes = 0;
  for (int i = 0; i < 4; ++i)
    codes |= uint32_t(uint8_t(E4m3 ? toE4m3(x[i]) : toE5m2(x[i]))) << 8 * i;
  return codes;
#endif
}

/// Returns four bytes, the first in the lowest: rounds x / unit to integers,
/// adds `offset`, and clamps to low + offset and high + offset. A multiple of
/// the least float above 0 has the bits of an integer, and packing saturates.
/// NaN becomes the highest code.
__device__ inline uint32_t roundFourCodes(const float *x, float low, float high,
                                          float offset, float unit = 1) {
  // Signed codes are packed as unsigned ones plus 128.
  const bool isSigned = low + offset < 0.0f;
  const int zero = int(offset) + (isSigned ? 128 : 0), odd = zero & 1;
  const float least = unit == 1 ? kLeastFloat : kLeastFloat / unit;
  const float from = bitCast<float>(zero + odd);
  int codes[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float number = x[i];
    // Packing clamps to 0, unless 1 is subtracted before: an even number is
    // added, so that ties are those of x.
    if (odd || low + zero != 0.0f)
      number = ::fmaxf(number, low * unit);
    if (high + zero != 255.0f)
      number = ::fminf(number, high * unit);
    codes[i] = bitCast<int>(::fmaf(number, least, from)) - odd;
  }
  uint32_t word = packBytes(codes);
  return isSigned ? word ^ 0x80808080 : word;
}

/// Writes a pack if `isInside`, by one instruction.
template <class T, int N>
__device__ inline void storePackIf(bool isInside, T *to,
                                   const Pack<T, N> &pack) {
#ifndef FRIT_EMULATE
  constexpr int bytes = sizeof(pack);
  union {
    Pack<T, N> pack;
    uint32_t words[(bytes + 3) / 4];
    uint16_t half;
    uint8_t byte;
  } both = {pack};
  const auto &words = both.words;
#define FRIT_STORE_IF(type, values, ...)                                       \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %1, 0;\n@p st." type          \
               " [%0], " values ";\n}\n" ::"l"(to),                            \
               "r"(int(isInside)), __VA_ARGS__                                 \
               : "memory")
  if constexpr (bytes == 16)
    FRIT_STORE_IF("v4.b32", "{%2, %3, %4, %5}", "r"(words[0]), "r"(words[1]),
                  "r"(words[2]), "r"(words[3]));
  else if constexpr (bytes == 8)
    FRIT_STORE_IF("v2.b32", "{%2, %3}", "r"(words[0]), "r"(words[1]));
  else if constexpr (bytes == 4)
    FRIT_STORE_IF("b32", "%2", "r"(words[0]));
  else if constexpr (bytes == 2)
    FRIT_STORE_IF("b16", "%2", "h"(both.half));
  else
    FRIT_STORE_IF("b8", "%2", "r"(int(both.byte)));
#undef FRIT_STORE_IF
#else
  if (isInside)
    storePack(to, pack);
#endif
}

/// Writes V elements, like storeVector, if `isInside`. A branch around a store
/// would draw the arithmetic before it in, and keep that of several stores
/// apart.
template <int V, class T, class F>
__device__ inline void storeVectorIf(bool isInside, T *to, const F (&in)[V]) {
  constexpr int n = packOf<T, V>();
#pragma unroll
  for (int i = 0; i < V; i += n) {
    Pack<T, n> pack;
    roundToPack(pack, in, i);
    storePackIf(isInside, to + i, pack);
  }
}

/// Round V floats to e4m3 or e5m2 and write them if `isInside`.
template <bool E4m3, int V>
__device__ inline void storeFloat8If(bool isInside, int8_t *to,
                                     const float (&in)[V]) {
  if constexpr (V % 4 == 0) {
    uint32_t words[V / 4];
#pragma unroll
    for (int i = 0; i < V / 4; ++i)
      words[i] = roundFour<E4m3>(in + i * 4);
    storeVectorIf(isInside, reinterpret_cast<uint32_t *>(to), words);
  } else {
    int8_t codes[V];
#pragma unroll
    for (int i = 0; i < V; ++i)
      codes[i] = E4m3 ? toE4m3(in[i]) : toE5m2(in[i]);
    storeVectorIf(isInside, to, codes);
  }
}
template <int V>
__device__ inline void storeE4m3If(bool isInside, int8_t *to,
                                   const float (&in)[V]) {
  storeFloat8If<true>(isInside, to, in);
}
template <int V>
__device__ inline void storeE5m2If(bool isInside, int8_t *to,
                                   const float (&in)[V]) {
  storeFloat8If<false>(isInside, to, in);
}

/// V codes of a thread, in registers.
template <int V> struct Codes {
  static_assert(V % 4 == 0);
  uint32_t words[V / 4];
};

/// Keep bytes, or floats that are rounded to them.
template <int V>
__device__ inline void storeVectorIf(bool, Codes<V> &to,
                                     const int8_t (&in)[V]) {
#pragma unroll
  for (int i = 0; i < V; i += 4)
    to.words[i / 4] =
        uint32_t(uint8_t(in[i])) | uint32_t(uint8_t(in[i + 1])) << 8 |
        uint32_t(uint8_t(in[i + 2])) << 16 | uint32_t(uint8_t(in[i + 3])) << 24;
}
template <int V>
__device__ inline void storeCodesIf(bool, Codes<V> &to, const float (&in)[V],
                                    float low, float high, float offset) {
#pragma unroll
  for (int i = 0; i < V; i += 4)
    to.words[i / 4] = roundFourCodes(in + i, low, high, offset);
}

/// Keeps bytes that units become; see roundFourFractions.
template <int V>
__device__ inline void storeFractionsIf(bool, Codes<V> &to,
                                        const float (&in)[V], float width) {
#pragma unroll
  for (int i = 0; i < V; i += 4)
    to.words[i / 4] = roundFourFractions(in + i, width);
}
/// Writes bytes that units become if `isInside`; see roundFourFractions.
template <int V>
__device__ inline void storeFractionsIf(bool isInside, int8_t *to,
                                        const float (&in)[V], float width) {
  Codes<V> codes;
  storeFractionsIf(isInside, codes, in, width);
  storeVectorIf(isInside, reinterpret_cast<uint32_t *>(to), codes.words);
}
/// Writes bytes of tiny numbers if `isInside`; see roundFourCodes.
template <int V>
__device__ inline void storeTinyIf(bool isInside, int8_t *to,
                                   const float (&in)[V], float low, float high,
                                   float offset) {
  uint32_t words[V / 4];
#pragma unroll
  for (int i = 0; i < V / 4; ++i)
    words[i] = roundFourCodes(in + i * 4, low, high, offset, kTiny);
  storeVectorIf(isInside, reinterpret_cast<uint32_t *>(to), words);
}

/// Rounds V floats to bytes and writes them if `isInside`; see roundFourCodes.
template <int V>
__device__ inline void storeCodesIf(bool isInside, int8_t *to,
                                    const float (&in)[V], float low, float high,
                                    float offset) {
  if constexpr (V % 4 == 0) {
    uint32_t words[V / 4];
#pragma unroll
    for (int i = 0; i < V / 4; ++i)
      words[i] = roundFourCodes(in + i * 4, low, high, offset);
    storeVectorIf(isInside, reinterpret_cast<uint32_t *>(to), words);
  } else {
    int8_t codes[V];
#pragma unroll
    for (int i = 0; i < V; ++i)
      codes[i] = roundToByte(in[i], low, high, offset);
    storeVectorIf(isInside, to, codes);
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_INTEGER_BYTE_NUMBERS_CUH
