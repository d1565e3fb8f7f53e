//===- wgmma_epilogue.cuh - From a warpgroup's sums to the output ---------===//
//
// Each warp takes its 16 rows of a tile of wgmma_tile.cuh through shared memory
// in boxes that the copy engine writes while the warp goes on, and has read the
// residual into the same place before; nobody waits for another warp. Where the
// blocks of a cluster have summed up parts of k, they first send each other
// what is not theirs to end.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DEVICE_WGMMA_EPILOGUE_CUH
#define FRIT_DEVICE_WGMMA_EPILOGUE_CUH

#include "frit/norm.cuh"
#include "frit/wgmma_plan.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

//===----------------------------------------------------------------------===//
// Bias and scales
//===----------------------------------------------------------------------===//

/// A tile's part of a vector with an element per column, spread over a warp: of
/// every 64 columns, lane l has columns 2 l and 2 l + 1. It is read before the
/// products and first looked at after them.
template <class P, class T> struct WgmmaColumns {
  static constexpr bool kPairs = P::n % 2 == 0;
  static constexpr bool kPacked = kPairs && sizeof(T) == 2;
  static constexpr int kWords = kPacked ? 1 : 2;

  static constexpr int kBlocks = WgmmaPlan<P>::kUnitN / 64;

  uint32_t words[kBlocks][kWords];

  __device__ static uint32_t raw(T value) {
    if constexpr (sizeof(T) == 2)
      return value.bits;
    else
      return floatToBits(value);
  }
  __device__ static float value(uint32_t word) {
    if constexpr (sizeof(T) == 2)
      return load(T{uint16_t(word)});
    else
      return bitsToFloat(word);
  }

  __device__ void read(const T *vector, int first) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      int n = first + i * 64 + threadIdx.x % 32 * 2;
      if constexpr (kPacked) {
        words[i][0] = 0;
        if (n < P::n)
          words[i][0] = *reinterpret_cast<const uint32_t *>(vector + n);
      } else {
        words[i][0] = words[i][1] = 0;
        if (n < P::n)
          words[i][0] = raw(vector[n]);
        if (n + 1 < P::n)
          words[i][1] = raw(vector[n + 1]);
      }
    }
  }

  /// The two columns that a thread has of the 8 from 8 `group` on.
  __device__ void give(float (&pair)[2], int group) const {
    int lane = group % 8 * 4 + threadIdx.x % 4;
    uint32_t got[kWords];
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      got[i] = __shfl_sync(0xffffffff, words[group / 8][i], lane);
    pair[0] = value(got[0]);
    pair[1] = value(kPacked ? got[0] >> 16 : got[kWords - 1]);
  }
};

//===----------------------------------------------------------------------===//
// Two neighbours of a row
//===----------------------------------------------------------------------===//

// One access each, which compilers do not always make of two elements.

__device__ inline void writeTwo(float *to, const float (&pair)[2]) {
  *reinterpret_cast<Pack<float, 2> *>(to) = {pair[0], pair[1]};
}
__device__ inline void writeTwo(f16 *to, const float (&pair)[2]) {
  uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(pair[1]), "f"(pair[0]));
  *reinterpret_cast<uint32_t *>(to) = both;
}
__device__ inline void writeTwo(bf16 *to, const float (&pair)[2]) {
  uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
      : "=r"(both)
      : "f"(pair[1]), "f"(pair[0]));
  *reinterpret_cast<uint32_t *>(to) = both;
}

/// Two elements as they are stored.
template <class T> struct Two {
  uint32_t both;
  __device__ void open(float (&pair)[2]) const {
    pair[0] = load(T{uint16_t(both)});
    pair[1] = load(T{uint16_t(both >> 16)});
  }
};
template <> struct Two<float> {
  Pack<float, 2> both;
  __device__ void open(float (&pair)[2]) const {
    pair[0] = both.at[0];
    pair[1] = both.at[1];
  }
};
template <class T> __device__ inline Two<T> readTwo(const T *from) {
  return *reinterpret_cast<const Two<T> *>(from);
}

//===----------------------------------------------------------------------===//
// Box by box
//===----------------------------------------------------------------------===//

/// One warp's part of a block's tiles, one after the other.
template <class P> struct WgmmaStore {
  using Plan = WgmmaPlan<P>;
  using D = typename P::D;
  using Bias = typename P::Bias;
  static constexpr int kBoxes = Plan::kUnitN / Plan::kBoxN;

  const TensorMap *mapD, *mapR;
  const Bias *bias;
  const D *r;
  D *d;
  unsigned char *slots;
  Barrier *filled;
  NormOperands norm;
  int boxes = 0;

  // Of the tile that is under way; of rows, those that this thread ends.
  WgmmaTile at;
  int live;
  WgmmaColumns<P, Bias> biases;
  WgmmaColumns<P, float> columns;
  RowMoments rows[Plan::kRowBlocks][2];

  __device__ unsigned char *slotOf(int box) {
    return slots + box % Plan::kSlots * Plan::kBoxBytes;
  }

  /// Has the residual of the tile's box i read, by one lane.
  __device__ void fetch(int i) {
    int slot = (boxes + i) % Plan::kSlots;
    waitStores<0>();
    filled[slot].arriveExpecting(Plan::kBoxBytes);
    loadBox(slots + slot * Plan::kBoxBytes, mapR, filled[slot],
            at.n + i * Plan::kBoxN, at.m, at.batch);
  }

  /// Reads ahead for the unit whose corner is `tile`.
  __device__ void begin(const WgmmaTile &tile) {
    if (bias)
      biases.read(bias, tile.n);
    moveTo(tile);
    if constexpr (kNormalises<P>) {
      columns.read(norm.column, tile.n);
#pragma unroll
      for (int i = 0; i < 2 * Plan::kRowBlocks; ++i)
        rows[i / 2][i % 2] =
            momentsOf<P>(norm.moments, tile.m + i / 2 * 64 + i % 2 * 8 +
                                           threadIdx.x % 32 / 4);
    }
  }

  /// The same for a unit of the same columns.
  __device__ void moveTo(const WgmmaTile &tile) {
    at = tile;
    int columns = P::n - at.n < Plan::kUnitN ? int(P::n - at.n) : Plan::kUnitN;
    live = at.m < P::m && columns > 0
               ? (columns + Plan::kBoxN - 1) / Plan::kBoxN
               : 0;
    if (Plan::kBoxes && r && threadIdx.x % 32 == 0)
#pragma unroll
      for (int i = 0; i < Plan::kSlots; ++i)
        if (i < live)
          fetch(i);
  }

  /// Ends the unit, the `part`-th of its rows, in the tile's `block`-th 64.
  __device__ void end(const float (&sums)[P::tileN / 2], int part,
                      int block = 0) {
    RowNorm norms[2];
    if constexpr (kNormalises<P>)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        norms[h] = normOfRow<P>(rows[block][h]);
#pragma unroll
    for (int i = 0; i < kBoxes; ++i)
      if (i < live)
        storeOne(sums, i, part * Plan::kUnitN / 8, norms);
    boxes += live;
  }

  __device__ void storeOne(const float (&sums)[P::tileN / 2], int i,
                           int firstGroup, const RowNorm (&norms)[2]) {
    using Epilogue = typename P::Epilogue;
    constexpr int groups = Plan::kBoxN / 8;
    constexpr bool kEnds = kEndsHalves<Epilogue, D> && !takesMoments<P>();
    const int lane = threadIdx.x % 32;
    unsigned char *slot = slotOf(boxes + i);
    if (Plan::kBoxes && r) {
      filled[(boxes + i) % Plan::kSlots].wait((boxes + i) / Plan::kSlots % 2);
    } else {
      if (Plan::kBoxes && lane == 0)
        waitStores<Plan::kSlots - 1>();
      __syncwarp();
    }
    // The 16-byte pieces of a line are permuted by the line's number.
    auto placeOf = [&](int j, int h) {
      int byte = (j * 8 + lane % 4 * 2) * int(sizeof(D));
      return reinterpret_cast<D *>(slot + (h * 8 + lane / 4) * 128 +
                                   ((byte / 16 ^ lane / 4) * 16 + byte % 16));
    };
    // Residuals are read some at a time, for reading waits for writing before.
    constexpr int together = 4;
    Two<D> residuals[together][2];
    RowSums given[2];
#pragma unroll
    for (int j = 0; j < groups; ++j) {
      const int group = i * groups + j;
      constexpr float none = kNothing<float>;
      if (Plan::kBoxes && r && j % together == 0)
#pragma unroll
        for (int k = 0; k < 2 * together; ++k)
          residuals[k / 2][k % 2] = readTwo(placeOf(j + k / 2, k % 2));
      float offsets[2] = {none, none}, column[2];
      if (bias)
        biases.give(offsets, group);
      if constexpr (kNormalises<P>)
        columns.give(column, group);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float residual[2] = {none, none}, pair[2];
        if (r && Plan::kBoxes)
          residuals[j % together][h].open(residual);
        else if (r)
          readResidual(residual, h * 8 + lane / 4, group * 8 + lane % 4 * 2);
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          float sum = sums[(firstGroup + group) * 4 + h * 2 + c];
          if constexpr (kNormalises<P>)
            pair[c] =
                normed<P>(sum, offsets[c], residual[c], column[c], norms[h]);
          else if constexpr (kEnds)
            pair[c] = sum + offsets[c] + residual[c];
          else
            pair[c] = finish<Epilogue>(sum, offsets[c], residual[c]);
          if constexpr (kNormalises<P> && !kEnds)
            pair[c] = Epilogue()(pair[c]);
          if constexpr (takesMoments<P>())
            given[h].add(pair[c], j + c == 0);
        }
        if constexpr (kEnds)
          *reinterpret_cast<uint32_t *>(placeOf(j, h)) =
              Epilogue::halves(pair[0], pair[1]);
        else
          writeTwo(placeOf(j, h), pair);
      }
    }
    if constexpr (takesMoments<P>())
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        static_assert(Plan::kBoxN == kMomentWidth);
        int64_t row = at.m + h * 8 + lane / 4;
        int64_t part = row * P::n / kMomentWidth + at.n / kMomentWidth + i;
        storeMoments(norm.resultMoments + part * 2, given[h], row < P::m);
      }
    if constexpr (Plan::kBoxes) {
      fenceAsync();
      __syncwarp();
      if (lane == 0) {
        storeBox(mapD, slot, at.n + i * Plan::kBoxN, at.m, at.batch);
        commitStores();
        if (r && i + Plan::kSlots < live)
          fetch(i + Plan::kSlots);
      }
    } else {
      __syncwarp();
      storeElements(slot, at.n + i * Plan::kBoxN);
    }
  }

  /// Where no tensor copy brings it.
  __device__ void readResidual(float (&pair)[2], int row, int col) {
    if (at.m + row >= P::m)
      return;
    const D *from = r + at.batch * P::strideD + (at.m + row) * P::ldd + at.n;
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (at.n + col + i < P::n)
        pair[i] = load(from[col + i]);
  }

  /// Neighbouring lanes write neighbouring elements.
  __device__ void storeElements(const unsigned char *slot, int first) {
    const int lane = threadIdx.x % 32;
    D *to = d + at.batch * P::strideD + at.m * P::ldd + first;
#pragma unroll 4
    for (int row = 0; row < 16; ++row)
      if (at.m + row < P::m)
#pragma unroll
        for (int col = lane; col < Plan::kBoxN; col += 32) {
          int byte = col * int(sizeof(D));
          if (first + col < P::n)
            to[row * P::ldd + col] = *reinterpret_cast<const D *>(
                slot + row * 128 + ((byte / 16 ^ row % 8) * 16 + byte % 16));
        }
  }
};

//===----------------------------------------------------------------------===//
// Sums of sums
//===----------------------------------------------------------------------===//

/// A warp's part in adding up what the blocks of a cluster have. Sums are added
/// in an order that depends on places only, so that results never vary.
template <class P> struct WgmmaShares {
  using Plan = WgmmaPlan<P>;
  static constexpr int kGroups = Plan::kUnitN / 8;

  unsigned char *received;
  Barrier *arrived;
  int rank;

  __device__ static int unitOf(int part) {
    return int(threadIdx.x) / 32 * Plan::kParts + part;
  }
  __device__ static int slotOf(int part) { return unitOf(part) % Plan::kOwned; }
  __device__ bool isMine(int part) const {
    return unitOf(part) / Plan::kOwned == rank;
  }
  /// Which of the warp's units this block ends, or kParts.
  __device__ int mine() const {
    int part = 0;
    while (part < Plan::kParts && !isMine(part))
      ++part;
    return part;
  }

  __device__ void expect(int part) const {
    if (threadIdx.x % 32 == 0)
      arrived[slotOf(part)].arriveExpecting((P::split - 1) * Plan::kUnitBytes);
  }

  /// Where the sums of a unit lie that the block `steps` places after its owner
  /// sends, for this lane.
  __device__ unsigned char *placeOf(int part, int steps) const {
    return received +
           ((steps - 1) * Plan::kOwned + slotOf(part)) * Plan::kUnitBytes +
           threadIdx.x % 32 * 16;
  }

  __device__ void send(const float (&sums)[P::tileN / 2], int part) const {
    int owner = unitOf(part) / Plan::kOwned;
    int steps = (rank - owner + P::split) % P::split;
    uint32_t to = addressInBlock(placeOf(part, steps), owner);
    uint32_t barrier = addressInBlock(&arrived[slotOf(part)], owner);
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const float *from = sums + (part * kGroups + i) * 4;
      sendToBlock(to + i * 512, barrier, from[0], from[1], from[2], from[3]);
    }
  }

  __device__ void receive(float (&sums)[P::tileN / 2], int part) const {
    arrived[slotOf(part)].wait(0);
#pragma unroll
    for (int steps = 1; steps < P::split; ++steps)
#pragma unroll
      for (int i = 0; i < kGroups; ++i) {
        float more[4];
        loadVector(more, reinterpret_cast<const float *>(placeOf(part, steps) +
                                                         i * 512));
#pragma unroll
        for (int j = 0; j < 4; ++j)
          sums[(part * kGroups + i) * 4 + j] += more[j];
      }
  }
};

} // namespace frit

#endif

#endif // FRIT_DEVICE_WGMMA_EPILOGUE_CUH
