//===- wgmma_plan.cuh - Constants of a WGMMA product ----------------------===//
//
// Constants that follow from the tile of a product, for wgmma_gemm.cuh and
// wgmma_conv.cuh: threads, shared memory, and the order of tiles.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_PLAN_CUH
#define FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_PLAN_CUH

#include "frit/end_stages.cuh"
#include "frit/wgmma.cuh"
#include "frit/wgmma_layout.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

__device__ constexpr int wgmmaCeil(int64_t a, int64_t b) {
  return int((a + b - 1) / b);
}

/// Columns of sums. Of a pair's, each 64 of the first matrix are followed by
/// those of the second with the same numbers.
template <class P>
inline constexpr int64_t kSumColumns = kIsPair<P> ? 2 * P::n : P::n;

/// A tile of the product: its corner, in columns of sums, and its batch index.
struct WgmmaTile {
  int m, n, batch;
};

/// Whether a product P multiplies bytes (wgmma_bytes.cuh). A step of k is then
/// twice as deep, and has as many bytes; threads store the result.
template <class P>
inline constexpr bool kMultipliesBytes = requires { typename P::Bytes; };
/// Whether what follows its sums passes through boxes.
template <class P> inline constexpr bool kPassesBoxes = false;
template <class P>
  requires kMultipliesBytes<P>
inline constexpr bool kPassesBoxes<P> = P::hasBoxes;

/// Bytes that what follows its sums reads for columns from shared memory.
template <class P> inline constexpr long kColumnBytes = 0;
template <class P>
  requires kMultipliesBytes<P>
inline constexpr long kColumnBytes<P> = P::columnBytes;

/// The sums of a product, and the instruction that adds a step's quarter to
/// those of 64 rows: 32 bytes of each row of A and column of B.
template <class P> struct WgmmaElements {
  using Sum = float;

  template <bool AlongA, bool AlongB>
  __device__ static void multiply(float (&sums)[P::tileN / 2], uint64_t a,
                                  uint64_t b, bool accumulate) {
    Wgmma<P::tileN>::template multiply<typename P::A, AlongA, AlongB>(
        sums, a, b, accumulate);
  }
};

/// In a cluster, P::cluster neighbours have a part of k each of the same tiles'
/// rows below each other. Return which of these rows block `rank` has, its part
/// of k, and the blocks that share its tiles of B.
template <class P> __device__ inline int rowsOfBlock(int rank) {
  return P::split > 1 ? P::cluster > 1 ? rank % P::cluster : 0 : rank;
}
template <class P> __device__ inline int partOfBlock(int rank) {
  return P::split > 1 ? rank / P::cluster : 0;
}
template <class P> __device__ inline uint16_t sharersOfBlock(int rank) {
  constexpr int all = (1 << P::cluster) - 1;
  return P::split > 1 ? all << partOfBlock<P>(rank) * P::cluster : all;
}

template <class P> struct WgmmaPlan {
  static constexpr WgmmaLayout kLayout = {P::tileM,
                                          P::tileN,
                                          P::stages,
                                          P::cluster,
                                          P::split,
                                          P::blocks,
                                          ReduceOf<P>::kReadsBoxes,
                                          !kMultipliesBytes<P>,
                                          kPassesBoxes<P>,
                                          kColumnBytes<P>};
  static constexpr int kWarps = kLayout.warps();
  static constexpr int kCluster = kLayout.blocksPerCluster();

  static_assert(kLayout.fits());
  static_assert(P::tileM % 64 == 0 && P::tileN % 64 == 0);
  static_assert(!P::transposeB || P::tileN / 8 % P::cluster == 0);

  /// D is stored through shared memory in boxes of 16 rows of 128 bytes; every
  /// warp has its own. TMA stores them if D's rows are aligned to 16 bytes,
  /// otherwise the warp does, element by element.
  static constexpr bool kBoxes = P::ldd * sizeof(typename P::D) % 16 == 0 &&
                                 P::strideD * sizeof(typename P::D) % 16 == 0;
  static constexpr int kBoxN = kLineBytes / int(sizeof(typename P::D));
  static constexpr int kSlots = kLayout.slots();

  /// With split-K, each block finishes some of the tile's units, whose partial
  /// sums the others send it. A unit is a warp's rows by all columns or, with
  /// more blocks than warps, by part of them.
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
  static constexpr int kTilesN = wgmmaCeil(kSumColumns<P>, P::tileN);
  static constexpr int kTiles = kTilesM * kTilesN * int(P::batch);

  /// Two warpgroups either multiply 64 rows each of the same tile (cooperative)
  /// or work on tiles of their own (ping-pong): one stores while the other
  /// multiplies.
  static constexpr bool kPingPong = P::pingPong;
  static_assert(!kPingPong || kLayout.canPingPong());
  static constexpr int kTilesInFlight = kPingPong ? 2 : 1;
  /// Two warpgroups alone on an SM use more registers than threads start with.
  /// The loading warp is then a whole warpgroup, which gives up most of its
  /// registers.
  static constexpr bool kMovesRegisters = kLayout.movesRegisters();
  /// 64-row blocks per warpgroup, and consumer warps per stage.
  static constexpr int kRowBlocks = kTilesInFlight;
  static constexpr int kReaders = kWarps / kTilesInFlight;

  /// Returns tile number `index`. P::raster rows of tiles are traversed
  /// together, column by column.
  __device__ static WgmmaTile tileAt(int index, int rank) {
    constexpr int together = P::raster;
    int batch = index / (kTilesM * kTilesN);
    index %= kTilesM * kTilesN;
    int first = index / (together * kTilesN) * together;
    index %= together * kTilesN;
    int rows = kTilesM - first < together ? kTilesM - first : together;
    int row = first + index % rows;
    if constexpr (P::cluster > 1)
      row = row * P::cluster + rowsOfBlock<P>(rank);
    return {row * P::tileM, index / rows * P::tileN, batch};
  }
};

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_PLAN_CUH
