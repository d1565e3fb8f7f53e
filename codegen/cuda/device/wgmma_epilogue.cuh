//===- wgmma_epilogue.cuh - From a warpgroup's sums to the output ---------===//
//
// Two ways to end a tile of wgmma_tile.cuh. Each warp takes its 16 rows of the
// tile through shared memory in boxes that the copy engine writes while the
// warp goes on, and has read the residual into the same place before; nobody
// waits for another warp. Or, where blocks of a cluster have summed up parts of
// k, each adds up all parts of its share of the rows.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DEVICE_WGMMA_EPILOGUE_CUH
#define FRIT_DEVICE_WGMMA_EPILOGUE_CUH

#include "frit/tile.cuh"
#include "frit/wgmma_plan.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

//===----------------------------------------------------------------------===//
// Bias
//===----------------------------------------------------------------------===//

/// A tile's bias, spread over a warp: of every 64 columns, lane l has columns
/// 2 l and 2 l + 1. It is read before the products and first looked at after
/// them.
template <class P> struct WgmmaBias {
  using T = typename P::Bias;
  static constexpr bool kPairs = P::n % 2 == 0;
  static constexpr bool kPacked = kPairs && sizeof(T) == 2;
  static constexpr int kWords = kPacked ? 1 : 2;

  uint32_t words[P::tileN / 64][kWords];

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

  __device__ void read(const T *bias, int first) {
#pragma unroll
    for (int i = 0; i < P::tileN / 64; ++i) {
      int n = first + i * 64 + threadIdx.x % 32 * 2;
      if constexpr (kPacked) {
        words[i][0] = 0;
        if (n < P::n)
          words[i][0] = *reinterpret_cast<const uint32_t *>(bias + n);
      } else {
        words[i][0] = words[i][1] = 0;
        if (n < P::n)
          words[i][0] = raw(bias[n]);
        if (n + 1 < P::n)
          words[i][1] = raw(bias[n + 1]);
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
// Box by box
//===----------------------------------------------------------------------===//

/// One warp's part of a block's tiles, one after the other.
template <class P> struct WgmmaStore {
  using Plan = WgmmaPlan<P>;
  using D = typename P::D;
  using Bias = typename P::Bias;
  static constexpr int kBoxes = P::tileN / Plan::kBoxN;

  const TensorMap *mapD, *mapR;
  const Bias *bias;
  const D *r;
  D *d;
  unsigned char *slots;
  Barrier *filled;
  int boxes = 0;

  // Of the tile that is under way.
  WgmmaTile at;
  int live;
  WgmmaBias<P> biases;

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

  /// Reads ahead for the 16 rows from `tile` on.
  __device__ void begin(const WgmmaTile &tile) {
    at = tile;
    int columns = P::n - at.n < P::tileN ? int(P::n - at.n) : P::tileN;
    live = at.m < P::m ? (columns + Plan::kBoxN - 1) / Plan::kBoxN : 0;
    if (bias)
      biases.read(bias, at.n);
    if (Plan::kBoxes && r && threadIdx.x % 32 == 0)
#pragma unroll
      for (int i = 0; i < Plan::kSlots; ++i)
        if (i < live)
          fetch(i);
  }

  __device__ void end(const float (&sums)[P::tileN / 2]) {
#pragma unroll
    for (int i = 0; i < kBoxes; ++i)
      if (i < live)
        storeOne(sums, i);
    boxes += live;
  }

  __device__ void storeOne(const float (&sums)[P::tileN / 2], int i) {
    constexpr int groups = Plan::kBoxN / 8;
    const int lane = threadIdx.x % 32;
    unsigned char *slot = slotOf(boxes + i);
    if (Plan::kBoxes && r) {
      filled[(boxes + i) % Plan::kSlots].wait((boxes + i) / Plan::kSlots % 2);
    } else {
      if (Plan::kBoxes && lane == 0)
        waitStores<Plan::kSlots - 1>();
      __syncwarp();
    }
#pragma unroll
    for (int j = 0; j < groups; ++j) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int group = i * groups + j;
        float pair[2] = {sums[group * 4 + h * 2], sums[group * 4 + h * 2 + 1]};
        // The 16-byte pieces of a line are permuted by the line's number.
        int row = h * 8 + lane / 4;
        int byte = (j * 8 + lane % 4 * 2) * int(sizeof(D));
        D *to = reinterpret_cast<D *>(
            slot + row * 128 + ((byte / 16 ^ lane / 4) * 16 + byte % 16));
        constexpr float none = kNothing<float>;
        float more[2] = {none, none}, residual[2] = {none, none};
        if (bias)
          biases.give(more, group);
        if (r)
          readResidual(residual, to, row, group * 8 + lane % 4 * 2);
#pragma unroll
        for (int c = 0; c < 2; ++c)
          pair[c] = finish<typename P::Epilogue>(pair[c], more[c], residual[c]);
        storeVector(to, pair);
      }
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

  __device__ void readResidual(float (&pair)[2], const D *slot, int row,
                               int col) {
    if constexpr (Plan::kBoxes) {
      loadVector(pair, slot);
    } else if (at.m + row < P::m) {
      const D *from = r + at.batch * P::strideD + (at.m + row) * P::ldd + at.n;
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (at.n + col + i < P::n)
          pair[i] = load(from[col + i]);
    }
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

/// Adds up the parts of a tile that the blocks of a cluster have, in the order
/// of the blocks, so that the result never depends on who was first.
template <class P> struct WgmmaReduce {
  using Plan = WgmmaPlan<P>;
  using D = typename P::D;
  static constexpr int kRows = P::tileM / P::split;
  static constexpr int kPieces = P::tileN / 8;
  static constexpr int kConsumerThreads = 128 * Plan::kConsumers;
  static constexpr int kTurns = wgmmaCeil(kRows * kPieces, kConsumerThreads);
  static constexpr bool kWhole =
      P::n % 8 == 0 && P::ldd % 8 == 0 && P::strideD % 8 == 0;

  float *partial;
  WgmmaTile at;
  int rank;
  D residual[kTurns][8];

  __device__ static int pieceOf(int turn) {
    return turn * kConsumerThreads + int(threadIdx.x);
  }
  __device__ int rowOf(int turn) const {
    return rank * kRows + pieceOf(turn) / kPieces;
  }
  __device__ static int colOf(int turn) { return pieceOf(turn) % kPieces * 8; }
  __device__ bool isMine(int turn) const {
    return pieceOf(turn) < kRows * kPieces && at.m + rowOf(turn) < P::m &&
           at.n + colOf(turn) < P::n;
  }
  __device__ int64_t offset(int turn) const {
    return at.batch * P::strideD + (at.m + rowOf(turn)) * P::ldd + at.n +
           colOf(turn);
  }

  __device__ void readResidual(const D *r) {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      if (!isMine(turn))
        continue;
      const D *from = r + offset(turn);
      if constexpr (kWhole) {
        *reinterpret_cast<Pack<D, 8> *>(residual[turn]) =
            *reinterpret_cast<const Pack<D, 8> *>(from);
      } else {
#pragma unroll
        for (int i = 0; i < 8; ++i)
          if (at.n + colOf(turn) + i < P::n)
            residual[turn][i] = from[i];
      }
    }
  }

  __device__ void write(const float (&sums)[P::tileN / 2]) {
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
    for (int j = 0; j < P::tileN / 8; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float pair[2] = {sums[j * 4 + h * 2], sums[j * 4 + h * 2 + 1]};
        storeVector(partial + (row + h * 8) * Plan::kPartialLine + j * 8 +
                        lane % 4 * 2,
                    pair);
      }
  }

  __device__ void finish(const typename P::Bias *bias, const D *r, D *d) {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      if (!isMine(turn))
        continue;
      const float *here =
          partial + rowOf(turn) * Plan::kPartialLine + colOf(turn);
      float parts[P::split][2][4];
#pragma unroll
      for (int block = 0; block < P::split; ++block) {
        loadFromBlock(parts[block][0], here, block);
        loadFromBlock(parts[block][1], here + 4, block);
      }
      float sums[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        sums[i] = parts[0][i / 4][i % 4];
#pragma unroll
        for (int block = 1; block < P::split; ++block)
          sums[i] += parts[block][i / 4][i % 4];
      }
      end(sums, turn, bias ? bias + at.n + colOf(turn) : nullptr, r,
          d + offset(turn));
    }
  }

  __device__ void end(float (&sums)[8], int turn, const typename P::Bias *bias,
                      const D *r, D *to) {
    const int left = int(P::n) - at.n - colOf(turn);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      constexpr float none = kNothing<float>;
      float more = none;
      if (bias && (kWhole || i < left))
        more = load(bias[i]);
      sums[i] = frit::finish<typename P::Epilogue>(
          sums[i], more, r ? load(residual[turn][i]) : none);
      if (!kWhole && i < left)
        store(to[i], sums[i]);
    }
    if constexpr (kWhole)
      storeVector(to, sums);
  }
};

} // namespace frit

#endif

#endif // FRIT_DEVICE_WGMMA_EPILOGUE_CUH
