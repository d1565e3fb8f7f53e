//===- attention_gradient.cuh - The gradient without WGMMA ----------------===//
//
// The fallback for wgmma_attention_gradient.cuh on other architectures:
// attention_gradient_rows.cuh's tiles, of 64 rows, by mma.sync.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_GRADIENT_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_GRADIENT_CUH

#include "frit/attention_gradient_rows.cuh"

namespace frit {

/// A tile of 64 rows by mma.sync, by the first 128 threads of a block.
template <class P, bool OfKeys> struct GradientFloor : GradientRows<P, OfKeys> {
  using T = typename P::T;
  using Rows = GradientRows<P, OfKeys>;
  using Tile = RowTile<T, kGradientColumns, 64>;
  static constexpr int kThreads = 128;
  static constexpr int kSharing = GradientTensors<P>::kSharing;

  /// 64 rows of two operands, and their addends and deltas.
  struct Shared {
    Tile tiles[2];
    float numbers[2 * kGradientColumns];
  };

  /// Copies rows of an operand, and zeros for rows and columns that it lacks.
  template <class Strides>
  __device__ static void fetch(Strides, Tile &to, const T *from, int batch,
                               int head, int row, int rows) {
    using Piece = typename Tile::Piece;
    from += batch * Strides::batch + head * Strides::head;
    for (int piece = threadIdx.x; piece < kGradientColumns * 8;
         piece += kThreads) {
      const int line = piece / 8, column = piece % 8 * 8;
      const bool exists = row + line < rows && column < P::size;
      *to.at(line, column) =
          exists ? *reinterpret_cast<const Piece *>(
                       from + (row + line) * Strides::row + column)
                 : Piece{};
    }
  }

  /// Copies rows of queries if `Queries`, else of keys, and their numbers, for
  /// a head of queries.
  template <bool Queries>
  __device__ static void fetchRows(Shared &shared,
                                   const GradientTensors<P> &tensors, int batch,
                                   int head, int row) {
    __syncthreads();
    if constexpr (Queries) {
      fetch(typename P::Q(), shared.tiles[0], tensors.q, batch, head, row,
            P::queries);
      fetch(typename P::Dy(), shared.tiles[1], tensors.dy, batch, head, row,
            P::queries);
      const int i = threadIdx.x;
      if (i < kGradientColumns)
        tensors.loadQuery(shared.numbers[i],
                          shared.numbers[kGradientColumns + i], batch, head,
                          row + i);
    } else {
      fetch(typename P::K(), shared.tiles[0], tensors.k, batch, head / kSharing,
            row, P::keys);
      fetch(typename P::V(), shared.tiles[1], tensors.v, batch, head / kSharing,
            row, P::keys);
      if (masksKeys<P>() && threadIdx.x < kGradientColumns)
        shared.numbers[threadIdx.x] =
            tensors.loadKey(batch, head, row + threadIdx.x);
    }
    __syncthreads();
  }

  /// Computes to += a · otherᵀ, or to += a · other if `AlongRows`.
  template <bool AlongRows>
  __device__ static void multiply(GradientSums &to, const GradientOperand &a,
                                  Tile &other) {
#pragma unroll
    for (int step = 0; step < 4; ++step)
#pragma unroll
      for (int column = 0; column < 8; column += 2) {
        uint32_t b[2][2];
        if constexpr (AlongRows)
          other.loadColumns(b, step * 16, column * 8);
        else
          other.loadRows(b, column * 8, step * 16);
        mma<T>(to[column], a[step], b[0]);
        mma<T>(to[column + 1], a[step], b[1]);
      }
  }

  template <class Strides>
  __device__ void store(Strides, T *to, const GradientSums &sums, float scale,
                        const GradientTile &tile) const {
    const int head = OfKeys ? tile.head / kSharing : tile.head;
    to += tile.batch * Strides::batch + head * Strides::head;
#pragma unroll
    for (int column = 0; column < 8; ++column)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = this->rowOf(half);
        const int at = column * 8 + Rows::lane() % 4 * 2;
        const float *pair = &sums[column][half * 2];
        if (row < Rows::kRowCount && at < P::size)
          *reinterpret_cast<uint32_t *>(to + row * Strides::row + at) =
              packPair<T>(pair[0] * scale, pair[1] * scale);
      }
  }

  __device__ void compute(Shared &shared, const GradientTensors<P> &tensors,
                          const GradientTile &tile) {
    const int warp = threadIdx.x / 32;
    this->firstRow = tile.row + warp * 16;
    fetchRows<!OfKeys>(shared, tensors, tile.batch, tile.head, tile.row);
    GradientOperand a, b, weights, ds;
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      shared.tiles[0].loadA(a[step], warp * 16, step * 16);
      shared.tiles[1].loadA(b[step], warp * 16, step * 16);
    }
    if constexpr (!OfKeys)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = this->rowOf(half) - tile.row;
        this->addend[half] = shared.numbers[row];
        this->delta[half] = shared.numbers[kGradientColumns + row];
      }
    GradientSums sums = {}, values = {};
    typename Rows::Numbers numbers;
    const typename P::Mask *ranges = tensors.maskOf(tile.batch, tile.head);
    const GradientSteps steps =
        gradientSteps<P, OfKeys>(ranges, tile.row, kGradientColumns);
    this->loadShown(ranges, tile.row);
    for (int i = 0; i < (OfKeys ? kSharing : 1); ++i) {
      const int head = tile.head + i;
      this->loadKeys(tensors, tile.batch, head);
      for (int step = steps.first; step < steps.last; ++step) {
        const int column = step * kGradientColumns;
        fetchRows<OfKeys>(shared, tensors, tile.batch, head, column);
        GradientSums scores = {}, dp = {};
        multiply<false>(scores, a, shared.tiles[0]);
        multiply<false>(dp, b, shared.tiles[1]);
        const typename P::Mask *mask = tensors.maskOf(tile.batch, head);
        if (this->mustHide(tile.row, column))
          this->hide(scores, column, mask);
        if constexpr (Rows::kAddsColumns)
          Rows::load(numbers, shared.numbers);
        this->weigh(scores, numbers, column, mask);
        if constexpr (OfKeys)
          Rows::load(numbers, shared.numbers + kGradientColumns);
        this->pack(weights, ds, scores, dp, numbers);
        multiply<true>(sums, ds, shared.tiles[0]);
        if constexpr (OfKeys)
          multiply<true>(values, weights, shared.tiles[1]);
      }
    }
    if constexpr (OfKeys) {
      store(typename P::Dk(), tensors.dk, sums, P::scale, tile);
      store(typename P::Dv(), tensors.dv, values, 1, tile);
    } else {
      store(typename P::Dq(), tensors.dq, sums, P::scale, tile);
    }
    this->storeAllSums(tensors, tile, sums, values);
  }
};

/// Fallback for architectures without WGMMA: without dynamic shared memory, by
/// the first 128 threads of a block.
template <class P>
__device__ inline void
attentionGradientFloor(const GradientTensors<P> &tensors) {
  using OfKeys = GradientFloor<P, true>;
  using OfQueries = GradientFloor<P, false>;
  pdlWait();
  __shared__ __align__(16) unsigned char bytes[sizeof(typename OfKeys::Shared)];
  if (threadIdx.x >= OfKeys::kThreads)
    return;
  forGradientTiles<P, kGradientColumns>(
      [&](const GradientTile &tile) {
        OfKeys().compute(*reinterpret_cast<typename OfKeys::Shared *>(bytes),
                         tensors, tile);
      },
      [&](const GradientTile &tile) {
        OfQueries().compute(
            *reinterpret_cast<typename OfQueries::Shared *>(bytes), tensors,
            tile);
      });
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_GRADIENT_CUH
