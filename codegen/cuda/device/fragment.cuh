//===- fragment.cuh - A warp's part of a tile of sums ---------------------===//
//
// Where main loops and ends of products meet. A main loop leaves a warp's sums
// as a fragment: blocks of 16 rows by groups of 8 columns. Of each, lane l has
// rows l / 4 and l / 4 + 8, columns l % 4 * 2 and the next one. mma.sync and
// WGMMA keep their sums in registers like that (PTX ISA, "Matrix Fragments for
// mma.m16n8k16" and "Register Fragments for wgmma"), and tcgen05.ld reads them
// so from tensor memory by its shape 16x256b. An end reads a fragment by pairs
// of neighbours, and does not see where they are kept. How many rows lie
// between blocks is the main loop's: 16, or 64 by a warpgroup.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_DEVICE_FRAGMENT_CUH
#define FRIT_CODEGEN_CUDA_DEVICE_FRAGMENT_CUH

#include "frit/base.cuh"

namespace frit {

/// Two neighbours of a row.
template <class T> struct PairOf {
  T at[2];
  __device__ const T &operator[](int i) const { return at[i]; }
};

/// A fragment has the type of its sums, its blocks and groups, and `pair(block,
/// group, half)`: the lane's neighbours in row `half` * 8 + l / 4 of a block.
template <class F>
concept Fragment = requires(const F &sums, int i) {
  typename F::Sum;
  requires F::kBlocks > 0 && F::kGroups > 0;
  requires kSame<decltype(sums.pair(i, i, i)), PairOf<typename F::Sum>>;
};

/// A fragment in registers; its blocks are operands of mma.sync and WGMMA.
template <class T, int Blocks, int Groups> struct RegisterFragment {
  using Sum = T;
  static constexpr int kBlocks = Blocks, kGroups = Groups;
  T blocks[Blocks][Groups * 4];

  __device__ PairOf<T> pair(int block, int group, int half) const {
    const T *from = &blocks[block][group * 4 + half * 2];
    return {{from[0], from[1]}};
  }
  /// The sums of one group, as mma.sync adds to them.
  __device__ T (&ofGroup(int block, int group))[4] {
    return reinterpret_cast<T(&)[4]>(blocks[block][group * 4]);
  }
};

/// Calls `emit(row, column, pair)` for all of a lane's pairs. The warp's sums
/// begin at (row, column), and its blocks are 16 rows apart.
template <Fragment F, class Emit>
__device__ inline void emitPairs(const F &sums, int row, int column,
                                 const Emit &emit) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < F::kBlocks; ++i)
#pragma unroll
    for (int j = 0; j < F::kGroups; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        PairOf<typename F::Sum> pair = sums.pair(i, j, half);
        emit(row + i * 16 + half * 8 + lane / 4, column + j * 8 + lane % 4 * 2,
             pair.at);
      }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_DEVICE_FRAGMENT_CUH
