//===- wgmma_attention_tile.cuh - Tiles of wgmma_attention.cuh ------------===//
//
// Launch configuration of wgmma_attention.cuh, its shared memory layout, and
// the assignment of tiles to blocks.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_TILE_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_TILE_CUH

#include "frit/attention.cuh"
#include "frit/pipeline.cuh"
#include "frit/wgmma.cuh"
#include "frit/wgmma_layout.cuh"

namespace frit {

/// Launch configuration and register budget.
template <class P> struct WgmmaAttentionShape {
  static constexpr WgmmaAttentionLayout kLayout = {
      P::size,   P::valueSize, P::tileM, P::tileN,
      P::splits, P::stages,    P::blocks};
  static constexpr int kSize = kLayout.rounded(P::size);
  static constexpr int kValueSize = kLayout.rounded(P::valueSize);
  /// Steps of k of the product with keys, and columns of that with values. The
  /// padding of `kSize` and `kValueSize` is not multiplied.
  static constexpr int kSizeSteps = (P::size + 15) / 16;
  static constexpr int kValueColumns = kLayout.columns(P::valueSize);
  /// Consumer warps; each stage is read by those of one split.
  static constexpr int kWarps = kLayout.warps();
  static constexpr int kReaders = kWarps / P::splits;
  static constexpr int kThreads = kLayout.threads();
  static constexpr int kTiles = (P::queries + P::tileM - 1) / P::tileM;
  static constexpr int64_t kBlocks = int64_t(P::batch) * P::heads * kTiles;

  static constexpr int kQBytes = kLayout.queryBytes();
  static constexpr int kKBytes = kLayout.keyBytes();
  static constexpr int kVBytes = kLayout.valueBytes();
  static constexpr int kOBytes = kLayout.resultBytes();
  static constexpr int kBarrierBytes = kLayout.barrierBytes;
  static constexpr int kJoined = kLayout.joined();
  static constexpr int kQStages = kLayout.queryStages();
  static constexpr int kShared = kLayout.sharedBytes();

  /// Keys read from the last stage, rounded up to a WGMMA width: fewer than
  /// tileN if warpgroups read all keys.
  static constexpr int lastKeys() {
    const int left = P::keys % P::tileN, widths[] = {16, 32, 64, 80, 96};
    if (!P::causal && !kHasRanges<P> && P::splits == 1 && P::keys > P::tileN &&
        left)
      for (int keys : widths)
        if (left <= keys && keys < P::tileN)
          return keys;
    return P::tileN;
  }
  static constexpr int kLastKeys = lastKeys();

  /// Registers of a producer thread and of a consumer thread. Producers give up
  /// most of the equal share that all start with.
  static constexpr int kGroups = kThreads / 128;
  static constexpr int kFew = 24;
  static constexpr int kEqual = 65536 / (kThreads * P::blocks) / 8 * 8;
  static constexpr int kRoom =
      (kEqual * kGroups - kFew) / (kGroups - 1) / 8 * 8;
  static constexpr int kMany = kRoom > 240 ? 240 : kRoom;

  static_assert(P::tileM % 64 == 0 && P::tileN % 16 == 0);
  static_assert(kSize <= 192 && kValueSize <= 192 && P::causalOffset == 0);
  static_assert(P::stages >= 2 && P::stages <= 6);
  static_assert(P::splits == 1 || P::tileM == 64);
  // Each stage belongs to one warpgroup for a whole tile. Otherwise a warpgroup
  // could see a barrier two phases ahead, which its parity cannot tell from the
  // present one.
  static_assert(P::stages % P::splits == 0);
};

} // namespace frit

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// A block's shared memory. Of each pair of barriers, `full` completes a phase
/// when the bytes have arrived, `empty` when all warps have read them.
template <class P> struct AttentionMemory {
  using Shape = WgmmaAttentionShape<P>;
  unsigned char *q, *k, *v, *o;
  Barrier *qFull, *qEmpty, *kFull, *kEmpty, *vFull, *vEmpty;
  float *joined;

  __device__ AttentionMemory() {
    q = tensorShared();
    k = q + Shape::kQStages * Shape::kQBytes;
    v = k + P::stages * Shape::kKBytes;
    o = v + P::stages * Shape::kVBytes;
    qFull = reinterpret_cast<Barrier *>(o + Shape::kOBytes);
    qEmpty = qFull + Shape::kQStages;
    kFull = qEmpty + Shape::kQStages;
    kEmpty = kFull + P::stages;
    vFull = kEmpty + P::stages;
    vEmpty = vFull + P::stages;
    joined = reinterpret_cast<float *>(qFull) + Shape::kBarrierBytes / 4;
  }

  __device__ void initBarriers() {
    if (threadIdx.x == 0) {
      for (int i = 0; i < Shape::kQStages; ++i) {
        qFull[i].init(1);
        qEmpty[i].init(Shape::kWarps);
      }
      for (int i = 0; i < P::stages; ++i) {
        kFull[i].init(1);
        kEmpty[i].init(Shape::kReaders);
        vFull[i].init(1);
        vEmpty[i].init(Shape::kReaders);
      }
      fenceBarrierInit();
    }
    __syncthreads();
  }

  __device__ unsigned char *queriesOf(int stage) const {
    return q + stage * Shape::kQBytes;
  }
  __device__ unsigned char *keysOf(int stage) const {
    return k + stage * Shape::kKBytes;
  }
  __device__ unsigned char *valuesOf(int stage) const {
    return v + stage * Shape::kVBytes;
  }
};

/// Consecutive tiles of tileN keys.
struct AttentionSteps {
  int first, last;

  __device__ int count() const { return last > first ? last - first : 0; }
};

/// Returns the tiles with keys that rows [row, row + rows) see. `mask` is that
/// of the batch and head.
template <class P>
__device__ inline AttentionSteps attentionSteps(const typename P::Mask *mask,
                                                int row, int rows) {
  const RowRange keys = AttentionScores<P>::keysOf(mask, row, rows);
  return {keys.first / P::tileN, (keys.last + P::tileN - 1) / P::tileN};
}

/// Calls `use(tile)` for the tiles of a block. With the causal rule, the order
/// of blocks alternates to balance the work. Otherwise the last tiles go first:
/// their operands were written last and may still be in L2.
template <class P, class Use>
__device__ inline void forAttentionTiles(const Use &use) {
  constexpr int64_t count = WgmmaAttentionShape<P>::kBlocks;
  using Index = OffsetIn<2 * count>;
  const int block = blockIdx.x, blocks = gridDim.x;
  bool turned = false;
  for (Index first = 0; first < count; first += blocks) {
    Index index = first + (turned ? blocks - 1 - block : block);
    if (index < count)
      use(attentionTileAt<P>(P::causal ? index : Index(count) - 1 - index));
    turned = P::causal && !turned;
  }
}

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_TILE_CUH
