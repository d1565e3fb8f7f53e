//===- code_rows.h - Problems of products of a few rows by codes ----------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_CODE_ROWS_H
#define FRIT_TEST_CODEGEN_SKELETONS_CODE_ROWS_H

#include "frit/code_rows.cuh"

using frit::Code;

/// Leading dimensions exceed the rows by `Pad` elements.
template <class T, frit::Code Format, int M, int N, int K, int Block,
          bool Offsets, int Tiles, int Stages, int Split, int Threads = 256,
          class Factor = frit::f16, int Pad = 0,
          class Activation = frit::Identity>
struct Problem {
  using A = T;
  using D = T;
  using Bias = T;
  using Scale = Factor;
  using Epilogue = Activation;
  static constexpr frit::Code code = Format;
  static constexpr int64_t m = M, n = N, k = K, lda = K + Pad, ldd = N + Pad;
  static constexpr int block = Block;
  static constexpr bool hasOffsets = Offsets, early = true;
  static constexpr int tiles = Tiles, stages = Stages, split = Split;
  static constexpr int threads = Threads, sharedBytes = 1 << 18;
};

/// Normalizes rows of A.
template <class P> struct Normed : P {
  static constexpr float epsilon = 1e-5f;
};
/// Multiplies by two matrices.
template <class P> struct Paired : P {
  static constexpr bool isPair = true;
};
/// Multiplies several groups of tiles one after another, and copies several
/// tiles along k together.
template <class P, int Rounds, int Together = 1> struct InRounds : P {
  static constexpr int rounds = Rounds, together = Together;
};
/// Has so many KiB of sums of rounds in shared memory.
template <class P, int KiB> struct Sums : P {
  static constexpr int sums = KiB;
};
/// Makes numbers of codes, instead of bytes or f16 of A.
template <class P> struct Widened : P {
  static constexpr bool widens = true;
};
/// The second of a pair of matrices has the first one's scales, and its codes
/// or numbers come after them.
template <class P>
__global__ void __launch_bounds__(P::threads)
    product(const typename P::A *a, const typename P::A *scale, const void *b,
            const typename P::Scale *scales, const typename P::Scale *offsets,
            const typename P::Bias *bias, const typename P::D *r,
            typename P::D *d) {
  using Matrix = frit::CodeMatrix<P>;
  if constexpr (frit::kMatrices<P> == 2) {
    const char *second = static_cast<const char *>(b) +
                         P::n * P::k * frit::kCodeBits<P::code> / 8;
    const Matrix both[] = {{b, scales, offsets}, {second, scales, offsets}};
    frit::codeRows<P>(a, scale, both, bias, r, d);
  } else {
    const Matrix one[] = {{b, scales, offsets}};
    frit::codeRows<P>(a, scale, one, bias, r, d);
  }
}
#ifndef __CUDACC_RTC__
#include "few_rows.h"

using namespace harness;

/// Returns the number of a code by the formats' definitions.
static double numberOf(Code code, int bits) {
  switch (code) {
  case Code::int4:
    return bits - 8;
  case Code::int8:
    return bits - 128;
  case Code::e2m1: {
    const double sizes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    return bits & 8 ? -sizes[bits & 7] : sizes[bits & 7];
  }
  case Code::e4m3: {
    int exponent = bits >> 3 & 15, rest = bits & 7;
    double size = exponent ? ldexp(8 + rest, exponent - 10) : ldexp(rest, -9);
    return bits & 128 ? -size : size;
  }
  }
  return 0;
}

/// A matrix of codes in tiles, and its numbers.
template <class P> struct Matrix {
  static constexpr int blocks = P::k / P::block;
  static constexpr int bits = frit::kCodeBits<P::code>;
  static constexpr int64_t rows = P::n * frit::kMatrices<P>;
  Buffer<uint8_t> codes{rows * P::k * bits / 8};
  Buffer<typename P::Scale> scales{P::n * blocks}, offsets{P::n * blocks};
  std::vector<double> numbers = std::vector<double>(rows * P::k);

  Matrix() {
    scales.randomize(6);
    offsets.randomize(7);
    uint32_t state = 12345;
    for (int64_t i = 0; i < rows * P::k * bits / 8; ++i)
      codes[i] = 0;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t k = 0; k < P::k; ++k) {
        state = state * 1664525 + 1013904223;
        int code = state >> 24 & ((1 << bits) - 1);
        if (P::code == Code::e4m3 && (code & 127) == 127)
          code = 0; // no NaN
        put(row, k, code);
        int64_t factor = (row % P::n / 16 * blocks + k / P::block) * 16 +
                         row % 8 * 2 + row / 8 % 2;
        numbers[row * P::k + k] =
            numberOf(P::code, code) * toDouble(scales[factor]) +
            (P::hasOffsets ? toDouble(offsets[factor]) : 0);
      }
    codes.upload();
  }

  /// Puts a code where Quantized.h says.
  void put(int64_t row, int64_t k, int code) {
    int64_t byte = k * bits / 8, chunks = P::k * bits / 8 / 32;
    int64_t tile = row / 16 * chunks + byte / 32;
    int64_t upper = row / 8 % 2, group = row % 8;
    int64_t part = byte / 16 % 2, lane = byte / 4 % 4;
    int64_t at =
        tile * 512 + ((group * 4 + lane) * 4 + upper * 2 + part) * 4 + byte % 4;
    codes[at] = uint8_t(codes[at] | code << k * bits % 8);
  }
};
#endif

#endif // FRIT_TEST_CODEGEN_SKELETONS_CODE_ROWS_H
