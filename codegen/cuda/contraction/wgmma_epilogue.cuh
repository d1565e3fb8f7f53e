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

#include "frit/norm.cuh"
#include "frit/wgmma_columns.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// Stores one warp's part of a block's tiles: 16 rows of each 64 that its
/// warpgroup multiplies, in boxes.
template <class P> struct WgmmaStore {
  using Plan = WgmmaPlan<P>;
  using D = typename P::D;
  using Bias = typename P::Bias;
  using Sums = float[Plan::kRowBlocks][P::tileN / 2];
  static constexpr int kBoxes = Plan::kUnitN / Plan::kBoxN;
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
  unsigned char *slots;
  Barrier *filled;
  NormOperands norm;
  /// Moments of columns that warps exchange.
  float *told = nullptr;
  /// Boxes that have used the slots so far.
  int boxes = 0;

  // State of the current tile, for the rows that this thread finishes.
  WgmmaTile at;
  int live;
  WgmmaColumns<P, Bias> biases;
  WgmmaColumns<P, float> columns;
  RowMoments rows[Plan::kRowBlocks][2];

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
    return {at.m + row * 64, at.n + i * Plan::kBoxN, at.batch};
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
    const int left =
        P::n - at.n < Plan::kUnitN ? int(P::n - at.n) : Plan::kUnitN;
    live = at.m < P::m && left > 0 ? (left + Plan::kBoxN - 1) / Plan::kBoxN : 0;
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
    if constexpr (kNormalises<P>) {
      columns.read(norm.column, at.n);
#pragma unroll
      for (int i = 0; i < 2 * Plan::kRowBlocks; ++i)
        rows[i / 2][i % 2] = momentsOf<P>(
            norm.moments, at.m + i / 2 * 64 + i % 2 * 8 + threadIdx.x % 32 / 4);
    }
  }

  /// Finishes the unit, which is the `part`-th of a warp's columns.
  __device__ void end(const Sums &sums, int part = 0) {
    RowNorm norms[Plan::kRowBlocks][2];
    if constexpr (kNormalises<P>)
#pragma unroll
      for (int i = 0; i < 2 * Plan::kRowBlocks; ++i)
        norms[i / 2][i % 2] = normOfRow<P>(rows[i / 2][i % 2]);
#pragma unroll
    for (int row = 0; row < Plan::kRowBlocks; row += kTogether)
#pragma unroll
      for (int i = 0; i < kBoxes; ++i)
        if (i < live)
          endBoxes(sums, norms, row, i, part * Plan::kUnitN / 8);
    boxes += count() * kResults;
  }

  /// Finishes the i-th boxes of kTogether row blocks from the `row`-th on.
  /// `sums` has the tile's columns from those of group `firstGroup` on.
  __device__ void endBoxes(const Sums &sums,
                           const RowNorm (&norms)[Plan::kRowBlocks][2], int row,
                           int i, int firstGroup) {
    static_assert(Plan::kBoxes || !(kStoresSecond<P> || takesRowDots<P>()));
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
    RowSums given[kTogether][2];
    BoxSums added[kTogether];
    float dots[kTogether][2] = {};
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
      if constexpr (kNormalises<P>)
        columns.give(column, group);
#pragma unroll
      for (int b = 0; b < kTogether; ++b)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          Two<D> &two = pairs[b][j % ahead / 2][j % 2][h];
          float residual[2] = {none, none}, factor[2];
          if constexpr (takesRowDots<P>())
            two.open(factor);
          else if (r && Plan::kBoxes)
            two.open(residual);
          else if (r)
            readResidual(residual, (row + b) * 64 + h * 8 + lane / 4,
                         group * 8 + lane % 4 * 2);
          const float *sum = &sums[row + b][(firstGroup + group) * 4 + h * 2];
          if constexpr (kStoresSecond<P>)
            endBoth(two, pairs[kTogether + b][j % ahead / 2][j % 2][h], sum,
                    offsets);
          else
            endTwo(two, sum, offsets, residual, column, norms[row + b][h],
                   given[b][h], j == 0);
          if constexpr (takesRowDots<P>()) {
            float stored[2];
            two.open(stored);
#pragma unroll
            for (int c = 0; c < 2; ++c)
              dots[b][h] = fma(stored[c], factor[c], dots[b][h]);
          }
        }
      if constexpr (sumsColumns<P>())
#pragma unroll
        for (int b = 0; b < kTogether; ++b) {
          const Two<D>(&rows)[2] = pairs[b][j % ahead / 2][j % 2];
          float sums[2], lower[2];
          rows[0].open(sums);
          rows[1].open(lower);
          sums[0] += lower[0];
          sums[1] += lower[1];
          added[b].add(sums, j);
        }
      if (j % 2)
#pragma unroll
        for (int b = 0; b < kUsed; ++b)
          in[b].template write<D>(pairs[b][j % ahead / 2], j - 1);
    }
    if constexpr (takesMoments<P>() || takesRowDots<P>())
#pragma unroll
      for (int b = 0; b < 2 * kTogether; ++b) {
        static_assert(Plan::kBoxN == kMomentWidth);
        int64_t line = at.m + (row + b / 2) * 64 + b % 2 * 8 + lane / 4;
        int64_t part = line * P::n / kMomentWidth + at.n / kMomentWidth + i;
        if constexpr (takesRowDots<P>())
          storeRowDot(norm.resultMoments + part, dots[b / 2][b % 2],
                      line < P::m);
        else
          storeMoments(norm.resultMoments + part * 2, given[b / 2][b % 2],
                       line < P::m);
      }
    if constexpr (takesColumnMoments<P>()) {
      auto takeAll = [&] {
#pragma unroll
        for (int b = 0; b < kTogether; ++b)
          takeColumns(in[b], box + b);
      };
      // TMA stores the boxes meanwhile, unless it loads residuals into them.
      if (r) {
        __syncwarp();
        takeAll();
      }
      send(in, box);
      if (!r)
        takeAll();
    } else {
      if constexpr (sumsColumns<P>())
#pragma unroll
        for (int b = 0; b < kTogether; ++b)
          storeSums(added[b].sums, box + b);
      send(in, box);
    }
  }

  /// Takes the moments of a box's columns and merges them with those of the
  /// warpgroup's other warps. Two boxes' moments are in shared memory, so that
  /// one barrier per box keeps their readers and writers apart.
  __device__ void takeColumns(const WgmmaBox &box, int index) {
    static_assert(Plan::kBoxN == 64 && P::m % kMomentHeight == 0);
    constexpr int perWarp = Plan::kBoxN * 2;
    const int lane = threadIdx.x % 32, thread = threadIdx.x % 128;
    const int warpgroup = threadIdx.x / 128;
    RowSums sums[2];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      Two<D> two;
      two.both = *reinterpret_cast<const uint32_t *>(box.pieceOf(i, lane / 4) +
                                                     lane % 4 * 4);
      float pair[2];
      two.open(pair);
      for (int c = 0; c < 2; ++c)
        sums[c].add(pair[c], i == 0);
    }
    float *group =
        told + ((boxes + index) % 2 * Plan::kWarps + warpgroup * 4) * perWarp;
    RowMoments left = sums[0].moments(16), right = sums[1].moments(16);
    float four[4] = {left.mean, left.squares, right.mean, right.squares};
    storeVector(group + thread / 32 * perWarp + lane * 4, four);
    syncNamedBarrier<128>(1 + warpgroup);
    if (thread >= Plan::kBoxN)
      return;
    float parts[4][2], mean = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      loadVector(parts[i], group + i * perWarp + thread * 2);
      mean += 0.25f * parts[i][0];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float delta = parts[i][0] - mean;
      squares += fma(16 * delta, delta, parts[i][1]);
    }
    const WgmmaTile from = placeOf(index);
    const int part = from.m / kMomentHeight, col = from.n + thread;
    if (part < P::m / kMomentHeight && col < P::n)
      storeColumn<P::m, P::n>(norm.resultMoments, part, col, {mean, squares});
  }

  /// Stores the sums of a box's columns, of which lane l has columns 2 l and
  /// 2 l + 1.
  __device__ void storeSums(const float (&sums)[2], int index) {
    static_assert(Plan::kBoxN == 64 && kSumHeight == kBoxLines);
    const WgmmaTile from = placeOf(index);
    const int col = from.n + threadIdx.x % 32 * 2;
    if (from.m < P::m && col < P::n)
      storeVector(
          norm.resultMoments + int64_t(from.m / kSumHeight) * P::n + col, sums);
  }

  /// Computes two neighbours of D, and what is stored beside them.
  __device__ static void endBoth(Two<D> &two, Two<D> &beside, const float *sums,
                                 const float (&offsets)[2]) {
    float pair[2], second[2];
#pragma unroll
    for (int c = 0; c < 2; ++c)
      pair[c] = endWithSecond<P>(sums[c] + offsets[c], second[c]);
    two.close(pair);
    beside.close(second);
  }

  /// Computes two neighbours of D.
  __device__ static void endTwo(Two<D> &two, const float *sums,
                                const float (&offsets)[2],
                                const float (&residual)[2],
                                const float (&column)[2], const RowNorm &norm,
                                RowSums &given, bool first) {
    using Epilogue = typename P::Epilogue;
    constexpr bool kEnds = kEndsHalves<Epilogue, D> && !takesMoments<P>();
    float pair[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      if constexpr (kNormalises<P>)
        pair[c] = normed<P>(sums[c], offsets[c], residual[c], column[c], norm);
      else if constexpr (kEnds)
        pair[c] = sums[c] + offsets[c] + residual[c];
      else
        pair[c] = finish<Epilogue>(sums[c], offsets[c], residual[c]);
      if constexpr (kNormalises<P> && !kEnds)
        pair[c] = Epilogue()(pair[c]);
      if constexpr (takesMoments<P>())
        given.add(pair[c], first && c == 0);
    }
    if constexpr (kEnds)
      two.both = Epilogue::halves(pair[0], pair[1]);
    else
      two.close(pair);
  }

  /// Starts storing complete boxes, and loading the residuals of later ones.
  __device__ void send(const WgmmaBox (&in)[kUsed], int box) {
    if constexpr (Plan::kBoxes) {
      fenceAsync();
      __syncwarp();
      if (threadIdx.x % 32 != 0)
        return;
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
    } else {
      __syncwarp();
#pragma unroll
      for (int b = 0; b < kTogether; ++b)
        storeElements(in[b], placeOf(box + b));
    }
  }

  /// Reads the residual without TMA.
  __device__ void readResidual(float (&pair)[2], int row, int col) {
    if (at.m + row >= P::m)
      return;
    const D *from = r + at.batch * P::strideD + (at.m + row) * P::ldd + at.n;
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (at.n + col + i < P::n)
        pair[i] = load(from[col + i]);
  }

  /// Stores a box without TMA; neighbouring lanes write neighbouring elements.
  __device__ void storeElements(const WgmmaBox &box, const WgmmaTile &to) {
    constexpr int size = sizeof(D);
    const int lane = threadIdx.x % 32;
    D *first = d + to.batch * P::strideD + to.m * P::ldd + to.n;
#pragma unroll 4
    for (int row = 0; row < 16; ++row)
      if (to.m + row < P::m)
#pragma unroll
        for (int col = lane; col < Plan::kBoxN; col += 32)
          if (to.n + col < P::n)
            first[row * P::ldd + col] = *reinterpret_cast<const D *>(
                box.pieceOf(row, col * size / 16) + col * size % 16);
  }
};

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_EPILOGUE_CUH
