//===- wgmma_columns.cuh - Columns and boxes of an epilogue ---------------===//
//
// A warp's share of vectors with one element per column, and of boxes in shared
// memory, in the layout of WGMMA accumulators: of every 8 columns, lane l has
// columns 2 (l % 4) and 2 (l % 4) + 1 of rows l / 4 and l / 4 + 8.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_COLUMNS_CUH
#define FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_COLUMNS_CUH

#include "frit/mma.cuh"
#include "frit/wgmma_plan.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

//===----------------------------------------------------------------------===//
// Bias and scales
//===----------------------------------------------------------------------===//

/// A tile's part of a vector with an element per column, distributed over a
/// warp: of every 64 columns, lane l has columns 2 l and 2 l + 1. It is loaded
/// before the products and first used after them.
template <class P, class T> struct WgmmaColumns {
  static constexpr bool kPairs = P::n % 2 == 0;
  static constexpr bool kPacked = kPairs && sizeof(T) == 2;
  static constexpr int kWords = kPacked ? 1 : 2;

  static constexpr int kBlocks = WgmmaPlan<P>::kUnitN / 64;

  uint32_t words[kBlocks][kWords];

  __device__ static uint32_t raw(T value) {
    if constexpr (sizeof(T) == 2)
      return value.bits;
    else
      return floatToBits(value);
  }
  __device__ static float value(uint32_t word) {
    if constexpr (sizeof(T) == 2)
      return load(T{uint16_t(word)});
    else
      return bitsToFloat(word);
  }

  __device__ void read(const T *vector, int first) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      int n = first + i * 64 + threadIdx.x % 32 * 2;
      if constexpr (kPacked) {
        words[i][0] = 0;
        if (n < P::n)
          words[i][0] = *reinterpret_cast<const uint32_t *>(vector + n);
      } else {
        words[i][0] = words[i][1] = 0;
        if (n < P::n)
          words[i][0] = raw(vector[n]);
        if (n + 1 < P::n)
          words[i][1] = raw(vector[n + 1]);
      }
    }
  }

  /// Fetches the thread's two columns of the 8 from 8 `group` on, by shuffles.
  __device__ void give(float (&pair)[2], int group) const {
    int lane = group % 8 * 4 + threadIdx.x % 4;
    uint32_t got[kWords];
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      got[i] = __shfl_sync(0xffffffff, words[group / 8][i], lane);
    pair[0] = value(got[0]);
    pair[1] = value(kPacked ? got[0] >> 16 : got[kWords - 1]);
  }
};

//===----------------------------------------------------------------------===//
// Two neighbours of a row
//===----------------------------------------------------------------------===//

/// Two elements in storage form.
template <class T> struct Two {
  uint32_t both;
  __device__ void open(float (&pair)[2]) const {
    pair[0] = load(T{uint16_t(both)});
    pair[1] = load(T{uint16_t(both >> 16)});
  }
  __device__ void close(const float (&pair)[2]) {
    both = packPair<T>(pair[0], pair[1]);
  }
};
template <> struct Two<float> {
  Pack<float, 2> both;
  __device__ void open(float (&pair)[2]) const {
    pair[0] = both.at[0];
    pair[1] = both.at[1];
  }
  __device__ void close(const float (&pair)[2]) { both = {pair[0], pair[1]}; }
};

/// A thread's elements of 16 rows by two groups of 8 columns: rows `lane / 4`
/// and `lane / 4 + 8`.
template <class T> using TwoGroups = Two<T>[2][2];

/// A box of 16 rows of 128 bytes in shared memory, with the 128-byte swizzle:
/// 16-byte pieces are permuted by the row number.
struct WgmmaBox {
  unsigned char *at;

  __device__ unsigned char *pieceOf(int row, int piece) const {
    return swizzledPiece(at, row, piece);
  }
  template <class T> __device__ Two<T> *placeOf(int group, int h) const {
    const int lane = threadIdx.x % 32;
    const int byte = (group * 8 + lane % 4 * 2) * int(sizeof(T));
    return reinterpret_cast<Two<T> *>(pieceOf(h * 8 + lane / 4, byte / 16) +
                                      byte % 16);
  }

  /// Reads groups `group` and `group + 1`.
  template <class T> __device__ void read(TwoGroups<T> &to, int group) const {
    if constexpr (sizeof(T) == 2) {
      const int lane = threadIdx.x % 32;
      uint32_t four[4];
      loadMatrices<false>(four, pieceOf(lane % 16, group + lane / 16));
#pragma unroll
      for (int i = 0; i < 4; ++i)
        to[i / 2][i % 2].both = four[i];
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        to[i / 2][i % 2] = *placeOf<T>(group + i / 2, i % 2);
    }
  }
  template <class T>
  __device__ void write(const TwoGroups<T> &from, int group) const {
    if constexpr (sizeof(T) == 2) {
      const int lane = threadIdx.x % 32;
      uint32_t four[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        four[i] = from[i / 2][i % 2].both;
      storeMatrices(pieceOf(lane % 16, group + lane / 16), four);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        *placeOf<T>(group + i / 2, i % 2) = from[i / 2][i % 2];
    }
  }
};

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_COLUMNS_CUH
