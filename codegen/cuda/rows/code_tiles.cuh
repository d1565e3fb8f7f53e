//===- code_tiles.cuh - Tiles of codes of few bits ------------------------===//
//
// Tiles of rows_gemm.cuh for a matrix B of codes of floats in the order of
// Quantized.h, which rows and columns fill; code_rows.cuh has those of
// integers. P has
//
//   using Scale = frit::f16;       // of scales and offsets
//   static constexpr Code code;
//   static constexpr int block;    // columns of B that share a scale
//   static constexpr bool hasOffsets;
//
// Sums of a block of columns are scaled in f32.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_CODE_TILES_CUH
#define FRIT_CODEGEN_CUDA_ROWS_CODE_TILES_CUH

#include "frit/codes.cuh"
#include "frit/few_rows.cuh"

namespace frit {

template <class P> struct CodeTiles {
  using T = typename P::A;
  using Scale = typename P::Scale;
  using Operand = CodeMatrix<P>;
  static constexpr int columnTiles = kColumnTiles<P>;
  static constexpr int wordCodes = kWordCodes<P::code>;
  /// Columns of B in a half of a tile, which share a scale, and in a tile.
  static constexpr int half = 4 * wordCodes, depth = 2 * half;
  /// Halves that share a scale, and bytes of a tile's scales.
  static constexpr int scaledHalves = P::block % depth == 0 ? 2 : 1;
  static constexpr int scaleBytes = 2 / scaledHalves * 16 * int(sizeof(Scale));
  static constexpr int bytes = 512 + scaleBytes * (P::hasOffsets ? 2 : 1);
  static_assert(!kHasIntegers<P::code> && P::k % depth == 0 &&
                P::block % half == 0 && P::k % P::block == 0 && P::n % 16 == 0);

  static __device__ void fetch(char *to, const Operand &b, int64_t tile,
                               int64_t chunk) {
    constexpr int64_t chunks = P::k / depth, blocks = P::k / P::block;
    const int lane = threadIdx.x % 32;
    copyAsync(to + lane * 16, static_cast<const char *>(b.codes) +
                                  (tile * chunks + chunk) * 512 + lane * 16);
    const int64_t factor = (tile * blocks + chunk * depth / P::block) * 16;
    if (lane < scaleBytes / 16) {
      constexpr int each = 16 / int(sizeof(Scale));
      copyAsync(to + 512 + lane * 16, b.scales + factor + lane * each);
      if constexpr (P::hasOffsets)
        copyAsync(to + 512 + scaleBytes + lane * 16,
                  b.offsets + factor + lane * each);
    }
  }

  /// Returns pair `i` of elements of A, in the order of decodePair.
  static __device__ uint32_t pairOf(const uint32_t (&x)[wordCodes / 2], int i) {
    if constexpr (wordCodes == 4)
      return x[i];
    else
      return selectBytes(x[i / 2], x[i / 2 + 2], i % 2 ? 0x7632 : 0x5410);
  }

  using Sums = float[kWarpTiles<P>][columnTiles][4];
  using RowSums = float[columnTiles][4];

  /// Adds the products of half `part`; `ofA` are sums of A alone.
  static __device__ void
  addHalf(Sums &sums, RowSums &ofA,
          const Pack<uint32_t, 4> (&words)[kWarpTiles<P>],
          const uint32_t (&x)[columnTiles][wordCodes / 2], int part) {
#pragma unroll
    for (int step = 0; step < wordCodes / 4; ++step) {
      uint32_t b[columnTiles][2];
#pragma unroll
      for (int j = 0; j < columnTiles; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          b[j][i] = pairOf(x[j], 2 * step + i);
      if constexpr (P::hasOffsets) {
        constexpr uint32_t one = twice(kSame<T, f16> ? 0x3c00 : 0x3f80);
        const uint32_t fragment[4] = {one, one, one, one};
#pragma unroll
        for (int j = 0; j < columnTiles; ++j)
          mma<T>(ofA[j], fragment, b[j]);
      }
#pragma unroll
      for (int t = 0; t < kWarpTiles<P>; ++t) {
        uint32_t fragment[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
          fragment[i] = decodePair<T, P::code>(words[t].at[i % 2 * 2 + part],
                                               2 * step + i / 2);
#pragma unroll
        for (int j = 0; j < columnTiles; ++j)
          mma<T>(sums[t][j], fragment, b[j]);
      }
    }
  }

  /// Scales sums of a block of columns and adds them.
  static __device__ void addScaled(Sums &total, const Sums &sums,
                                   const RowSums &ofA, const char *stage,
                                   int part) {
    const int row = (part * 16 + threadIdx.x % 32 / 4 * 2);
#pragma unroll
    for (int t = 0; t < kWarpTiles<P>; ++t) {
      const char *scales = stage + t * bytes + 512;
      float scale[2], offset[2];
      loadVector(scale, reinterpret_cast<const Scale *>(scales) + row);
      if constexpr (P::hasOffsets)
        loadVector(offset,
                   reinterpret_cast<const Scale *>(scales + scaleBytes) + row);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < columnTiles; ++j) {
          total[t][j][i] = fma(scale[i / 2] * kCodeFactor<T, P::code>,
                               sums[t][j][i], total[t][j][i]);
          if constexpr (P::hasOffsets)
            total[t][j][i] = fma(offset[i / 2], ofA[j][i], total[t][j][i]);
        }
    }
  }

  static __device__ void multiply(Sums &total, RowSquares<P> &squares,
                                  const char *stage, const char *rowsOfA) {
    uint32_t x[2][columnTiles][wordCodes / 2];
#pragma unroll
    for (int part = 0; part < 2; ++part)
      RowsPart<P, depth>::template read<wordCodes>(x[part], squares, rowsOfA,
                                                   part * half);
    Pack<uint32_t, 4> words[kWarpTiles<P>];
#pragma unroll
    for (int t = 0; t < kWarpTiles<P>; ++t)
      words[t] = *reinterpret_cast<const Pack<uint32_t, 4> *>(
          stage + t * bytes + threadIdx.x % 32 * 16);
#pragma unroll
    for (int first = 0; first < 2; first += scaledHalves) {
      Sums sums = {};
      RowSums ofA = {};
#pragma unroll
      for (int part = first; part < first + scaledHalves; ++part)
        addHalf(sums, ofA, words, x[part], part);
      addScaled(total, sums, ofA, stage, first / scaledHalves);
    }
  }
};

template <class P>
  requires requires { P::code; }
struct TilesFor<P> {
  using Type = CodeTiles<P>;
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_CODE_TILES_CUH
