//===- wgmma_sparse.cuh - Products by 2:4 sparse matrices on sm_90a -------===//
//
// D = epilogue(A · Bᵀ + bias + R) for many rows of A and a sparse matrix B in
// the tiles of sparse_tiles.cuh, by WGMMA. Rows of B are the sparse operand's,
// so sums are those of the transposed product: a warpgroup has 64 columns of D
// for `tileN` rows. A lane reads its fragments of B from memory into registers,
// 128 columns ahead; TMA copies rows of A, in stages of 64 columns, started by
// a warpgroup of its own. In the end sums are transposed in shared memory. P
// has gemm.cuh's A, D, Bias, m, n, k, ldd, Epilogue, those of sparse_tiles.cuh
// for codes, and
//
//   static constexpr int tileN;    // rows of A of a block, 128 or 256
//   static constexpr int stages;   // of A in shared memory
//   static constexpr bool early;   // no kernel before this one writes B
//
// n and k are multiples of 128, ldd of 8. The launch is that of a
// WgmmaSparseLayout; blocks of the same columns are neighbours. The map of A is
//
//   tiled, dims k, m; box 64, tileN; lines swizzled by 128 bytes
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_SPARSE_WGMMA_SPARSE_CUH
#define FRIT_CODEGEN_CUDA_SPARSE_WGMMA_SPARSE_CUH

#include "frit/pipeline.cuh"
#include "frit/sparse_tiles.cuh"
#include "frit/sparse_wgmma.cuh"
#include "frit/wgmma_layout.cuh"

namespace frit {

/// What a lane reads of a tile of B.
template <class P> struct SparsePart {
  using Format = SparseFormat<P>;
  static constexpr int chunks = int(P::k / Format::depth);
  static constexpr int count = Format::hasCodes ? 2 : 4;

  Pack<uint32_t, 4> words[count];
  Pack<uint32_t, 2> places;

  __device__ void read(const SparseMatrix<P> &b, int64_t tile, int chunk) {
    const int lane = threadIdx.x % 32;
    const int64_t at = tile * chunks + chunk;
    const char *values =
        static_cast<const char *>(b.values) + at * Format::valueBytes;
#pragma unroll
    for (int i = 0; i < count; ++i)
      words[i] = *reinterpret_cast<const Pack<uint32_t, 4> *>(
          values + (i * 32 + lane) * 16);
    places = *reinterpret_cast<const Pack<uint32_t, 2> *>(
        static_cast<const char *>(b.places) + at * Format::placeBytes +
        lane * 8);
  }
  /// Returns the fragment of a step of k.
  __device__ void fragment(uint32_t (&a)[4], int step) const {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if constexpr (Format::hasCodes)
        a[i] = Format::decode(words[step / 2].at[step % 2 * 2 + i % 2], i / 2);
      else
        a[i] = words[step].at[i];
  }
};

#ifdef FRIT_HAS_WGMMA

template <class P> struct SparseConsumer {
  using T = typename P::A;
  using Format = SparseFormat<P>;
  static constexpr WgmmaSparseLayout plan = {P::tileN, P::stages};
  static_assert(plan.fits());
  static constexpr int chunks = SparsePart<P>::chunks;
  using Sums = float[P::tileN / 2];

  using Part = SparsePart<P>;

  Barrier *full, *empty;
  unsigned char *shared;

  /// Adds the products of half a tile's columns, those of a stage.
  __device__ void addStage(Sums &sums, const Part &part, int half, int stage,
                           bool isFirst) const {
    const uint64_t columns =
        describeOperand<true>(shared + stage * plan.stageBytes());
    uint32_t a[2][4];
    part.fragment(a[0], half * 2);
    part.fragment(a[1], half * 2 + 1);
    fenceProducts();
    using Instruction = SparseWgmma<P::tileN>;
    Instruction::template multiply<T, 0>(sums, a[0], columns,
                                         part.places.at[half], !isFirst);
    Instruction::template multiply<T, 1>(
        sums, a[1], advanceOperand(columns, 2 * kNextSteps<true>),
        part.places.at[half], true);
    commitProducts();
  }

  __device__ void release(int stage) const {
    if (threadIdx.x % 32 == 0)
      empty[stage].arrive();
  }

  __device__ void multiply(Sums &sums, Part (&parts)[2],
                           const SparseMatrix<P> &b, int64_t tile) const {
    PipelineState<P::stages> place;
    int last = 0;
    // Parts alternate between registers, so that none is read into those of
    // products that are under way.
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; chunk += 2)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (chunks % 2 && chunk + i == chunks)
          break;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const bool isFirst = half == 0 && i == 0 && chunk == 0;
          full[place.stage].wait(place.parity);
          addStage(sums, parts[i], half, place.stage, isFirst);
          // The products of the stage before have finished.
          waitProducts<1>();
          if (!isFirst)
            release(last);
          last = place.stage;
          place.advance();
          if (half == 0 && chunk + i + 1 < chunks)
            parts[1 - i].read(b, tile, chunk + i + 1);
        }
      }
    waitProducts<0>();
#pragma unroll
    for (int i = 0; i < P::tileN / 2; ++i)
      keepBelow(sums[i]);
  }

  /// Transposes the sums of a warp's columns of D, times their scales.
  __device__ void transpose(const Sums &sums, const SparseMatrix<P> &b,
                            int64_t tile) const {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float *to = reinterpret_cast<float *>(shared);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float scale = 1;
      if constexpr (Format::hasCodes)
        scale = load(b.scales[tile * 16 + h * 8 + lane / 4]) * Format::factor();
#pragma unroll
      for (int j = 0; j < P::tileN / 8; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          to[(j * 8 + lane % 4 * 2 + i) * plan.sumStride + warp * 16 + h * 8 +
             lane / 4] = sums[j * 4 + h * 2 + i] * scale;
    }
  }

  /// Stores the function of the block's sums, 8 elements of a row at a time.
  __device__ void store(int64_t firstRow, int64_t firstCol,
                        const typename P::Bias *bias, const typename P::D *r,
                        typename P::D *d) const {
    using D = typename P::D;
    using Elements = Pack<D, 8>;
    const float *sums = reinterpret_cast<const float *>(shared);
    constexpr int pieces = plan.columns / 8;
    for (int i = threadIdx.x; i < P::tileN * pieces; i += 32 * plan.warps) {
      const int row = i / pieces, col = i % pieces * 8;
      if (P::m % P::tileN != 0 && firstRow + row >= P::m)
        break;
      const int64_t at = (firstRow + row) * P::ldd + firstCol + col;
      Elements residual, out;
      if (r)
        residual = *reinterpret_cast<const Elements *>(r + at);
#pragma unroll
      for (int e = 0; e < 8; ++e)
        finishElement<typename P::Epilogue>(
            sums[row * plan.sumStride + col + e],
            bias ? bias + firstCol + col + e : nullptr,
            r ? &residual.at[e] : nullptr, &out.at[e]);
      *reinterpret_cast<Elements *>(d + at) = out;
    }
  }
};

template <class P>
__device__ inline void wgmmaSparse(const TensorMap *mapA,
                                   const SparseMatrix<P> &b,
                                   const typename P::Bias *bias,
                                   const typename P::D *r, typename P::D *d) {
  using Consumer = SparseConsumer<P>;
  constexpr WgmmaSparseLayout plan = Consumer::plan;
  constexpr int rowTiles = int((P::m + P::tileN - 1) / P::tileN);
  constexpr int steps = int(P::k / kWgmmaDepth);
  static_assert(P::n % plan.columns == 0 && P::k % 128 == 0 && P::ldd % 8 == 0);
  const int warp = __shfl_sync(0xffffffff, int(threadIdx.x) / 32, 0);
  unsigned char *shared = tensorShared();
  Barrier *full = reinterpret_cast<Barrier *>(shared + plan.mainBytes());
  Barrier *empty = full + P::stages;
  const int64_t firstRow = int64_t(blockIdx.x % rowTiles) * P::tileN;
  const int64_t firstCol = int64_t(blockIdx.x / rowTiles) * plan.columns;
  if (threadIdx.x == 0) {
    for (int i = 0; i < P::stages; ++i) {
      full[i].init(1);
      empty[i].init(plan.warps);
    }
    fenceBarrierInit();
  }
  __syncthreads();
  pdlTrigger();
  if (warp >= plan.warps) {
    decMaxRegisters<24>();
    if (warp > plan.warps || threadIdx.x % 32 != 0)
      return;
    prefetchMap(mapA);
    pdlWait();
    PipelineState<P::stages> place;
    for (int step = 0; step < steps; ++step) {
      empty[place.stage].wait(place.parity ^ 1);
      full[place.stage].arriveExpecting(plan.stageBytes());
      loadBox(shared + place.stage * plan.stageBytes(), mapA, full[place.stage],
              step * kWgmmaDepth, int(firstRow));
      place.advance();
    }
    return;
  }
  incMaxRegisters<240>();
  const Consumer consumer = {full, empty, shared};
  const int64_t tile = firstCol / 16 + warp;
  typename Consumer::Part parts[2];
  if constexpr (!P::early)
    pdlWait();
  parts[0].read(b, tile, 0);
  if constexpr (P::early)
    pdlWait();
  typename Consumer::Sums sums;
  consumer.multiply(sums, parts, b, tile);
  joinThreads(32 * plan.warps);
  consumer.transpose(sums, b, tile);
  joinThreads(32 * plan.warps);
  consumer.store(firstRow, firstCol, bias, r, d);
}

#else

/// Computes the whole product without WGMMA: each warp has 16 columns of D for
/// 8 rows at a time.
template <class P>
__device__ inline void sparseFloor(const typename P::A *a,
                                   const SparseMatrix<P> &b,
                                   const typename P::Bias *bias,
                                   const typename P::D *r, typename P::D *d) {
  using T = typename P::A;
  using Format = SparseFormat<P>;
  constexpr int64_t rowTiles = (P::m + 7) / 8, items = P::n / 16 * rowTiles;
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  pdlWait();
  for (int64_t item = int64_t(blockIdx.x) * warps + threadIdx.x / 32;
       item < items; item += int64_t(gridDim.x) * warps) {
    const int64_t tile = item / rowTiles, first = item % rowTiles * 8;
    const int64_t row = first + lane / 4 < P::m ? first + lane / 4 : P::m - 1;
    const T *from = a + row * P::lda + lane % 4 * 2;
    float sums[1][4] = {};
    for (int chunk = 0; chunk < SparsePart<P>::chunks; ++chunk) {
      SparsePart<P> part;
      part.read(b, tile, chunk);
#pragma unroll
      for (int step = 0; step < Format::steps; ++step) {
        uint32_t fragment[4], x[4];
        part.fragment(fragment, step);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          x[i] = *reinterpret_cast<const uint32_t *>(
              from + chunk * Format::depth + step * 32 + i * 8);
        if (step % 2 == 0)
          mmaSparse<T, 0>(sums[0], fragment, x, part.places.at[step / 2]);
        else
          mmaSparse<T, 1>(sums[0], fragment, x, part.places.at[step / 2]);
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int64_t col = tile * 16 + lane / 4 + i / 2 * 8;
      const int64_t to = first + lane % 4 * 2 + i % 2;
      if constexpr (Format::hasCodes)
        sums[0][i] *= load(b.scales[col]) * Format::factor();
      if (to < P::m)
        finishElement<typename P::Epilogue>(
            sums[0][i], bias ? bias + col : nullptr,
            r ? r + to * P::ldd + col : nullptr, d + to * P::ldd + col);
    }
  }
}

#endif

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_SPARSE_WGMMA_SPARSE_CUH
