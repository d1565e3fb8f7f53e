//===- wgmma_attention_gradient_tile.cuh - Tiles of the gradient ----------===//
//
// Launch configuration of wgmma_attention_gradient.cuh, and its shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_GRADIENT_TILE_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_GRADIENT_TILE_CUH

#include "frit/attention_gradient.cuh"
#include "frit/pipeline.cuh"
#include "frit/wgmma.cuh"
#include "frit/wgmma_layout.cuh"

namespace frit {

template <class P> struct WgmmaAttentionGradientShape {
  static constexpr WgmmaAttentionGradientLayout kLayout = {P::stages};
  static constexpr int kWarps = kLayout.warps, kThreads = kLayout.threads;
  static constexpr int kRows = kLayout.tileM, kColumns = kLayout.tileN;
  static constexpr int kShared = kLayout.sharedBytes();
  /// Bytes of the rows of an operand, of a warpgroup and of a stage.
  static constexpr int kOperandBytes = kRows * kLineBytes;
  static constexpr int kPartBytes = kColumns * kLineBytes;

  static constexpr int64_t kBlocks = GradientPairs<P, kRows>::kCount;
  static constexpr int kSharing = GradientPairs<P, kRows>::kSharing;

  /// Registers of a producer thread and of a consumer thread.
  static constexpr int kFew = 24, kMany = 240;

  static_assert(kColumns == kGradientColumns && P::stages >= 3);
  static_assert(P::size > kLayout.smallest && P::size <= kLayout.largest);
};

} // namespace frit

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// A block's shared memory: the rows of a tile, the stages, and the results.
template <class P> struct GradientMemory {
  using Shape = WgmmaAttentionGradientShape<P>;
  unsigned char *rows, *stages, *results;
  float *rowNumbers, *stageNumbers;
  Barrier *rowsFull, *rowsEmpty, *full, *empty;

  __device__ GradientMemory() {
    constexpr WgmmaAttentionGradientLayout layout = Shape::kLayout;
    rows = tensorShared();
    results = rows + layout.rowBytes();
    stages = results + layout.resultBytes();
    unsigned char *end = stages + P::stages * layout.stageBytes();
    rowNumbers = reinterpret_cast<float *>(end);
    end += layout.rowNumberBytes();
    stageNumbers = reinterpret_cast<float *>(end);
    end += P::stages * layout.stageNumberBytes();
    rowsFull = reinterpret_cast<Barrier *>(end);
    rowsEmpty = rowsFull + 1;
    full = rowsEmpty + 1;
    empty = full + P::stages;
  }

  __device__ void initBarriers() {
    if (threadIdx.x == 0) {
      // The copies, and the numbers of the rows.
      rowsFull->init(2);
      rowsEmpty->init(Shape::kWarps);
      for (int i = 0; i < P::stages; ++i) {
        full[i].init(2);
        empty[i].init(Shape::kWarps);
      }
      fenceBarrierInit();
    }
    __syncthreads();
  }

  /// Returns the rows of operand 0 or 1 that stay.
  __device__ unsigned char *rowsOf(int operand) const {
    return rows + operand * Shape::kOperandBytes;
  }
  /// Returns a stage's rows of operand 0 or 1.
  __device__ unsigned char *stageOf(int stage, int operand) const {
    return stages + (stage * 2 + operand) * Shape::kPartBytes;
  }
  /// Returns a stage's numbers: the addends of its rows, and then their deltas.
  __device__ float *numbersOf(int stage) const {
    return stageNumbers + stage * 2 * Shape::kColumns;
  }
  /// Returns where a warpgroup's 64 rows of result 0 or 1 are collected.
  __device__ unsigned char *resultOf(int result) const {
    return results + result * Shape::kOperandBytes;
  }
};

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_GRADIENT_TILE_CUH
