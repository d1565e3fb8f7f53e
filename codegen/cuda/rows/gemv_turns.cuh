//===- gemv_turns.cuh - Products of a few rows by few blocks --------------===//
//
// gemv.cuh's products with rows of B along k, for blocks that run beside other
// kernels: each reads as much as an SM can, so that few SMs have one. Warps
// take turns on tiles of 16 columns of D, which they multiply by the tensor
// cores as rows_gemm.cuh does. The rows of A are in shared memory, and a warp
// copies parts of B along k to its own ring of stages there, ahead of their
// use and from one tile on into the next. P is gemv.cuh's, of f16 or bf16, with
// `split` 1 and
//
//   static constexpr int stages;      // of a warp, at least 2
//   static constexpr int sharedBytes; // at least gemvTurnsShared; of a whole
//                                     // SM, since another block's loads there
//                                     // would wait for these copies
//
// `columns` is 16 for each warp. Any grid will do.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_GEMV_TURNS_CUH
#define FRIT_CODEGEN_CUDA_ROWS_GEMV_TURNS_CUH

#include "frit/gemv.cuh"
#include "frit/plain_tiles.cuh"

namespace frit {

/// The problem as plain_tiles.cuh takes it.
template <class P> struct TurnsOf : P {
  static constexpr int tiles = 1;
};

/// Parts along k.
template <class P>
inline constexpr int kTurnsChunks = int(
    (P::k + PlainTiles<TurnsOf<P>>::depth - 1) / PlainTiles<TurnsOf<P>>::depth);

/// Bytes of shared memory of a block.
template <class P> __device__ constexpr int gemvTurnsShared() {
  using Tiles = PlainTiles<TurnsOf<P>>;
  return P::threads / 32 * P::stages * Tiles::bytes +
         kTurnsChunks<P> * Tiles::Rows::bytes;
}

template <class P>
__device__ inline void gemvTurns(const typename P::A *a, const typename P::B *b,
                                 const typename P::Bias *bias,
                                 const typename P::D *r, typename P::D *d) {
  using Tiles = PlainTiles<TurnsOf<P>>;
  using RowsOfA = typename Tiles::Rows;
  constexpr int warps = P::threads / 32, stages = P::stages;
  constexpr int chunks = kTurnsChunks<P>;
  constexpr int64_t tiles = (P::n + 15) / 16;
  static_assert(P::transposeB && P::split == 1 && P::columns == 16 * warps &&
                P::m <= 8 && gemvTurnsShared<P>() <= P::sharedBytes);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  char *own = dynamicShared<char>() + warp * (stages * Tiles::bytes);
  char *rowsOfA = dynamicShared<char>() + warps * (stages * Tiles::bytes);
  // In the last turn, all blocks have about as many tiles.
  const int64_t first = int64_t(warp) * gridDim.x + blockIdx.x;
  const int64_t turn = int64_t(warps) * gridDim.x;

  int64_t fetched = first;
  int fetchedChunk = 0;
  auto fetch = [&](int stage) {
    if (fetched < tiles)
      Tiles::fetch(own + stage * Tiles::bytes, b, fetched, fetchedChunk);
    commitCopies(); // also of nothing, since waiting counts groups
    if (++fetchedChunk == chunks) {
      fetchedChunk = 0;
      fetched += turn;
    }
  };
  if constexpr (!P::early)
    pdlWait();
#pragma unroll
  for (int stage = 0; stage < stages; ++stage)
    fetch(stage);
  if constexpr (P::early)
    pdlWait();
  for (int chunk = warp; chunk < chunks; chunk += warps)
    RowsOfA::fetch(rowsOfA + chunk * RowsOfA::bytes, a, nullptr,
                   int64_t(chunk) * Tiles::depth);
  commitCopies();
  waitCopies<0>();
  __syncthreads();

  int stage = 0;
  RowSquares<TurnsOf<P>> squares;
  for (int64_t tile = first; tile < tiles; tile += turn) {
    float total[1][1][4] = {};
    for (int chunk = 0; chunk < chunks; ++chunk) {
      waitCopies<stages - 1>();
      __syncwarp();
      Tiles::multiply(total, squares, own + stage * Tiles::bytes,
                      rowsOfA + chunk * RowsOfA::bytes);
      __syncwarp();
      fetch(stage);
      stage = stage + 1 == stages ? 0 : stage + 1;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int64_t row = lane % 4 * 2 + i % 2;
      const int64_t col = tile * 16 + lane / 4 + i / 2 * 8;
      if (row < P::m && (P::n % 16 == 0 || col < P::n))
        finishGemv<P>(total[0][0][i], bias, r, d, row, col);
    }
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_GEMV_TURNS_CUH
