//===- code_rows.cuh - Products of a few rows by codes --------------------===//
//
// Computes what rows_gemm.cuh does for a matrix B of codes, as fast as they are
// read. Rows of A are converted once a block, as scaled_rows.cuh says, so that
// codes need few instructions before tensor cores multiply them: of integers,
// one a word or two. With `widens` rows stay as they are, and codes become
// numbers of their type: more instructions a code, and fewer a row. A warp
// copies its codes to its own ring in shared memory, `stages` parts of k ahead.
// Those that a ring holds are on their way before the kernels before this one
// have finished. P is that of rows_gemm.cuh with the fields of code_lanes.cuh;
// tiles along k of warps that share it are neighbours. P may have
//
//   static constexpr int rounds;   // groups of tiles of a warp
//   static constexpr int together; // tiles along k of a stage: 1, 2 or 4
//   static constexpr bool widens;  // A is bf16, and what multiplies it too
//   static constexpr int sums;     // KiB of sums of rounds: 32
//   static constexpr int sharing;  // blocks of a cluster: as shared_rows.cuh
//
// A warp multiplies the groups one after another by the same rows of A. The
// grid is ceil(m / rows) · ceil(n / (16 · tiles · rounds · warps / split)).
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_CODE_ROWS_CUH
#define FRIT_CODEGEN_CUDA_ROWS_CODE_ROWS_CUH

#include "frit/code_products.cuh"
#include "frit/rows_end.cuh"

namespace frit {

/// Bytes of shared memory of a block.
template <class P> __device__ constexpr int codeRowsShared() {
  return CodeRows<P>::bytes;
}

template <class P>
__device__ inline void
codeRows(const typename P::A *a, const typename P::A *scale,
         const CodeMatrix<P> (&b)[kMatrices<P>], const typename P::Bias *bias,
         const typename P::D *r, typename P::D *d) {
  using Kernel = CodeRows<P>;
  using Shares = CodeShares<P>;
  using Rows = ScaledRows<P>;
  using Codes = LaneCodes<P>;
  using Ring = CodeRing<P>;
  constexpr int parts = Shares::parts, slab = Shares::slab;
  constexpr int depth = Ring::depth;
  constexpr int allTiles = int(P::n / 16);
  constexpr int tilesOfRound = Shares::groups * P::tiles;
  constexpr int tilesOfBlock = kRounds<P> * tilesOfRound;
  static_assert(Shares::warps % P::split == 0 &&
                Kernel::bytes <= P::sharedBytes);
  const int warp = threadIdx.x / 32;
  const int part = warp % P::split, group = warp / P::split;
  const int firstTile = int(RowsBlock<P>::columns()) * tilesOfBlock;
  // Then all blocks have as many rounds, and tiles are at constant distances.
  constexpr bool isWhole = allTiles % tilesOfBlock == 0;
  // Then none is copied later.
  constexpr bool holdsAll = kRounds<P> * parts <= P::stages * depth;
  const int rounds =
      isWhole || firstTile + tilesOfBlock <= allTiles
          ? kRounds<P>
          : (allTiles - firstTile + tilesOfRound - 1) / tilesOfRound;
  char *shared = dynamicShared<char>();
  const Ring ring = {shared + warp * Ring::bytes};
  char *columns = shared + Kernel::ringBytes;
  float *factorsOf = reinterpret_cast<float *>(columns + Rows::bytes);
  float *squares = factorsOf + Rows::factorCount;
  using Part = typename Kernel::Part;
  Part *sumsOf = reinterpret_cast<Part *>(squares + Rows::squareCount);
  const Rows rows = {columns, factorsOf, squares};
  const SharedRows<P> others = {rows, shared + Kernel::barriersFrom};
  others.open();

  // Beyond the last row of tiles is the last one.
  auto rowOfTiles = [&](int first, int t) {
    const int row = first + t % P::tiles;
    return isWhole || row < allTiles ? row : allTiles - 1;
  };
  // Starts copying the next stage of the warp, over all rounds.
  const int ownTile = firstTile + group * P::tiles;
  int fetchTile = ownTile, fetchPart = 0, fetchStage = 0;
  auto fetch = [&] {
    if (fetchTile < firstTile + rounds * tilesOfRound) {
      int chunk = part * parts + fetchPart;
      // Elements of A are zeros there.
      if (Shares::chunks % P::split != 0 && chunk >= Shares::chunks)
        chunk = Shares::chunks - depth;
#pragma unroll
      for (int t = 0; t < kWarpTiles<P>; ++t)
        ring.fetch(fetchStage, t, b[t / P::tiles],
                   rowOfTiles(fetchTile, t) * Shares::chunks + chunk);
      fetchStage = fetchStage + 1 == P::stages ? 0 : fetchStage + 1;
      fetchPart += depth;
      if (fetchPart == parts) {
        fetchPart = 0;
        fetchTile += tilesOfRound;
      }
    }
    commitCopies(); // also of nothing, since waiting counts groups
  };
  Codes ofRows[kWarpTiles<P>];
  auto readOfRows = [&](int first) {
    if constexpr (Codes::isOfRow)
#pragma unroll
      for (int t = 0; t < kWarpTiles<P>; ++t)
        ofRows[t].readOfRow(b[t / P::tiles], rowOfTiles(first, t));
  };
  if constexpr (!P::early)
    pdlWait();
  readOfRows(ownTile);
#pragma unroll 1
  for (int i = 0; i < P::stages; ++i)
    fetch();
  typename Rows::Pieces pieces;
  Rows::readScales(pieces, scale, 0, 0);
  if constexpr (P::early)
    pdlWait();

  if constexpr (others.isUsed)
    others.copy(a, part, group);
  else if constexpr (Rows::copies)
    rows.copy(a);
  else
    Rows::read(pieces, a, 0, 0);
  if constexpr (others.isUsed) {
    others.wait(part);
  } else if constexpr (Rows::isWhole) {
    rows.convert(pieces, a, scale, 0, true);
    __syncthreads();
  }
  if constexpr (holdsAll) {
    waitCopies<0>();
    Ring::join();
  }
  typename Kernel::Sums sums = {};
  typename Kernel::RowSums ofA = {};
  int stage = 0;
#pragma unroll 1
  for (int batch = 0; batch < rounds; batch += Kernel::sumRounds) {
    RowsEnd<P, Kernel::sumRounds> end(bias, r, d, batch);
#pragma unroll 1
    for (int round = batch; round < rounds && round < batch + Kernel::sumRounds;
         ++round) {
      Codes codes[depth][kWarpTiles<P>];
      if constexpr (Codes::isOfRow) {
#pragma unroll
        for (int c = 0; c < depth; ++c)
#pragma unroll
          for (int t = 0; t < kWarpTiles<P>; ++t)
            codes[c][t] = ofRows[t];
        if (round + 1 < rounds)
          readOfRows(ownTile + (round + 1) * tilesOfRound);
      }
      typename Kernel::Totals totals = {};
      if constexpr (!Rows::isWhole)
        rows.convert(pieces, a, scale, 0, round == 0);
#pragma unroll 1
      for (int s = 0; s < Shares::slabs; ++s) {
        const int nextSlab = s + 1 < Shares::slabs ? s + 1 : 0;
        if constexpr (!Rows::isWhole) {
          __syncthreads();
          if (nextSlab != 0 || round + 1 < rounds) {
            Rows::read(pieces, a, 0, nextSlab);
            Rows::readScales(pieces, scale, 0, nextSlab);
          }
        }
        typename Kernel::Factors factors;
        Kernel::loadFactors(factors, rows, s, part);
#pragma unroll
        for (int from = 0; from < slab; from += depth) {
          if (Shares::slabs * slab != parts && s * slab + from >= parts)
            break;
          if constexpr (!holdsAll) {
            waitCopies<P::stages - 1>();
            Ring::join();
          }
#pragma unroll
          for (int c = 0; c < depth; ++c)
#pragma unroll
            for (int t = 0; t < kWarpTiles<P>; ++t)
              ring.read(codes[c][t], stage, t, c);
          if constexpr (!holdsAll) {
            Ring::join();
            fetch();
          }
          stage = stage + 1 == P::stages ? 0 : stage + 1;
#pragma unroll
          for (int c = 0; c < depth; ++c)
            Kernel::addTile(totals, sums, ofA, codes[c], rows, factors, s, part,
                            from + c);
        }
        if constexpr (!Rows::isWhole) {
          if (Rows::buffers == 1)
            __syncthreads();
          if (nextSlab != 0)
            rows.convert(pieces, a, scale, nextSlab, round == 0);
        }
      }
      Kernel::store(sumsOf[(round - batch) * Shares::warps + warp], totals);
      // Then another slab may be written.
      if (!Rows::isWhole && round + 1 < rounds)
        __syncthreads();
    }
    __syncthreads();
    end.finish(sumsOf, [&](int row, int, int part) {
      return rows.squareOf(part, row);
    });
    // Then others may be written.
    if (batch + Kernel::sumRounds < rounds)
      __syncthreads();
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_CODE_ROWS_CUH
