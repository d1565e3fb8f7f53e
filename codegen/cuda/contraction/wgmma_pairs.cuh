//===- wgmma_pairs.cuh - Ends of two neighbours of a WGMMA product --------===//
//
// What becomes of two sums of a row, for wgmma_epilogue.cuh: elements of D, and
// what is stored beside them; and how they reach memory without TMA.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_PAIRS_CUH
#define FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_PAIRS_CUH

#include "frit/fragment.cuh"
#include "frit/gate.cuh"
#include "frit/norm.cuh"
#include "frit/reductions.cuh"
#include "frit/store.cuh"
#include "frit/wgmma_columns.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

template <class P> struct WgmmaPairs {
  using D = typename P::D;
  using Reduce = ReduceOf<P>;

  /// Returns two neighbours of D.
  __device__ static uint32_t gateTwo(const float (&values)[2],
                                     const float (&gates)[2]) {
    if constexpr (kEndsHalves<typename P::Gate, D>)
      return gateHalves<P>(values, gates);
    else
      return packPair<D>(gate<P>(values[0], gates[0]),
                         gate<P>(values[1], gates[1]));
  }

  /// Computes two neighbours of D, and what is stored beside them.
  __device__ static void endBoth(Two<D> &two, Two<D> &beside,
                                 const PairOf<float> &sums,
                                 const float (&offsets)[2]) {
    float pair[2], second[2];
#pragma unroll
    for (int c = 0; c < 2; ++c)
      pair[c] = SecondOf<P>::template apply<typename P::Epilogue>(
          sums[c] + offsets[c], second[c]);
    two.close(pair);
    beside.close(second);
  }

  /// Computes two neighbours of D.
  __device__ static void endTwo(Two<D> &two, const PairOf<float> &sums,
                                const float (&offsets)[2],
                                const float (&residual)[2],
                                const float (&column)[2], const RowNorm &norm,
                                typename Reduce::Row &reduced, bool first) {
    using Epilogue = typename P::Epilogue;
    constexpr bool kEnds = kEndsHalves<Epilogue, D> && !Reduce::kReadsSums;
    float pair[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      if constexpr (kNormalizes<P>)
        pair[c] =
            NormOf<P>::apply(sums[c], offsets[c], residual[c], column[c], norm);
      else if constexpr (kEnds)
        pair[c] = sums[c] + offsets[c] + residual[c];
      else
        pair[c] = finish<Epilogue>(sums[c], offsets[c], residual[c]);
      if constexpr (kNormalizes<P> && !kEnds)
        pair[c] = Epilogue()(pair[c]);
      reduced.addSum(pair[c], first && c == 0);
    }
    if constexpr (kEnds)
      two.both = Epilogue::halves(pair[0], pair[1]);
    else
      two.close(pair);
  }

  /// Reads the residual of row and column `row` and `col` of the unit whose
  /// corner is `at`, without TMA.
  __device__ static void readResidual(float (&pair)[2], const D *r,
                                      const WgmmaTile &at, int row, int col) {
    if (at.m + row >= P::m)
      return;
    const D *from = r + at.batch * P::strideD + (at.m + row) * P::ldd + at.n;
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (at.n + col + i < P::n)
        pair[i] = load(from[col + i]);
  }

  /// Stores a box without TMA; neighbouring lanes write neighbouring elements.
  __device__ static void storeElements(const WgmmaBox &box, const WgmmaTile &to,
                                       D *d) {
    constexpr int size = sizeof(D);
    const int lane = threadIdx.x % 32;
    D *first = d + to.batch * P::strideD + to.m * P::ldd + to.n;
#pragma unroll 4
    for (int row = 0; row < 16; ++row)
      if (to.m + row < P::m)
#pragma unroll
        for (int col = lane; col < WgmmaPlan<P>::kBoxN; col += 32)
          if (to.n + col < P::n)
            first[row * P::ldd + col] = *reinterpret_cast<const D *>(
                box.pieceOf(row, col * size / 16) + col * size % 16);
  }
};

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_PAIRS_CUH
