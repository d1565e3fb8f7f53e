//===- wgmma_attention_gradient.cuh - Gradient of attention on sm_90a -----===//
//
// attention_gradient_rows.cuh's problems by TMA and WGMMA. A tile has 128 rows.
// Each of two warpgroups keeps 64 of them, of two operands, in registers; a
// producer warp copies the rows that pass by into a ring of pipeline stages.
// While the tensor cores add up one stage, the warpgroup computes the weights
// of the next.
//
// P is attention_gradient_rows.cuh's, with heads of more than 32 elements, and
//
//   static constexpr int stages;                // 3 or more
//
// Threads and shared memory are those of WgmmaAttentionGradientLayout. grid.x
// is at most batch · groups · ceil(max(queries, keys) / 128); one wave of
// blocks is enough.
//
// Tensor maps, of rank 4, innermost first, swizzled by 128 bytes, zeros
// outside, with the strides of the tensors:
//
//   q, dy   dims size, queries, heads, batch    box 64, 64, 1, 1
//   k, v    dims size, keys, groups, batch      box 64, 64, 1, 1
//   dq      dims size, queries, heads, batch    box 64, 16, 1, 1
//   dk, dv  dims size, keys, groups, batch      box 64, 16, 1, 1
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_GRADIENT_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_GRADIENT_CUH

#include "frit/wgmma_attention_gradient_tile.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

struct GradientMaps {
  const TensorMap *q, *k, *v, *dy, *dq, *dk, *dv;
};

/// The producer warp: copies rows for the warpgroups.
template <class P> struct GradientProducer {
  using Shape = WgmmaAttentionGradientShape<P>;
  const GradientMemory<P> &memory;
  const GradientMaps &maps;
  const GradientTensors<P> &tensors;
  PipelineState<P::stages> place;
  uint32_t rowsParity = 0;

  /// Copies `Rows` rows of two operands, and their numbers, for a head of
  /// queries.
  template <int Rows, bool OfQueries>
  __device__ void copy(unsigned char *to, float *numbers, Barrier &full,
                       Barrier &empty, uint32_t parity, int row, int head,
                       int batch) const {
    const TensorMap *operands[2] = {OfQueries ? maps.q : maps.k,
                                    OfQueries ? maps.dy : maps.v};
    const int lane = threadIdx.x % 32;
    float addend[Rows / 32], delta[Rows / 32];
#pragma unroll
    for (int i = 0; i < Rows / 32; ++i) {
      const int at = row + i * 32 + lane;
      if constexpr (OfQueries)
        tensors.loadQuery(addend[i], delta[i], batch, head, at);
      else if constexpr (masksKeys<P>())
        addend[i] = tensors.loadKey(batch, head, at);
    }
    empty.wait(parity ^ 1);
    if (lane == 0) {
      full.arriveExpecting(2 * Rows * kLineBytes);
#pragma unroll
      for (int operand = 0; operand < 2; ++operand)
#pragma unroll
        for (int first = 0; first < Rows; first += Shape::kColumns)
          loadBox(to + (operand * Rows + first) * kLineBytes, operands[operand],
                  full, 0, row + first,
                  OfQueries ? head : head / Shape::kSharing, batch);
    }
#pragma unroll
    for (int i = 0; i < Rows / 32; ++i) {
      if constexpr (OfQueries || masksKeys<P>())
        numbers[i * 32 + lane] = addend[i];
      if constexpr (OfQueries)
        numbers[Rows + i * 32 + lane] = delta[i];
    }
    __syncwarp();
    full.arriveIf(lane == 0);
  }

  /// Copies the rows that stay.
  template <bool OfQueries> __device__ void copyRows(const GradientTile &tile) {
    copy<Shape::kRows, OfQueries>(memory.rows, memory.rowNumbers,
                                  *memory.rowsFull, *memory.rowsEmpty,
                                  rowsParity, tile.row, tile.head, tile.batch);
    rowsParity ^= 1;
  }

  template <bool OfQueries>
  __device__ void copyStage(int step, int head, int batch) {
    const int stage = place.stage;
    copy<Shape::kColumns, OfQueries>(
        memory.stageOf(stage, 0), memory.numbersOf(stage), memory.full[stage],
        memory.empty[stage], place.parity, step * Shape::kColumns, head, batch);
    place.advance();
  }

  __device__ void run() {
    forGradientTiles<P, Shape::kRows>(
        [&](const GradientTile &tile) {
          copyRows<false>(tile);
          GradientSteps steps = gradientSteps<P, true>(
              tensors.maskOf(tile.batch, tile.head), tile.row, Shape::kRows);
          for (int i = 0; i < Shape::kSharing; ++i)
            for (int step = steps.first; step < steps.last; ++step)
              copyStage<true>(step, tile.head + i, tile.batch);
        },
        [&](const GradientTile &tile) {
          copyRows<true>(tile);
          GradientSteps steps = gradientSteps<P, false>(
              tensors.maskOf(tile.batch, tile.head), tile.row, Shape::kRows);
          for (int step = steps.first; step < steps.last; ++step)
            copyStage<false>(step, tile.head, tile.batch);
        });
  }
};

/// A consumer warpgroup, for a tile's rows of keys if `OfKeys`, else of
/// queries.
template <class P, bool OfKeys> struct GradientSide : GradientRows<P, OfKeys> {
  using T = typename P::T;
  using Shape = WgmmaAttentionGradientShape<P>;
  using Memory = GradientMemory<P>;
  using Place = PipelineState<P::stages>;
  using Rows = GradientRows<P, OfKeys>;
  using Sums = GradientSums;
  using Operand = GradientOperand;
  using Rows::lane;

  const Memory &memory;
  const GradientMaps &maps;
  const GradientTensors<P> &tensors;
  /// This warp's index in the block.
  const int warp;
  /// The rows that stay.
  Operand a, b;
  /// dk or dq, and dv.
  Sums sums = {}, values = {};

  __device__ GradientSide(const Memory &memory, const GradientMaps &maps,
                          const GradientTensors<P> &tensors, int warp)
      : memory(memory), maps(maps), tensors(tensors), warp(warp) {}

  __device__ void release(Barrier &barrier) const {
    barrier.arriveIf(threadIdx.x % 32 == 0);
  }

  //===--------------------------------------------------------------------===//
  // Products
  //===--------------------------------------------------------------------===//

  /// Starts to = rows · otherᵀ, along the elements of a head.
  __device__ static void multiplyRows(Sums &to, const Operand &rows,
                                      const unsigned char *other) {
    const uint64_t columns = describeOperand<true>(other);
#pragma unroll
    for (int step = 0; step < 4; ++step)
      Wgmma<64>::multiply<T, true>(
          reinterpret_cast<float (&)[32]>(to), rows[step],
          advanceOperand(columns, step * kNextSteps<true>), step > 0);
  }
  /// Starts to += weights · other, along the rows of a stage.
  __device__ static void addRows(Sums &to, const Operand &weights,
                                 const unsigned char *other) {
    const uint64_t columns = describeOperand<false>(other, Shape::kColumns);
#pragma unroll
    for (int step = 0; step < 4; ++step)
      Wgmma<64>::multiply<T, false>(
          reinterpret_cast<float (&)[32]>(to), weights[step],
          advanceOperand(columns, step * kNextSteps<false>), true);
  }

  /// Loads this warp's rows of an operand that stays.
  __device__ void loadRows(Operand &to, int operand) const {
    unsigned char *rows = memory.rowsOf(operand);
#pragma unroll
    for (int step = 0; step < 4; ++step)
      loadMatrices<false>(to[step], swizzledPiece(rows, warp * 16 + lane() % 16,
                                                  step * 2 + lane() / 16));
  }

  //===--------------------------------------------------------------------===//
  // A tile
  //===--------------------------------------------------------------------===//

  /// Adds up the steps of the warpgroup, whose rows begin at `row`, from
  /// position `at` on.
  __device__ void sumUp(Place at, const GradientSteps &steps, int row,
                        const typename P::Mask *mask) {
    Sums scores, dp;
    Operand weights, ds;
    Place before = at;
    if (steps.count() == 0)
      return;
    // Starts the products that give a step's weights.
    auto startScores = [&](int stage) {
      fenceProducts();
      multiplyRows(scores, a, memory.stageOf(stage, 0));
      commitProducts();
      fenceProducts();
      multiplyRows(dp, b, memory.stageOf(stage, 1));
    };
    // Starts the products with a step's weights.
    auto startSums = [&](int stage) {
      if constexpr (OfKeys)
        addRows(values, weights, memory.stageOf(stage, 1));
      addRows(sums, ds, memory.stageOf(stage, 0));
      commitProducts();
    };
    keepBelow(sums);
    if constexpr (OfKeys)
      keepBelow(values);
    // Turns a step's products into the operands of startSums().
    auto finish = [&](int step) {
      typename Rows::Numbers addends, deltas;
      const float *numbers = memory.numbersOf(at.stage);
      if constexpr (Rows::kAddsColumns)
        Rows::load(addends, numbers);
      waitProducts<1>();
      keepBelow(scores);
      const int column = step * Shape::kColumns;
      if (this->mustHide(row, column))
        this->hide(scores, column, mask);
      this->weigh(scores, addends, column, mask);
      if constexpr (OfKeys)
        Rows::load(deltas, numbers + Shape::kColumns);
      // Compilers hoist waits for products above the arithmetic that should
      // overlap with them, but not above this wait.
      Place next = at;
      next.advance();
      if (step + 1 < steps.last)
        memory.full[next.stage].wait(next.parity);
      waitProducts<0>();
      keepBelow(dp);
      if (step > steps.first)
        release(memory.empty[before.stage]);
      this->pack(weights, ds, scores, dp, deltas);
      before = at;
      at = next;
    };
    memory.full[at.stage].wait(at.parity);
    startScores(at.stage);
    commitProducts();
    finish(steps.first);
    for (int step = steps.first + 1; step < steps.last; ++step) {
      startScores(at.stage);
      startSums(before.stage);
      finish(step);
    }
    fenceProducts();
    startSums(before.stage);
    waitProducts<0>();
    keepBelow(sums);
    if constexpr (OfKeys)
      keepBelow(values);
    release(memory.empty[before.stage]);
  }

  /// Releases stages that the block loads and this warpgroup does not need.
  __device__ void skip(Place &place, int steps) const {
    for (int step = 0; step < steps; ++step) {
      memory.full[place.stage].wait(place.parity);
      release(memory.empty[place.stage]);
      place.advance();
    }
  }

  /// Stores this warp's rows by TMA, which drops rows past the last.
  __device__ void store(const TensorMap *map, int result, const Sums &from,
                        float scale, const GradientTile &tile) const {
    unsigned char *box = memory.resultOf(result);
#pragma unroll
    for (int column = 0; column < 8; column += 2) {
      uint32_t pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float *pair = &from[column + i / 2][i % 2 * 2];
        pairs[i] = packPair<T>(pair[0] * scale, pair[1] * scale);
      }
      storeMatrices(
          swizzledPiece(box, warp * 16 + lane() % 16, column + lane() / 16),
          pairs);
    }
    fenceAsync();
    __syncwarp();
    if (lane() == 0)
      storeBox(map, box + warp * kBoxBytes, 0, this->firstRow,
               OfKeys ? tile.head / Shape::kSharing : tile.head, tile.batch);
    __syncwarp();
  }

  /// Computes a tile. `place` moves on to the stage after it.
  __device__ void compute(const GradientTile &tile, Place &place,
                          uint32_t &rowsParity) {
    const int row = tile.row + warp / 4 * Shape::kColumns;
    this->firstRow = row + warp % 4 * 16;
    memory.rowsFull->wait(rowsParity);
    rowsParity ^= 1;
    loadRows(a, 0);
    loadRows(b, 1);
    if constexpr (!OfKeys)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int i = this->rowOf(half) - tile.row;
        this->addend[half] = memory.rowNumbers[i];
        this->delta[half] = memory.rowNumbers[Shape::kRows + i];
      }
    // An arrival does not wait for loads in flight. Without a fence, TMA would
    // sometimes write the next tile's rows before they are read.
    fenceAsync();
    __syncwarp();
    release(*memory.rowsEmpty);
    const typename P::Mask *ranges = tensors.maskOf(tile.batch, tile.head);
    const GradientSteps all =
        gradientSteps<P, OfKeys>(ranges, tile.row, Shape::kRows);
    const GradientSteps mine =
        gradientSteps<P, OfKeys>(ranges, row, Shape::kColumns);
    this->loadShown(ranges, row);
    const int before = mine.count() ? mine.first - all.first : 0;
#pragma unroll 1
    for (int i = 0; i < (OfKeys ? Shape::kSharing : 1); ++i) {
      this->loadKeys(tensors, tile.batch, tile.head + i);
      skip(place, before);
      sumUp(place, mine, row, tensors.maskOf(tile.batch, tile.head + i));
      place.skip(mine.count());
      skip(place, all.count() - before - mine.count());
    }
    if (lane() == 0)
      waitStores<0>();
    __syncwarp();
    if (this->firstRow >= Rows::kRowCount)
      return;
    store(OfKeys ? maps.dk : maps.dq, 0, sums, P::scale, tile);
    if constexpr (OfKeys)
      store(maps.dv, 1, values, 1, tile);
    if (lane() == 0)
      commitStores();
    __syncwarp();
    this->storeAllSums(tensors, tile, sums, values);
  }
};

/// Computes all gradients.
template <class P>
__device__ inline void
wgmmaAttentionGradient(const GradientMaps &maps,
                       const GradientTensors<P> &tensors) {
  using Shape = WgmmaAttentionGradientShape<P>;
  if (threadIdx.x == 0)
    for (const TensorMap *map :
         {maps.q, maps.k, maps.v, maps.dy, maps.dq, maps.dk, maps.dv})
      prefetchMap(map);
  GradientMemory<P> memory;
  memory.initBarriers();
  pdlTrigger();
  pdlWait();
  const int warp = __shfl_sync(~0u, int(threadIdx.x) / 32, 0);
  if (warp >= Shape::kWarps) {
    decMaxRegisters<Shape::kFew>();
    if (warp == Shape::kWarps)
      GradientProducer<P>{memory, maps, tensors}.run();
    return;
  }
  incMaxRegisters<Shape::kMany>();
  PipelineState<P::stages> place;
  uint32_t rowsParity = 0;
  forGradientTiles<P, Shape::kRows>(
      [&](const GradientTile &tile) {
        GradientSide<P, true> side(memory, maps, tensors, warp);
        side.compute(tile, place, rowsParity);
      },
      [&](const GradientTile &tile) {
        GradientSide<P, false> side(memory, maps, tensors, warp);
        side.compute(tile, place, rowsParity);
      });
  if (threadIdx.x % 32 == 0)
    waitStores<0>();
}

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_GRADIENT_CUH
