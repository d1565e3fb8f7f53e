//===- shared_rows.cuh - Rows of A that blocks copy for each other --------===//
//
// The rows of ScaledRows that are copied as they are, for the blocks of a
// cluster at once, so that L2 is read once for all of them. Each block copies
// the parts of some of the warps that share k to the shared memory of all. A
// warp waits for its own part alone. P may have
//
//   static constexpr int sharing; // blocks of a cluster, of sm_90a
//
// A then has as many rows as a block, the warps' shares of k are equal and
// consist of whole slabs, and the number of blocks is a multiple of `sharing`.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_SHARED_ROWS_CUH
#define FRIT_CODEGEN_CUDA_ROWS_SHARED_ROWS_CUH

#include "frit/scaled_rows.cuh"
#include "frit/tma.cuh"

namespace frit {

/// Blocks of a cluster that copy rows of A for each other.
template <class P> __device__ constexpr int countSharing() {
  if constexpr (requires { P::sharing; })
    return P::sharing;
  return 1;
}
template <class P> inline constexpr int kSharing = countSharing<P>();

/// Blocks have the rows to themselves.
template <class P, bool isShared = (kSharing<P> > 1)> struct SharedRows {
  static constexpr bool isUsed = false;
  static constexpr int bytes = 0;
  const ScaledRows<P> &rows;
  char *shared;
  __device__ void open() const {}
};

template <class P> struct SharedRows<P, true> {
  using Rows = ScaledRows<P>;
  using Shares = CodeShares<P>;
  static constexpr bool isUsed = true;
  /// Runs of elements of a part, one for each row and slab.
  static constexpr int runs = Rows::rows * Shares::slabs;
  static constexpr int runBytes = Shares::width * 2;
  /// Of the barriers, one for each part.
  static constexpr int bytes = P::split * 8;
  static_assert(Rows::copies && Rows::allHaveElements && Rows::rows == P::m);

  const Rows &rows;
  char *shared; ///< of `bytes` bytes

#if FRIT_EMULATE >= 90 || __CUDA_ARCH__ >= 900
  __device__ Barrier &barrierOf(int part) const {
    return reinterpret_cast<Barrier *>(shared)[part];
  }

  /// Lets the other blocks copy into this one. All threads call it.
  __device__ void open() const {
    if (threadIdx.x == 0) {
#pragma unroll 1
      for (int part = 0; part < P::split; ++part) {
        barrierOf(part).init(1);
        barrierOf(part).arriveExpecting(runs * runBytes);
      }
      fenceBarrierInit();
    }
    // The fence is all that the others need. A release would wait for memory,
    // and codes with it.
    arriveClusterRelaxed();
  }

  /// Starts the copies of this block once all are open. All threads call it,
  /// those of a warp with its part and its group of tiles.
  __device__ void copy(const typename P::A *a, int part, int group) const {
    waitCluster();
    if (group != 0 || part % kSharing<P> != int(clusterRank()))
      return;
#pragma unroll
    for (int first = 0; first < runs; first += 32) {
      const int run = first + int(threadIdx.x) % 32;
      if (runs % 32 != 0 && run >= runs)
        break;
      const int row = run % Rows::rows, slab = run / Rows::rows;
      const int64_t k = (part * Shares::slabs + slab) * Shares::width;
      copyInto((1 << kSharing<P>)-1,
               rows.columns + slab * Rows::slabBytes + part * Rows::partBytes +
                   row * Rows::columnBytes,
               a + row * P::lda + k, runBytes, barrierOf(part));
    }
  }

  __device__ void wait(int part) const { barrierOf(part).wait(0); }
#else
  __device__ void open() const {}
  __device__ void copy(const typename P::A *, int, int) const {}
  __device__ void wait(int) const {}
#endif
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_SHARED_ROWS_CUH
