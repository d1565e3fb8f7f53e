//===- plain_tiles.cuh - Tiles of 16-bit numbers --------------------------===//
//
// Tiles of rows_gemm.cuh for a matrix B of A's type, whose rows begin at
// multiples of 16 bytes. P has
//
//   static constexpr int64_t ldb;
//
// A tile is 16 rows of 128 bytes. Pieces of 16 bytes are swizzled so that rows
// next to each other, read by one access, are in different banks.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_PLAIN_TILES_CUH
#define FRIT_CODEGEN_CUDA_ROWS_PLAIN_TILES_CUH

#include "frit/rows_part.cuh"

namespace frit {

template <class P> struct PlainTiles {
  using T = typename P::A;
  using Operand = const T *;
  static constexpr int depth = 64, bytes = 16 * depth * 2;
  static constexpr int columnTiles = kColumnTiles<P>;
  using Rows = RowsPart<P, depth>;

  static __device__ int offsetOf(int row, int piece) {
    return row * 128 + (piece ^ row % 2 * 4) * 16;
  }

  static __device__ void fetch(char *to, Operand b, int64_t tile,
                               int64_t chunk) {
    const int lane = threadIdx.x % 32, piece = lane % 8;
    const int64_t k = chunk * depth + piece * 8;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int row = i * 4 + lane / 8;
      int64_t n = tile * 16 + row;
      if (P::n % 16 != 0 && n >= P::n)
        n = P::n - 1;
      bool isInside = P::k % depth == 0 || k < P::k;
      copyAsync(to + offsetOf(row, piece), b + n * P::ldb + (isInside ? k : 0),
                isInside ? 16 : 0);
    }
  }

  static __device__ void multiply(float (&total)[kWarpTiles<P>][columnTiles][4],
                                  RowSquares<P> &squares, const char *stage,
                                  const char *rowsOfA) {
    const int lane = threadIdx.x % 32;
    uint32_t x[2][columnTiles][4];
#pragma unroll
    for (int part = 0; part < 2; ++part)
      Rows::read(x[part], squares, rowsOfA, part * 32);
#pragma unroll
    for (int part = 0; part < 2; ++part)
#pragma unroll
      for (int t = 0; t < kWarpTiles<P>; ++t) {
        Pack<uint32_t, 4> rows[2];
#pragma unroll
        for (int i = 0; i < 2; ++i)
          rows[i] = *reinterpret_cast<const Pack<uint32_t, 4> *>(
              stage + t * bytes +
              offsetOf(lane / 4 + i * 8, part * 4 + lane % 4));
#pragma unroll
        for (int step = 0; step < 2; ++step) {
          const uint32_t fragment[4] = {
              rows[0].at[2 * step], rows[1].at[2 * step],
              rows[0].at[2 * step + 1], rows[1].at[2 * step + 1]};
#pragma unroll
          for (int j = 0; j < columnTiles; ++j) {
            const uint32_t columns[2] = {x[part][j][2 * step],
                                         x[part][j][2 * step + 1]};
            mma<T>(total[t][j], fragment, columns);
          }
        }
      }
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_PLAIN_TILES_CUH
