//===- attention_copies.cuh - Copies of rows to shared memory -------------===//
//
// How a block of attention.cuh fetches tiles of queries, keys and values, and
// asks for later ones.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_COPIES_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_COPIES_CUH

#include "frit/attention_products.cuh"

namespace frit {

/// Of the rows of a tile in shared memory: all are before the limit; some are
/// not, but in memory; or some are not in memory.
enum class Inside { all, readable, some };
template <Inside Rows> struct KnownInside {
  static constexpr Inside value = Rows;
};

/// Leaves out no row.
struct NoRows {
  __device__ constexpr bool operator()(int) const { return false; }
};

/// Starts copying rows [first, first + Rows) of `Width` elements. Rows from
/// `limit` on, and columns past the width, become zeros. Rows for which
/// `leavesOut` is true are not copied.
template <int Threads, int Width, int64_t Pitch, Inside Places, class T,
          int Rows, int Size, class LeavesOut = NoRows>
__device__ inline void fetchRows(RowTile<T, Rows, Size> &to, const T *from,
                                 int first, int limit,
                                 const LeavesOut &leavesOut = {}) {
  constexpr int pieces = (Width + kStep<T> - 1) / kStep<T> * 2;
  if constexpr (Width % kStep<T> == 0 && Threads % pieces == 0 &&
                Rows * pieces % Threads == 0) {
    // A thread's pieces are at constant distances.
    using Tile = RowTile<T, Rows, Size>;
    constexpr int step = Threads / pieces;
    const int row = threadIdx.x / pieces;
    const int col = threadIdx.x % pieces * kPiece<T>;
    const T *source = from + int64_t(first + row) * Pitch + col;
    auto *target = to.at(row, col);
#pragma unroll
    for (int i = 0; i < Rows; i += step) {
      const int at = first + row + i;
      const bool inside = Places == Inside::all || at < limit;
      // A copy of no bytes still needs a readable address.
      copyAsyncIf(!leavesOut(at), target + i * Tile::kPitch,
                  inside || Places == Inside::readable ? source + i * Pitch
                                                       : from,
                  inside ? 16 : 0);
    }
    return;
  }
  using Offset = OffsetIn<Pitch * 65536>;
  constexpr int count = Rows * pieces;
  from += int64_t(first) * Pitch;
#pragma unroll
  for (int i = 0; i < (count + Threads - 1) / Threads; ++i) {
    int piece = i * Threads + threadIdx.x;
    if (count % Threads != 0 && piece >= count)
      break;
    int row = piece / pieces, col = piece % pieces * kPiece<T>;
    if (leavesOut(first + row) && (Width % kStep<T> == 0 || col < Width))
      continue;
    bool inside = (Places == Inside::all || first + row < limit) &&
                  (Width % kStep<T> == 0 || col < Width);
    // A copy of no bytes still needs a readable address.
    copyAsync(to.at(row, col),
              inside ? from + Offset(row) * Offset(Pitch) + col
                     : from - int64_t(first) * Pitch,
              inside ? 16 : 0);
  }
}

/// Prefetches rows [first, last) of `Width` elements into L2.
template <int Threads, int Width, int64_t Pitch, class T>
__device__ inline void prefetchRows(const T *from, int first, int last) {
#ifndef FRIT_EMULATE
  constexpr int line = 128 / int(sizeof(T));
  constexpr int lines = (Width + line - 1) / line;
  for (int i = threadIdx.x; i < (last - first) * lines; i += Threads)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(
        from + int64_t(first + i / lines) * Pitch + i % lines * line));
#endif
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_COPIES_CUH
