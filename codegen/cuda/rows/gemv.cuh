//===- gemv.cuh - Products of a few rows ----------------------------------===//
//
// D = epilogue(A·B + bias + R) as in gemm.cuh, for a few rows of A and one
// matrix B. Each element of B is read once, by 16-byte loads straight into
// registers: the time is that of B's bytes. A block computes P::columns columns
// of D, and its threads divide k among them in a fixed way. P is gemm.cuh's and
//
//   static constexpr int columns;  // of a block
//   static constexpr int split;    // if B is transposed: warps that share k
//   static constexpr int threads;  // of a block
//   static constexpr bool early;   // no kernel before this one writes B
//
// The grid is ceil(n / columns), or less if P has a member `inTurns`, B is
// transposed and split is 1: then each block computes columns several times.
// Rows of B begin at multiples of 16 bytes, and those of A do if B is
// transposed. There are up to 8 rows.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_GEMV_CUH
#define FRIT_CODEGEN_CUDA_ROWS_GEMV_CUH

#include "frit/copy.cuh"
#include "frit/tile.cuh"

namespace frit {

/// Elements of B per load.
template <class P>
inline constexpr int kGemvWidth = 16 / int(sizeof(typename P::B));

/// Adds `count` values, a power of two up to 32, over the lanes of a warp. The
/// lane l = i · 32 / count returns the sum of value i.
template <int count, class Acc>
__device__ inline Acc sumLanes(Acc (&values)[count]) {
  int offset = 16;
#pragma unroll
  for (int half = count / 2; half >= 1; half /= 2, offset /= 2) {
    bool upper = threadIdx.x & offset;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      Acc given = upper ? values[i] : values[i + half];
      Acc kept = upper ? values[i + half] : values[i];
      values[i] = kept + __shfl_xor_sync(0xffffffff, given, offset);
    }
  }
  for (; offset >= 1; offset /= 2)
    values[0] += __shfl_xor_sync(0xffffffff, values[0], offset);
  return values[0];
}

/// Returns the smallest power of two that is at least `x`.
__device__ constexpr int powerFrom(int64_t x) {
  int power = 1;
  while (power < x)
    power *= 2;
  return power;
}

/// Stores element (row, col) of D.
template <class P, class Acc>
__device__ inline void finishGemv(Acc sum, const typename P::Bias *bias,
                                  const typename P::D *r, typename P::D *d,
                                  int64_t row, int64_t col) {
  int64_t at = row * P::ldd + col;
  finishElement<typename P::Epilogue>(sum, bias ? bias + col : nullptr,
                                      r ? r + at : nullptr, d + at);
}

/// Computes the product with rows of B along k. A warp has `columns` · `split`
/// / warps columns; its lanes read neighbouring pieces of each.
template <class P>
__device__ inline void
gemvTransposed(const typename P::A *a, const typename P::B *b,
               const typename P::Bias *bias, const typename P::D *r,
               typename P::D *d) {
  using Acc = SumOf<typename P::A>;
  using Piece = Pack<typename P::B, kGemvWidth<P>>;
  constexpr int width = kGemvWidth<P>, step = 32 * width;
  constexpr int warps = P::threads / 32, groups = warps / P::split;
  constexpr int mine = P::columns / groups; // columns of a warp
  constexpr int rows = powerFrom(P::m), sums = rows * mine;
  static_assert(warps % P::split == 0 && P::columns % groups == 0 &&
                sums <= 32 && (sums & (sums - 1)) == 0);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int part = warp % P::split, group = warp / P::split;
  int64_t first = int64_t(blockIdx.x) * P::columns + group * mine;
  constexpr bool inTurns = requires { P::inTurns; };
  static_assert(!inTurns || P::split == 1);

  Piece pieces[mine];
  auto isInside = [&](int64_t k) { return P::k % step == 0 || k < P::k; };
  auto fetch = [&](int64_t from, int64_t k) {
    if (!isInside(k))
      return;
#pragma unroll
    for (int c = 0; c < mine; ++c) {
      bool isInside = (inTurns && P::n % mine == 0) || from + c < P::n;
      int64_t col = isInside ? from + c : P::n - 1;
      pieces[c] = loadOnce(b + col * P::ldb + k);
    }
  };
  int64_t k = part * step + lane * width;
  if constexpr (P::early) {
    if (k < P::k)
      fetch(first, k);
    pdlWait();
  } else {
    pdlWait();
    if (k < P::k)
      fetch(first, k);
  }
  auto compute = [&](int64_t after) {
    Acc acc[sums];
#pragma unroll
    for (int i = 0; i < sums; ++i)
      acc[i] = 0;
    // A whole warp goes round as often as its first lane.
    for (int64_t at = k; at - lane * width < P::k; at += P::split * step) {
      Piece now[mine];
#pragma unroll
      for (int c = 0; c < mine; ++c)
        now[c] = pieces[c];
      int64_t next = at + P::split * step;
      if (next < P::k)
        fetch(first, next);
      else if (inTurns && next - lane * width >= P::k && after < P::n)
        fetch(after, k);
      if (!isInside(at))
        continue;
#pragma unroll
      for (int m = 0; m < P::m; ++m) {
        Acc x[width];
        loadVector(x, a + m * P::lda + at);
#pragma unroll
        for (int c = 0; c < mine; ++c)
#pragma unroll
          for (int i = 0; i < width; ++i)
            acc[m * mine + c] += x[i] * Acc(load(now[c].at[i]));
      }
    }
    Acc sum = sumLanes(acc);
    constexpr int lanesEach = 32 / sums;
    const int index = lane / lanesEach;
    auto finish = [&](Acc total, int i, int64_t from) {
      int64_t col = from + i % mine;
      if (i / mine < P::m && col < P::n)
        finishGemv<P>(total, bias, r, d, i / mine, col);
    };
    if constexpr (P::split == 1) {
      if (lane % lanesEach == 0)
        finish(sum, index, first);
    } else {
      __shared__ Acc parts[warps][sums];
      if (lane % lanesEach == 0)
        parts[warp][index] = sum;
      __syncthreads();
      for (int i = threadIdx.x; i < groups * sums; i += P::threads) {
        Acc total = 0;
#pragma unroll
        for (int p = 0; p < P::split; ++p)
          total += parts[i / sums * P::split + p][i % sums];
        finish(total, i % sums,
               int64_t(blockIdx.x) * P::columns + i / sums * mine);
      }
    }
  };
  if constexpr (inTurns) {
    // The next columns' first piece is copied while these are added up.
    for (; first < P::n; first += int64_t(gridDim.x) * P::columns)
      compute(first + int64_t(gridDim.x) * P::columns);
  } else {
    compute(P::n);
  }
}

/// Computes the product with rows of B along n. Neighbouring threads read a row
/// of `columns` elements; the block reads several rows at a time.
template <class P>
__device__ inline void gemvPlain(const typename P::A *a, const typename P::B *b,
                                 const typename P::Bias *bias,
                                 const typename P::D *r, typename P::D *d) {
  using Acc = SumOf<typename P::A>;
  using Piece = Pack<typename P::B, kGemvWidth<P>>;
  constexpr int width = kGemvWidth<P>, lanes = P::columns / width;
  constexpr int rows = P::threads / lanes, warps = P::threads / 32;
  constexpr int ahead = 4; // rows that a thread reads at a time
  static_assert(P::columns % width == 0 && lanes <= 32 && 32 % lanes == 0);
  const int own = threadIdx.x % lanes * width;
  const int64_t first = int64_t(blockIdx.x) * P::columns;
  const int64_t col = first + own < P::n ? first + own : 0;
  Piece pieces[ahead];
  auto fetch = [&](int64_t k) {
#pragma unroll
    for (int i = 0; i < ahead; ++i)
      if (int64_t at = k + i * rows; at < P::k)
        pieces[i] = loadOnce(b + at * P::ldb + col);
  };
  int64_t k = threadIdx.x / lanes;
  if constexpr (P::early) {
    fetch(k);
    pdlWait();
  } else {
    pdlWait();
    fetch(k);
  }
  Acc acc[P::m][width];
#pragma unroll
  for (int m = 0; m < P::m; ++m)
#pragma unroll
    for (int i = 0; i < width; ++i)
      acc[m][i] = 0;
  for (; k < P::k; k += ahead * rows) {
    Piece now[ahead];
#pragma unroll
    for (int i = 0; i < ahead; ++i)
      now[i] = pieces[i];
    fetch(k + ahead * rows);
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      int64_t at = k + i * rows;
      if (at >= P::k)
        continue;
#pragma unroll
      for (int m = 0; m < P::m; ++m) {
        Acc x = Acc(load(a[m * P::lda + at]));
#pragma unroll
        for (int j = 0; j < width; ++j)
          acc[m][j] += x * Acc(load(now[i].at[j]));
      }
    }
  }
  __shared__ Acc parts[warps][P::columns];
#pragma unroll
  for (int m = 0; m < P::m; ++m) {
#pragma unroll
    for (int j = 0; j < width; ++j)
      for (int offset = 16; offset >= lanes; offset /= 2)
        acc[m][j] += __shfl_xor_sync(0xffffffff, acc[m][j], offset);
    if (m > 0)
      __syncthreads();
    if (threadIdx.x % 32 < lanes)
#pragma unroll
      for (int j = 0; j < width; ++j)
        parts[threadIdx.x / 32][own + j] = acc[m][j];
    __syncthreads();
    for (int i = threadIdx.x; i < P::columns; i += P::threads) {
      Acc total = 0;
#pragma unroll
      for (int warp = 0; warp < warps; ++warp)
        total += parts[warp][i];
      if (first + i < P::n)
        finishGemv<P>(total, bias, r, d, m, first + i);
    }
  }
}

template <class P>
__device__ inline void gemv(const typename P::A *a, const typename P::B *b,
                            const typename P::Bias *bias,
                            const typename P::D *r, typename P::D *d) {
  if constexpr (P::transposeB)
    gemvTransposed<P>(a, b, bias, r, d);
  else
    gemvPlain<P>(a, b, bias, r, d);
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_GEMV_CUH
