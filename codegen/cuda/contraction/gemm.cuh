//===- gemm.cuh - Matrix products -----------------------------------------===//
//
// D[b] = epilogue(A[b]·B[b] + bias + R[b]), all row-major, as artifact::Gemm
// defines it. The problem is a struct of constants, so that index calculations
// and absent operands fold away:
//
//   struct P {
//     using A = frit::f16;  using B = frit::f16;  using D = frit::f16;
//     using Bias = frit::f16;
//     static constexpr int64_t m, n, k, batch;
//     static constexpr int64_t lda, ldb, ldd, strideA, strideB, strideD;
//     static constexpr bool transposeA, transposeB;
//     using Epilogue = frit::Relu;                  // see tile.cuh
//     static constexpr int tileM = 64, tileN = 64;  // each 64 or 128
//   };
//
// Blocks have 256 threads and need no dynamic shared memory. A good grid is
// (ceil(n / tileN), ceil(m / tileM), batch), each within the device's limit;
// any grid is correct. m, n and k are below 2^31. Tiles of 128 are faster if
// there are still enough blocks to fill the device.
//
// f16 and bf16 use the tensor cores if lda, ldb, strideA and strideB are
// multiples of 8; A and B must then be aligned to 16 bytes, as buffers are.
// Everything else uses the CUDA cores.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_GEMM_CUH
#define FRIT_CODEGEN_CUDA_CONTRACTION_GEMM_CUH

#include "frit/gate.cuh"
#include "frit/mma.cuh"
#include "frit/norm.cuh"
#include "frit/reductions.cuh"
#include "frit/store.cuh"

namespace frit {

/// Whether a product may use the tensor cores.
template <class P>
inline constexpr bool kGemmUsesMma =
    hasMma<typename P::A>() && kSame<typename P::A, typename P::B> &&
    (kSame<typename P::A, f16> || kSame<typename P::A, bf16>) &&
    P::lda % 8 == 0 && P::ldb % 8 == 0 && P::strideA % 8 == 0 &&
    P::strideB % 8 == 0;

/// Whether two neighbours of a row of D are stored by one access.
template <class P>
inline constexpr bool kGemmStoresPairs =
    P::n % 2 == 0 && P::ldd % 2 == 0 && P::strideD % 2 == 0;

/// An index into any of the matrices, up to a tile past their last rows.
template <class P>
using GemmOffset =
    OffsetIn<largest(P::lda *((P::transposeA ? P::k : P::m) + 128),
                     P::ldb *((P::transposeB ? P::n : P::k) + 128),
                     P::ldd *(P::m + 128))>;

/// Returns the valid bytes of the piece of 8 elements at `at`, of `Size`
/// elements; every piece starts below Limit. If they are known to be all or
/// none, the compiler avoids the slow path for copies of other lengths.
template <int64_t Size, int64_t Limit>
__device__ inline int pieceBytes(int at) {
  if constexpr (Limit <= Size)
    return 16;
  else if constexpr (Size % 8 == 0)
    return at < Size ? 16 : 0;
  else
    return at >= Size ? 0 : Size - at >= 8 ? 16 : int(Size - at) * 2;
}

/// Rounds `size` up to a multiple of `tile`.
__device__ constexpr int64_t tiled(int64_t size, int64_t tile) {
  return (size + tile - 1) / tile * tile;
}

/// Computes the tile of D at (row, col) on the CUDA cores.
template <class P>
__device__ inline void gemmTile(const typename P::A *a, const typename P::B *b,
                                const typename P::Bias *bias,
                                const typename P::D *r, typename P::D *d,
                                int row, int col) {
  using Acc = SumOf<typename P::A>;
  using Offset = GemmOffset<P>;
  constexpr Offset lda = P::lda, ldb = P::ldb, ldd = P::ldd;
  auto loadA = [&](int m, int k) {
    int i = row + m;
    if (i >= P::m || k >= P::k)
      return Acc(0);
    return Acc(load(a[P::transposeA ? k * lda + i : i * lda + k]));
  };
  auto loadB = [&](int n, int k) {
    int j = col + n;
    if (j >= P::n || k >= P::k)
      return Acc(0);
    return Acc(load(b[P::transposeB ? j * ldb + k : k * ldb + j]));
  };
  auto emit = [&](int m, int n, Acc sum) {
    int i = row + m, j = col + n;
    if (i < P::m && j < P::n)
      finishElement<typename P::Epilogue>(sum, bias ? bias + j : nullptr,
                                          r ? r + i * ldd + j : nullptr,
                                          d + i * ldd + j);
  };
  multiplyTile<Acc, P::tileM, P::tileN, !P::transposeA, P::transposeB>(
      int(P::k), loadA, loadB, emit);
}

/// Computes the tile of D at (row, col) on the tensor cores. If P normalizes,
/// `rows` has the mean and inverse deviation of the tile's rows, and `column`
/// an element per column.
template <class P>
__device__ inline void
gemmTileMma(const typename P::A *a, const typename P::B *b,
            const typename P::Bias *bias, const typename P::D *r,
            typename P::D *d, int row, int col, const RowNorm *rows = nullptr,
            const float *column = nullptr) {
  using Offset = GemmOffset<P>;
  constexpr Offset lda = P::lda, ldb = P::ldb, ldd = P::ldd;
  // For a piece entirely outside, use the address of the matrix: a copy of no
  // bytes still needs a readable address.
  constexpr int64_t limitM = tiled(P::m, P::tileM);
  constexpr int64_t limitN = tiled(P::n, P::tileN);
  constexpr int64_t limitK = tiled(P::k, kMmaDepth);
  auto copyA = [&](void *to, int m, int k) {
    int i = row + m;
    bool inside =
        P::transposeA ? limitK <= P::k || k < P::k : limitM <= P::m || i < P::m;
    int bytes = !inside         ? 0
                : P::transposeA ? pieceBytes<P::m, limitM>(i)
                                : pieceBytes<P::k, limitK>(k);
    Offset at = P::transposeA ? k * lda + i : i * lda + k;
    copyAsync(to, a + (bytes ? at : 0), bytes);
  };
  auto copyB = [&](void *to, int n, int k) {
    int j = col + n;
    bool inside =
        P::transposeB ? limitN <= P::n || j < P::n : limitK <= P::k || k < P::k;
    int bytes = !inside         ? 0
                : P::transposeB ? pieceBytes<P::k, limitK>(k)
                                : pieceBytes<P::n, limitN>(j);
    Offset at = P::transposeB ? j * ldb + k : k * ldb + j;
    copyAsync(to, b + (bytes ? at : 0), bytes);
  };
  auto emit = [&](int m, int n, float (&pair)[2]) {
    int i = row + m, j = col + n;
    Offset at = i * ldd + j;
    if (i >= P::m || j >= P::n)
      return;
    const auto *biasAt = bias ? bias + j : nullptr;
    const auto *residualAt = r ? r + at : nullptr;
    if constexpr (kGates<P>) {
      constexpr float none = kNothing<float>;
      for (int c = 0; c < 2; ++c) {
        float offset = bias ? load(biasAt[c]) : none;
        if constexpr (kNormalizes<P>)
          pair[c] =
              NormOf<P>::apply(pair[c], offset, none, column[j + c], rows[m]);
        else
          pair[c] += offset;
      }
      store(d[i * (ldd / 2) + gatedColumn(j)], gate<P>(pair[0], pair[1]));
    } else if constexpr (kIsPair<P>) {
      // One instance computes both products, in the same shared memory.
      static_assert(kGemmStoresPairs<P>);
      if (r)
        finishPair<typename P::Epilogue>(pair, biasAt, residualAt, d + at);
      else
        finishPair<Identity>(pair, biasAt, residualAt, d + at);
    } else if constexpr (kNormalizes<P>) {
      constexpr float none = kNothing<float>;
      for (int c = 0; c < 2 && j + c < P::n; ++c)
        store(d[at + c],
              typename P::Epilogue()(NormOf<P>::apply(
                  pair[c], bias ? load(biasAt[c]) : none,
                  r ? load(residualAt[c]) : none, column[j + c], rows[m])));
    } else if constexpr (kGemmStoresPairs<P>) {
      finishPair<typename P::Epilogue>(pair, biasAt, residualAt, d + at);
    } else {
      finishElement<typename P::Epilogue>(pair[0], biasAt, residualAt, d + at);
      if (j + 1 < P::n)
        finishElement<typename P::Epilogue>(
            pair[1], bias ? biasAt + 1 : nullptr, r ? residualAt + 1 : nullptr,
            d + at + 1);
    }
  };
  multiplyTileMma<typename P::A, P::tileM, P::tileN, !P::transposeA,
                  P::transposeB, kThreadsOf<P>>(int(P::k), copyA, copyB, emit);
}

/// Computes the tile of matrix `i` of D at (row, col).
template <class P>
__device__ inline void
gemmTileOf(const typename P::A *a, const typename P::B *b,
           const typename P::Bias *bias, const typename P::D *r,
           typename P::D *d, int64_t i, int row, int col) {
  const auto *residual = r ? r + i * P::strideD : nullptr;
  if constexpr (kGemmUsesMma<P>)
    gemmTileMma<P>(a + i * P::strideA, b + i * P::strideB, bias, residual,
                   d + i * P::strideD, row, col);
  else
    gemmTile<P>(a + i * P::strideA, b + i * P::strideB, bias, residual,
                d + i * P::strideD, row, col);
}

/// Computes the whole product; pass null for an absent bias or residual.
template <class P>
__device__ inline void gemm(const typename P::A *a, const typename P::B *b,
                            const typename P::Bias *bias,
                            const typename P::D *r, typename P::D *d) {
  for (int64_t i = blockIdx.z; i < P::batch; i += gridDim.z)
    for (int row = blockIdx.y * P::tileM; row < P::m;
         row += gridDim.y * P::tileM)
      for (int col = blockIdx.x * P::tileN; col < P::n;
           col += gridDim.x * P::tileN)
        gemmTileOf<P>(a, b, bias, r, d, i, row, col);
}

/// Fills `rows` with the norms of a tile's rows of D, from `row` on.
template <class P>
__device__ inline void mergeTile(RowNorm *rows, const float *moments, int row) {
  // Other threads may still use the previous tile's norms.
  __syncthreads();
  for (int i = threadIdx.x / 4; i < P::tileM; i += P::threads / 4)
    rows[i] = normOfRow<P>(momentsOf<P>(moments, row + i));
}

/// The problem without its epilogue.
template <class P> struct Unended : P {
  using Epilogue = Identity;
};

/// Computes the tiles of D and of what is stored beside it at (row, col) from
/// the sums that the block has stored there.
template <class P>
__device__ inline void endTile(typename P::D *second, typename P::D *d,
                               int64_t matrix, int row, int col) {
  __syncthreads();
  for (int i = threadIdx.x; i < P::tileM * P::tileN; i += P::threads) {
    const int64_t line = row + i / P::tileN, at = col + i % P::tileN;
    if (line >= P::m || at >= P::n)
      continue;
    const int64_t place = matrix * P::strideD + line * P::ldd + at;
    float other;
    store(d[place], SecondOf<P>::template apply<typename P::Epilogue>(
                        load(second[place]), other));
    store(second[place], other);
  }
}

/// Fallback of wgmma_gemm.cuh's kernels for architectures without WGMMA.
template <class P>
__device__ inline void gemmFloor(const typename P::A *a, const typename P::B *b,
                                 const typename P::Bias *bias,
                                 const typename P::D *r, typename P::D *d,
                                 EndOperands end = {}) {
  using Q = FloorTiles<P>;
  constexpr int64_t rows = tiled(P::m, Q::tileM) / Q::tileM;
  constexpr int64_t cols = tiled(P::n, Q::tileN) / Q::tileN;
  pdlWait();
  static_assert(kGemmUsesMma<Q>);
  if (threadIdx.x >= Q::threads)
    return;
  for (int64_t i = blockIdx.x; i < rows * cols * P::batch; i += gridDim.x) {
    const int64_t matrix = i / (rows * cols);
    const int row = int(i / cols % rows) * Q::tileM;
    const int col = int(i % cols) * Q::tileN;
    if constexpr (kNormalizes<P>) {
      __shared__ RowNorm norms[Q::tileM];
      mergeTile<Q>(norms, end.moments, row);
      gemmTileMma<Q>(a, b, bias, r, d, row, col, norms, end.column);
    } else if constexpr (kStoresSecond<P>) {
      auto *second = static_cast<typename P::D *>(end.second);
      gemmTileOf<FloorTiles<Unended<P>>>(a, b, bias, r, second, matrix, row,
                                         col);
      endTile<Q>(second, d, matrix, row, col);
    } else {
      const auto *residual = ReduceOf<P>::kReadsFactor ? nullptr : r;
      gemmTileOf<Q>(a, b, bias, residual, d, matrix, row, col);
    }
    ReduceOf<P>::template reduceTile<Q>(end.reduced, d, r, row, col);
  }
}

/// Likewise of products with two matrices B; `bias` and `r` are null. Each
/// thread reads again what it has stored.
template <class P>
__device__ inline void
gemmPairFloor(const typename P::A *a, const typename P::B *b,
              const typename P::B *paired, const typename P::Bias *bias,
              const typename P::D *r, typename P::D *d) {
  using Q = FloorTiles<P>;
  constexpr int64_t rows = tiled(P::m, Q::tileM) / Q::tileM;
  constexpr int64_t cols = tiled(P::n, Q::tileN) / Q::tileN;
  pdlWait();
  static_assert(kGemmUsesMma<Q>);
  if (threadIdx.x >= Q::threads)
    return;
  for (int64_t i = blockIdx.x; i < rows * cols; i += gridDim.x) {
    const int row = int(i / cols) * Q::tileM, col = int(i % cols) * Q::tileN;
    gemmTileMma<Q>(a, paired, bias, r, d, row, col);
    gemmTileMma<Q>(a, b, bias, d, d, row, col);
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_GEMM_CUH
