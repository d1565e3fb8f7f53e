//===- wgmma_plan.cuh - How a block's memory and threads are shared out ---===//
//
// What follows from the tile of a product, for wgmma_gemm.cuh and
// wgmma_conv.cuh: threads, shared memory, and which tile is whose turn.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DEVICE_WGMMA_PLAN_CUH
#define FRIT_DEVICE_WGMMA_PLAN_CUH

#include "frit/wgmma.cuh"
#include "frit/wgmma_layout.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

__device__ constexpr int wgmmaCeil(int64_t a, int64_t b) {
  return int((a + b - 1) / b);
}

/// A tile of the product: its corner, and which of the batch.
struct WgmmaTile {
  int m, n, batch;
};

template <class P> struct WgmmaPlan {
  static constexpr WgmmaLayout kLayout = {P::tileM,   P::tileN, P::stages,
                                          P::cluster, P::split, P::blocks};
  static constexpr int kWarps = kLayout.warps();
  static constexpr int kCluster = kLayout.blocksPerCluster();

  static_assert(kLayout.fits());
  static_assert(P::tileM % 64 == 0 && P::tileN % 64 == 0);
  static_assert(P::cluster == 1 || P::split == 1);
  static_assert(!P::transposeB || P::tileN / 8 % P::cluster == 0);

  /// D goes through shared memory in boxes of 16 rows, 128 bytes each, of which
  /// every warp has its own; by the copy engine where D's lines start at
  /// multiples of 16 bytes, else element by element.
  static constexpr bool kBoxes = P::ldd * sizeof(typename P::D) % 16 == 0 &&
                                 P::strideD * sizeof(typename P::D) % 16 == 0;
  static constexpr int kBoxN = kLineBytes / int(sizeof(typename P::D));
  static constexpr int kSlots = kLayout.slots();

  /// Where blocks share k, each has the whole sums of some of the tile's units,
  /// which the others send it: a warp's rows, by all columns or, where there
  /// are more blocks than warps, by part of them.
  static constexpr int kParts = kLayout.parts();
  static constexpr int kUnitN = kLayout.unitN();
  static constexpr int kOwned = kLayout.owned();
  static constexpr int kUnitBytes = kLayout.unitBytes();

  static constexpr int kBytesA = kLayout.bytesA();
  static constexpr int kStageBytes = kLayout.stageBytes();
  static constexpr int kShared = kLayout.sharedBytes();

  static_assert((2 * P::stages + (kSlots + 1) * kOwned + 2) * 8 <=
                kBarrierBytes);

  static constexpr int kTilesM = wgmmaCeil(P::m, P::tileM *P::cluster);
  static constexpr int kTilesN = wgmmaCeil(P::n, P::tileN);
  static constexpr int kTiles = kTilesM * kTilesN * int(P::batch);

  /// Two warpgroups either multiply 64 rows each of the same tile or, where a
  /// block has several tiles and the sums of a whole one fit into the registers
  /// of one warpgroup, take turns: one writes while the other multiplies.
  static constexpr bool kPingPong = P::split == 1 && P::tileM == 128 &&
                                    P::tileN <= 192 && P::blocks == 1 &&
                                    kTiles * P::cluster > 132;
  static constexpr int kTakers = kPingPong ? 2 : 1;
  /// Two warpgroups that have a multiprocessor for themselves use more
  /// registers than threads start with. A whole warpgroup stands where one warp
  /// loads, and gives up most of its own.
  static constexpr bool kMovesRegisters = kLayout.movesRegisters();
  /// How often 64 rows a warpgroup multiplies, and warps that read a stage.
  static constexpr int kRowBlocks = kTakers;
  static constexpr int kReaders = kWarps / kTakers;

  /// Rows of tiles that are gone through together, column by column, so that
  /// the blocks of a multiprocessor's worth of time read a square of D's worth
  /// of operands, which then come from the second-level cache.
  __device__ static constexpr int rowsTogether() {
    int rows = 1;
    while (rows * rows * P::tileM * P::cluster * P::cluster < 132 * P::tileN)
      ++rows;
    return rows;
  }

  __device__ static WgmmaTile tileAt(int index, int rank) {
    constexpr int together = rowsTogether();
    int batch = index / (kTilesM * kTilesN);
    index %= kTilesM * kTilesN;
    int first = index / (together * kTilesN) * together;
    index %= together * kTilesN;
    int rows = kTilesM - first < together ? kTilesM - first : together;
    int row = first + index % rows;
    if constexpr (P::cluster > 1)
      row = row * P::cluster + rank;
    return {row * P::tileM, index / rows * P::tileN, batch};
  }
};

} // namespace frit

#endif

#endif // FRIT_DEVICE_WGMMA_PLAN_CUH
