//===- sparse_tiles.cuh - Tiles of 2:4 sparse matrices --------------------===//
//
// Tiles of rows_gemm.cuh for a matrix B of which two of four neighbours of a
// row are kept, as 16-bit numbers or as codes of 8 bits with a scale for each
// row. B has whole tiles of 16 rows by 128 columns, in the order of Sparse.h,
// in which a lane reads the fragments of mma.sp. For codes, P has
//
//   using Scale = frit::f16;
//   static constexpr Code code;    // int8 or e4m3
//
// Codes become numbers of A's type, which has all of them, and the sums are
// multiplied by the scales in f32.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_SPARSE_SPARSE_TILES_CUH
#define FRIT_CODEGEN_CUDA_SPARSE_SPARSE_TILES_CUH

#include "frit/rows_gemm.cuh"
#include "frit/sparse_mma.cuh"

namespace frit {

template <class P> __device__ constexpr bool hasSparseCodes() {
  return requires { P::code; };
}

/// The type of the scales of codes; any, for numbers.
template <class P> struct SparseScale {
  using Type = float;
};
template <class P>
  requires requires { P::code; }
struct SparseScale<P> {
  using Type = typename P::Scale;
};

/// A sparse matrix in tiles.
template <class P> struct SparseMatrix {
  const void *values; ///< numbers or codes
  const void *places;
  const typename SparseScale<P>::Type *scales; ///< null for numbers
};

/// Sizes of a tile in memory, and its codes.
template <class P> struct SparseFormat {
  using T = typename P::A;
  static constexpr bool hasCodes = hasSparseCodes<P>();
  static constexpr int depth = 128, steps = depth / 32;
  static constexpr int valueBytes = 16 * depth / 2 * (hasCodes ? 1 : 2);
  static constexpr int placeBytes = 16 * depth / 8;
  static_assert(P::k % depth == 0 && P::n % 16 == 0);

  /// Returns pair `i` of a word of codes as numbers of T, but for kFactor.
  static __device__ uint32_t decode(uint32_t word, int i) {
    uint32_t pair = decodePair<T, P::code>(word, i);
    // 1024 + code becomes the number, which f16 has.
    if constexpr (P::code == Code::int8 && kSame<T, f16>)
      pair = multiplyAddPairs<f16>(pair, twice(0x3c00), twice(0xe480));
    return pair;
  }
  static __device__ constexpr float factor() {
    if constexpr (hasCodes)
      return kCodeFactor<T, P::code>;
    return 1;
  }
};

template <class P> struct SparseTiles : SparseFormat<P> {
  using Format = SparseFormat<P>;
  using Format::hasCodes, Format::depth, Format::steps, Format::valueBytes,
      Format::placeBytes;
  using T = typename P::A;
  using Operand = SparseMatrix<P>;
  static constexpr int bytes = valueBytes + placeBytes;
  static constexpr int columnTiles = kColumnTiles<P>;
  using Rows = RowsPart<P, depth, /*ByMatrices=*/true>;

  static __device__ void fetch(char *to, const Operand &b, int64_t tile,
                               int64_t chunk) {
    const int lane = threadIdx.x % 32;
    const int64_t at = tile * (P::k / depth) + chunk;
    const char *values =
        static_cast<const char *>(b.values) + at * valueBytes + lane * 16;
#pragma unroll
    for (int i = 0; i < valueBytes; i += 512)
      copyAsync(to + i + lane * 16, values + i);
    if (lane < placeBytes / 16)
      copyAsync(to + valueBytes + lane * 16,
                static_cast<const char *>(b.places) + at * placeBytes +
                    lane * 16);
  }

  /// Reads the second fragments of a step of k, as RowsPart::read does.
  static __device__ void readRows(uint32_t (&x)[columnTiles][4],
                                  RowSquares<P> &squares, const char *part,
                                  int step) {
    const int lane = threadIdx.x % 32, piece = step * 4 + lane / 8;
#pragma unroll
    for (int j = 0; j < columnTiles; ++j) {
      int row = j * 8 + lane % 8;
      if (kBlockRows<P> % 8 != 0 && row >= kBlockRows<P>)
        row = kBlockRows<P> - 1;
      loadMatrices<false>(x[j], part + Rows::offsetOf(row, piece));
    }
    if constexpr (kNormalizesRows<P>) {
      squares.add(x);
      uint32_t scale[4];
      loadMatrices<false>(scale, part + Rows::offsetOf(kBlockRows<P>, piece));
#pragma unroll
      for (int j = 0; j < columnTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          x[j][i] = multiplyAddPairs<T>(x[j][i], scale[i], twice(0x8000));
    }
  }

  /// Reads the first fragment of a step of k.
  static __device__ void readValues(uint32_t (&a)[4], const char *stage,
                                    int step) {
    const int lane = threadIdx.x % 32;
    const int at = hasCodes ? step / 2 : step;
    auto words = *reinterpret_cast<const Pack<uint32_t, 4> *>(
        stage + (at * 32 + lane) * 16);
    if constexpr (hasCodes) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        a[i] = Format::decode(words.at[step % 2 * 2 + i % 2], i / 2);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        a[i] = words.at[i];
    }
  }

  static __device__ void multiply(float (&total)[kWarpTiles<P>][columnTiles][4],
                                  RowSquares<P> &squares, const char *stage,
                                  const char *rowsOfA) {
    const int lane = threadIdx.x % 32;
    Pack<uint32_t, 2> places[kWarpTiles<P>];
#pragma unroll
    for (int t = 0; t < kWarpTiles<P>; ++t)
      places[t] = *reinterpret_cast<const Pack<uint32_t, 2> *>(
          stage + t * bytes + valueBytes + lane * 8);
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      uint32_t x[columnTiles][4];
      readRows(x, squares, rowsOfA, step);
#pragma unroll
      for (int t = 0; t < kWarpTiles<P>; ++t) {
        uint32_t a[4];
        readValues(a, stage + t * bytes, step);
#pragma unroll
        for (int j = 0; j < columnTiles; ++j)
          if (step % 2 == 0)
            mmaSparse<T, 0>(total[t][j], a, x[j], places[t].at[step / 2]);
          else
            mmaSparse<T, 1>(total[t][j], a, x[j], places[t].at[step / 2]);
      }
    }
  }

  /// Multiplies the sums of tile `t`, number `tile` of its matrix, by the
  /// scales of its rows.
  static __device__ void scale(float (&total)[columnTiles][4], const Operand &b,
                               int64_t tile) {
    if constexpr (hasCodes) {
      const int64_t row = tile * 16 + threadIdx.x % 32 / 4;
#pragma unroll
      for (int upper = 0; upper < 2; ++upper) {
        const float by = load(b.scales[row + upper * 8]) * Format::factor();
#pragma unroll
        for (int j = 0; j < columnTiles; ++j)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            total[j][upper * 2 + i] *= by;
      }
    }
  }
};

/// Bytes of shared memory of a block.
template <class P> __device__ constexpr int sparseRowsShared() {
  return rowsGemmShared<P, SparseTiles<P>>();
}

/// Computes what rowsGemm does for a sparse matrix B.
template <class P>
__device__ inline void sparseRows(const typename P::A *a,
                                  const typename P::A *scale,
                                  const SparseMatrix<P> (&b)[kMatrices<P>],
                                  const typename P::Bias *bias,
                                  const typename P::D *r, typename P::D *d) {
  rowsGemm<P, SparseTiles<P>>(a, scale, b, bias, r, d);
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_SPARSE_SPARSE_TILES_CUH
