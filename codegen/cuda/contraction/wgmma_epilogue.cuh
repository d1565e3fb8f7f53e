//===- wgmma_epilogue.cuh - The epilogue of WGMMA products ----------------===//
//
// Each warp stores its 16 rows of a tile of wgmma_tile.cuh through shared
// memory, in boxes that TMA writes while the warp continues. TMA loads the
// residual, or what the result's rows are multiplied by, into the same boxes
// beforehand. Warps do not wait for each other.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_EPILOGUE_CUH
#define FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_EPILOGUE_CUH

#include "frit/wgmma_pairs.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// Stores one warp's part of a block's tiles: 16 rows of each 64 that its
/// warpgroup multiplies, in boxes.
template <class P> struct WgmmaStore {
  using Plan = WgmmaPlan<P>;
  using D = typename P::D;
  using Bias = typename P::Bias;
  using Reduce = ReduceOf<P>;
  using Pairs = WgmmaPairs<P>;
  /// Columns of sums that a box of D is computed from, and boxes of a unit.
  static constexpr int kSumsN = Plan::kBoxN * kSumsPerResult<P>;
  static constexpr int kBoxes = Plan::kUnitN / kSumsN;
  static constexpr int kGroups = Plan::kBoxN / 8;
  /// Boxes stored per box of the tile.
  static constexpr int kResults = kStoresSecond<P> ? 2 : 1;
  /// Boxes of different row blocks that are finished together if there are
  /// enough slots. They share column operands, and their latencies overlap.
  static constexpr int kTogether =
      Plan::kSlots >= 2 * Plan::kRowBlocks * kResults ? Plan::kRowBlocks : 1;
  /// Slots that are used together: of kTogether boxes of D, then of as many
  /// boxes of what is stored beside it.
  static constexpr int kUsed = kTogether * kResults;
  static_assert(Plan::kSlots >= kUsed);

  /// mapR is the map of what is stored beside D if P stores that, else of R.
  const TensorMap *mapD, *mapR;
  const Bias *bias;
  const D *r;
  D *d;
  EndOperands extra;
  unsigned char *slots;
  Barrier *filled;
  /// Moments of columns that warps exchange.
  float *told = nullptr;
  /// Boxes that have used the slots so far.
  int boxes = 0;

  // State of the current tile, for the rows that this thread finishes.
  WgmmaTile at;
  int live;
  WgmmaColumns<P, Bias> biases;
  WgmmaColumns<P, float> columns;
  Moments rows[Plan::kRowBlocks][2];

  __device__ int count() const { return live * Plan::kRowBlocks; }
  __device__ WgmmaBox boxIn(int slot) const {
    return {slots + slot * kBoxBytes};
  }

  /// Returns the position in D of the tile's boxes, in the order in which they
  /// are finished.
  __device__ WgmmaTile placeOf(int box) const {
    int row = 0, i = box;
    if constexpr (kTogether > 1) {
      row = box % kTogether;
      i = box / kTogether;
    } else if constexpr (Plan::kRowBlocks > 1) {
      row = box >= live;
      i = box - row * live;
    }
    return {at.m + row * 64, at.n / kSumsPerResult<P> + i * Plan::kBoxN,
            at.batch};
  }

  /// Starts loading the residual of one of the tile's boxes, by one lane.
  __device__ void fetch(int box) {
    const int slot = (boxes + box) % Plan::kSlots;
    const WgmmaTile from = placeOf(box);
    waitStores<0>();
    filled[slot].arriveExpecting(kBoxBytes);
    loadBox(boxIn(slot).at, mapR, filled[slot], from.n, from.m, from.batch);
  }

  /// Prefetches operands for the unit whose corner is `tile`.
  __device__ void begin(const WgmmaTile &tile) {
    at = tile;
    if (bias)
      biases.read(bias, at.n);
    const int left = kSumColumns<P> - at.n < Plan::kUnitN
                         ? int(kSumColumns<P> - at.n)
                         : Plan::kUnitN;
    live = at.m < P::m && left > 0 ? (left + kSumsN - 1) / kSumsN : 0;
    if (Plan::kBoxes && r && threadIdx.x % 32 == 0) {
#pragma unroll
      for (int i = 0; i < kBoxes * Plan::kRowBlocks; ++i)
        if (i < count()) {
          if (i < Plan::kSlots) {
            fetch(i);
          } else {
            const WgmmaTile from = placeOf(i);
            prefetchBox(mapR, from.n, from.m, from.batch);
          }
        }
    }
    if (Plan::kBoxes && r)
      __syncwarp();
    if constexpr (kNormalizes<P>) {
      columns.read(extra.column, at.n);
#pragma unroll
      for (int i = 0; i < 2 * Plan::kRowBlocks; ++i)
        rows[i / 2][i % 2] =
            momentsOf<P>(extra.moments,
                         at.m + i / 2 * 64 + i % 2 * 8 + threadIdx.x % 32 / 4);
    }
  }

  /// Finishes the unit, which is the `part`-th of a warp's columns.
  template <Fragment Sums> __device__ void end(const Sums &sums, int part = 0) {
    RowNorm norms[Plan::kRowBlocks][2];
    if constexpr (kNormalizes<P>)
#pragma unroll
      for (int i = 0; i < 2 * Plan::kRowBlocks; ++i)
        norms[i / 2][i % 2] = normOfRow<P>(rows[i / 2][i % 2]);
#pragma unroll
    for (int row = 0; row < Plan::kRowBlocks; row += kTogether)
#pragma unroll
      for (int i = 0; i < kBoxes; ++i)
        if (i < live) {
          if constexpr (kGates<P>)
            endGated(sums, norms, row, i, part * Plan::kUnitN / 8);
          else if constexpr (kIsPair<P>)
            endPair(sums, row, i, part * Plan::kUnitN / 8);
          else
            endBoxes(sums, norms, row, i, part * Plan::kUnitN / 8);
        }
    boxes += count() * kResults;
  }

  /// Waits until TMA has read all boxes.
  __device__ static void drain() {
    if (Plan::kBoxes && threadIdx.x % 32 == 0)
      waitStores<0>();
  }

  /// Finishes the i-th boxes of kTogether row blocks from the `row`-th on.
  /// `sums` has the tile's columns from those of group `firstGroup` on.
  template <Fragment Sums>
  __device__ void endBoxes(const Sums &sums,
                           const RowNorm (&norms)[Plan::kRowBlocks][2], int row,
                           int i, int firstGroup) {
    static_assert(Plan::kBoxes || !(kStoresSecond<P> || Reduce::kReadsFactor));
    const int box = kTogether > 1 ? i * kTogether : row * live + i;
    const int slot = boxes + box * kResults;
    const int lane = threadIdx.x % 32;
    WgmmaBox in[kUsed];
#pragma unroll
    for (int b = 0; b < kUsed; ++b)
      in[b] = boxIn((slot + b) % Plan::kSlots);
    if (Plan::kBoxes && r) {
#pragma unroll
      for (int b = 0; b < kTogether; ++b)
        filled[(slot + b) % Plan::kSlots].wait((slot + b) / Plan::kSlots % 2);
    } else {
      if (Plan::kBoxes && lane == 0)
        waitStores<Plan::kSlots / kUsed - 1>();
      __syncwarp();
    }
    typename Reduce::Row reducedRows[kTogether][2];
    typename Reduce::Columns reducedColumns[kTogether];
    // Read residuals in batches, since reads wait for earlier writes.
    constexpr int ahead = 4;
    TwoGroups<D> pairs[kUsed][ahead / 2];
#pragma unroll
    for (int j = 0; j < kGroups; ++j) {
      const int group = i * kGroups + j;
      constexpr float none = kNothing<float>;
      if (Plan::kBoxes && r && j % ahead == 0)
#pragma unroll
        for (int b = 0; b < kTogether; ++b)
#pragma unroll
          for (int k = 0; k < ahead; k += 2)
            in[b].template read<D>(pairs[b][k / 2], j + k);
      float offsets[2] = {none, none}, column[2];
      if (bias)
        biases.give(offsets, group);
      if constexpr (kNormalizes<P>)
        columns.give(column, group);
#pragma unroll
      for (int b = 0; b < kTogether; ++b)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          Two<D> &two = pairs[b][j % ahead / 2][j % 2][h];
          float residual[2] = {none, none}, factor[2];
          if constexpr (Reduce::kReadsFactor)
            two.open(factor);
          else if (r && Plan::kBoxes)
            two.open(residual);
          else if (r)
            Pairs::readResidual(residual, r, at,
                                (row + b) * 64 + h * 8 + lane / 4,
                                group * 8 + lane % 4 * 2);
          const auto sum = sums.pair(row + b, firstGroup + group, h);
          if constexpr (kStoresSecond<P>)
            Pairs::endBoth(two, pairs[kTogether + b][j % ahead / 2][j % 2][h],
                           sum, offsets);
          else
            Pairs::endTwo(two, sum, offsets, residual, column,
                          norms[row + b][h], reducedRows[b][h], j == 0);
          reducedRows[b][h].addPair(two, factor);
        }
#pragma unroll
      for (int b = 0; b < kTogether; ++b)
        reducedColumns[b].addGroup(pairs[b][j % ahead / 2][j % 2], j);
      if (j % 2)
#pragma unroll
        for (int b = 0; b < kUsed; ++b)
          in[b].template write<D>(pairs[b][j % ahead / 2], j - 1);
    }
#pragma unroll
    for (int b = 0; b < 2 * kTogether; ++b) {
      int64_t line = at.m + (row + b / 2) * 64 + b % 2 * 8 + lane / 4;
      int64_t part = line * P::n / kMomentWidth + at.n / kMomentWidth + i;
      reducedRows[b / 2][b % 2].store(extra.reduced, part, line < P::m);
    }
    if constexpr (Reduce::kReadsBoxes) {
      auto reduceAll = [&] {
#pragma unroll
        for (int b = 0; b < kTogether; ++b)
          reduceBox(in[b], box + b);
      };
      // TMA stores the boxes meanwhile, unless it loads residuals into them.
      if (r) {
        __syncwarp();
        reduceAll();
      }
      send(in, box);
      if (!r)
        reduceAll();
    } else {
#pragma unroll
      for (int b = 0; b < kTogether; ++b)
        reducedColumns[b].template store<P>(extra.reduced, placeOf(box + b));
      send(in, box);
    }
  }

  /// Waits until the i-th boxes of D, which has half as many columns as the
  /// sums, may be written; returns the number of the first.
  __device__ int openBoxes(WgmmaBox (&in)[kUsed], int row, int i) {
    static_assert(Plan::kBoxes && sizeof(D) == 2 && kUsed == kTogether);
    static_assert(Plan::kUnitN % kSumsN == 0);
    const int box = kTogether > 1 ? i * kTogether : row * live + i;
#pragma unroll
    for (int b = 0; b < kUsed; ++b)
      in[b] = boxIn((boxes + box + b) % Plan::kSlots);
    if (threadIdx.x % 32 == 0)
      waitStores<Plan::kSlots / kUsed - 1>();
    __syncwarp();
    return box;
  }

  /// Finishes the i-th boxes, like endBoxes, of a pair's columns.
  template <Fragment Sums>
  __device__ void endPair(const Sums &sums, int row, int i, int firstGroup) {
    WgmmaBox in[kUsed];
    const int box = openBoxes(in, row, i);
    TwoGroups<D> pairs[kTogether];
#pragma unroll
    for (int j = 0; j < kGroups; ++j) {
      const int group = firstGroup + i * 2 * kGroups + j;
#pragma unroll
      for (int b = 0; b < kTogether; ++b) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const auto sum = sums.pair(row + b, group, h);
          const auto other = sums.pair(row + b, group + kGroups, h);
          float residual[2], pair[2];
          Two<D> &two = pairs[b][j % 2][h];
          two.close(other.at);
          two.open(residual);
#pragma unroll
          for (int c = 0; c < 2; ++c)
            pair[c] = finish<typename P::Epilogue>(sum[c], kNothing<float>,
                                                   residual[c]);
          two.close(pair);
        }
        if (j % 2)
          in[b].template write<D>(pairs[b], j - 1);
      }
    }
    send(in, box);
  }

  /// Finishes the i-th boxes, like endBoxes, of gated columns.
  template <Fragment Sums>
  __device__ void endGated(const Sums &sums,
                           const RowNorm (&norms)[Plan::kRowBlocks][2], int row,
                           int i, int firstGroup) {
    WgmmaBox in[kUsed];
    const int box = openBoxes(in, row, i);
    TwoGroups<D> pairs[kTogether];
#pragma unroll
    for (int j = 0; j < kGroups; ++j) {
      float values[kTogether][2][2], gates[kTogether][2][2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int group = (i * kGroups + j) * 2 + half;
        constexpr float none = kNothing<float>;
        float offsets[2] = {none, none}, column[2];
        if (bias)
          biases.give(offsets, group);
        if constexpr (kNormalizes<P>)
          columns.give(column, group);
#pragma unroll
        for (int b = 0; b < kTogether; ++b)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const auto sum = sums.pair(row + b, firstGroup + group, h);
            float pair[2];
#pragma unroll
            for (int c = 0; c < 2; ++c)
              if constexpr (kNormalizes<P>)
                pair[c] = NormOf<P>::apply(sum[c], offsets[c], none, column[c],
                                           norms[row + b][h]);
              else
                pair[c] = sum[c] + offsets[c];
            values[b][h][half] = pair[0];
            gates[b][h][half] = pair[1];
          }
      }
#pragma unroll
      for (int b = 0; b < kTogether; ++b) {
#pragma unroll
        for (int h = 0; h < 2; ++h)
          pairs[b][j % 2][h].both = Pairs::gateTwo(values[b][h], gates[b][h]);
        if (j % 2)
          in[b].template write<D>(pairs[b], j - 1);
      }
    }
    send(in, box);
  }

  /// Reduces the tile's `index`-th box, which is complete.
  __device__ void reduceBox(const WgmmaBox &box, int index) {
    static_assert(Plan::kBoxN == 64);
    const int lane = threadIdx.x % 32;
    auto read = [&](float (&pair)[2], int row) {
      Two<D> two;
      two.both = *reinterpret_cast<const uint32_t *>(
          box.pieceOf(row, lane / 4) + lane % 4 * 4);
      two.open(pair);
    };
    Reduce::template reduceBox<P, Plan::kWarps>(
        extra.reduced, told, boxes + index, read,
        [](int group) { syncNamedBarrier<128>(1 + group); },
        [&] { return placeOf(index); });
  }

  /// Starts storing complete boxes, and loading the residuals of later ones.
  __device__ void send(const WgmmaBox (&in)[kUsed], int box) {
    if constexpr (Plan::kBoxes) {
      fenceAsync();
      __syncwarp();
      if (threadIdx.x % 32 == 0) {
#pragma unroll
        for (int b = 0; b < kUsed; ++b) {
          const WgmmaTile to = placeOf(box + b % kTogether);
          storeBox(b < kTogether ? mapD : mapR, in[b].at, to.n, to.m, to.batch);
        }
        commitStores();
        if (r)
#pragma unroll
          for (int b = Plan::kSlots; b < Plan::kSlots + kTogether; ++b)
            if (box + b < count())
              fetch(box + b);
      }
      // A warp reads and writes the next boxes together. The compiler relies on
      // that, and may not wait for this lane by itself.
      __syncwarp();
    } else {
      __syncwarp();
#pragma unroll
      for (int b = 0; b < kTogether; ++b)
        Pairs::storeElements(in[b], placeOf(box + b), d);
    }
  }
};

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_EPILOGUE_CUH
