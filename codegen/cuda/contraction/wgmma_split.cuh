//===- wgmma_split.cuh - Split-K over the blocks of a cluster -------------===//
//
// Each block of a cluster multiplies a part of K. Blocks send each other the
// partial sums that the receiver finishes, through distributed shared memory.
// With P::cluster, each part has as many blocks, of different rows.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_SPLIT_CUH
#define FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_SPLIT_CUH

#include "frit/wgmma_plan.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// Return the bits of a sum as those of a float.
__device__ inline float bitsAsFloat(float sum) { return sum; }
__device__ inline float bitsAsFloat(int sum) {
  return __builtin_bit_cast(float, sum);
}

/// A warp's part in the split-K reduction over a cluster. The order of
/// additions depends only on positions, so results are deterministic.
template <class P> struct WgmmaShares {
  using Plan = WgmmaPlan<P>;
  using Sum = typename WgmmaElements<P>::Sum;
  static constexpr int kGroups = Plan::kUnitN / 8;

  unsigned char *received;
  Barrier *arrived;
  /// The block's part of k, and its rows of the cluster's.
  int rank, rows;

  __device__ static int unitOf(int part) {
    return int(threadIdx.x) / 32 * Plan::kParts + part;
  }
  __device__ static int slotOf(int part) { return unitOf(part) % Plan::kOwned; }
  __device__ bool isMine(int part) const {
    return unitOf(part) / Plan::kOwned == rank;
  }
  /// Returns which of the warp's units this block finishes, or kParts if none.
  __device__ int mine() const {
    int part = 0;
    while (part < Plan::kParts && !isMine(part))
      ++part;
    return part;
  }

  __device__ void expect(int part) const {
    if (threadIdx.x % 32 == 0)
      arrived[slotOf(part)].arriveExpecting((P::split - 1) * Plan::kUnitBytes);
    __syncwarp();
  }

  /// Returns the address, for this lane, of the partial sums of a unit from the
  /// block `steps` ranks after its owner.
  __device__ unsigned char *placeOf(int part, int steps) const {
    return received +
           ((steps - 1) * Plan::kOwned + slotOf(part)) * Plan::kUnitBytes +
           threadIdx.x % 32 * 16;
  }

  __device__ void send(const Sum (&sums)[P::tileN / 2], int part) const {
    int owner = unitOf(part) / Plan::kOwned;
    int steps = (rank - owner + P::split) % P::split;
    const int block = owner * P::cluster + rows;
    uint32_t to = addressInBlock(placeOf(part, steps), block);
    uint32_t barrier = addressInBlock(&arrived[slotOf(part)], block);
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const Sum *from = sums + (part * kGroups + i) * 4;
      sendToBlock(to + i * 512, barrier, bitsAsFloat(from[0]),
                  bitsAsFloat(from[1]), bitsAsFloat(from[2]),
                  bitsAsFloat(from[3]));
    }
  }

  __device__ void receive(Sum (&sums)[P::tileN / 2], int part) const {
    arrived[slotOf(part)].wait(0);
#pragma unroll
    for (int steps = 1; steps < P::split; ++steps)
#pragma unroll
      for (int i = 0; i < kGroups; ++i) {
        Sum more[4];
        loadVector(more, reinterpret_cast<const Sum *>(placeOf(part, steps) +
                                                       i * 512));
#pragma unroll
        for (int j = 0; j < 4; ++j)
          sums[(part * kGroups + i) * 4 + j] += more[j];
      }
  }
};

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_SPLIT_CUH
