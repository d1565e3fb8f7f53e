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
//
// A warp multiplies the groups one after another by the same rows of A. The
// grid is ceil(m / rows) · ceil(n / (16 · tiles · rounds · warps / split)).
//
// Sums of a block of columns, without rounding if codes are integers, are
// scaled in f32. They do not depend on the other rows of A.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_CODE_ROWS_CUH
#define FRIT_CODEGEN_CUDA_ROWS_CODE_ROWS_CUH

#include "frit/rows_end.cuh"
#include "frit/scaled_rows.cuh"

namespace frit {

template <class P> struct CodeRows {
  using Shares = CodeShares<P>;
  using Rows = ScaledRows<P>;
  using Codes = LaneCodes<P>;
  static constexpr int columnTiles = Rows::columnTiles;
  static constexpr bool isInteger = Rows::isInteger;
  /// What numbers exceed codes by. That, or offsets, need the sums of rows.
  static constexpr float bias = CodeNumbers<P>::bias;
  static constexpr bool sumsRows = P::hasOffsets || bias != 0;
  /// Sums of the warps, of a row of A and the columns of their tiles, of as
  /// many rounds as have room.
  static constexpr int rows = Rows::rows;
  static constexpr int sumsOfRow = 16 * kWarpTiles<P> + 4;
  static constexpr int roundBytes =
      Shares::warps * rows * sumsOfRow * int(sizeof(float));
  static constexpr int kMostSums = (rows <= 2 ? 28 : 32) << 10;
  static constexpr int sumRounds =
      kRounds<P> * roundBytes <= kMostSums ? kRounds<P>
      : roundBytes <= kMostSums            ? kMostSums / roundBytes
                                           : 1;
  static constexpr int ringBytes = Shares::warps * CodeRing<P>::bytes;
  static constexpr int bytes =
      ringBytes + Rows::bytes + sumRounds * roundBytes +
      (Rows::factorCount + Rows::squareCount) * int(sizeof(float));

  /// Sums of products that a lane has of a tile: of high and low bytes two of
  /// the four of a fragment make one.
  static constexpr int sumsOfLane = 4 / Rows::columnsOfRow;
  using Totals = float[kWarpTiles<P>][columnTiles][sumsOfLane];
  using Acc = typename ProductSum<P>::Type;
  using Sums = Acc[kWarpTiles<P>][columnTiles][4];
  using RowSums = Acc[columnTiles][4];
  /// Units after which sums are scaled: as many as have the same scale in a
  /// slab and in a warp's share of k.
  static __device__ constexpr int unitsOfSum() {
    int units = 1;
    while (units < 8 && P::block % (2 * units * kUnit) == 0 &&
           Shares::width % (2 * units * kUnit) == 0 &&
           Shares::parts * Shares::depth % (2 * units * kUnit) == 0)
      units *= 2;
    return units;
  }

  static __device__ float total(const Acc (&sums)[4], int i) {
    if constexpr (isInteger)
      return float(sums[2 * i] * 256 + sums[2 * i + 1]);
    else
      return sums[i];
  }
  /// Returns the row of A of a sum, and whether it is row g + 8 of the tile.
  static __device__ int rowOf(int j, int i) {
    const int lane = threadIdx.x % 4;
    return isInteger ? j * 4 + lane : j * 8 + lane * 2 + i % 2;
  }
  static __device__ int upperOf(int i) { return isInteger ? i : i / 2; }

  /// What sums of products are multiplied by beside the scales, of a slab.
  using Factors = float[columnTiles][Rows::factorsOfTile];
  static __device__ void loadFactors(Factors &to, const Rows &rows, int slab,
                                     int part) {
#pragma unroll
    for (int j = 0; j < columnTiles; ++j)
#pragma unroll
      for (int i = 0; i < Rows::factorsOfTile; ++i)
        to[j][i] = rows.factorOf(slab, part, rowOf(j, i));
  }

  static __device__ void addScaled(Totals &totals, Sums &sums, RowSums &ofA,
                                   const Codes (&codes)[kWarpTiles<P>],
                                   const Factors &factors, int group) {
#pragma unroll
    for (int t = 0; t < kWarpTiles<P>; ++t)
#pragma unroll
      for (int j = 0; j < columnTiles; ++j)
#pragma unroll
        for (int i = 0; i < sumsOfLane; ++i) {
          const float factor = factors[j][i % Rows::factorsOfTile];
          const int upper = upperOf(i);
          float &to = totals[t][j][i];
          to = fma(load(codes[t].scales[group].at[upper]) * factor,
                   bias == 0
                       ? total(sums[t][j], i)
                       : fma(-bias, total(ofA[j], i), total(sums[t][j], i)),
                   to);
          if constexpr (P::hasOffsets)
            to = fma(load(codes[t].offsets[group].at[upper]) *
                         (factor * (1.f / Codes::kFactor)),
                     total(ofA[j], i), to);
        }
    reset(sums, ofA);
  }
  static __device__ void reset(Sums &sums, RowSums &ofA) {
#pragma unroll
    for (int j = 0; j < columnTiles; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        ofA[j][i] = 0;
#pragma unroll
        for (int t = 0; t < kWarpTiles<P>; ++t)
          sums[t][j][i] = 0;
      }
  }

  /// Adds the products of a unit, or of its first or second half alone.
  using Unit = typename Rows::Unit[columnTiles];
  static __device__ void addUnit(Sums &sums, RowSums &ofA,
                                 const Codes (&codes)[kWarpTiles<P>],
                                 const Unit &b, int unit, bool first,
                                 bool second) {
    // Bytes are multiplied 32 at once, and f16 16.
#pragma unroll
    for (int half = 0; half < (isInteger ? 1 : 2); ++half) {
      if (!isInteger && !(half ? second : first))
        continue;
      uint32_t x[columnTiles][2];
#pragma unroll
      for (int j = 0; j < columnTiles; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          x[j][i] = b[j].at[half * 2 + i];
      if constexpr (sumsRows) {
        constexpr uint32_t one =
            isInteger ? 0x01010101 : twice(kWidens<P> ? 0x3f80 : 0x3c00);
        const uint32_t ones[4] = {
            first || !isInteger ? one : 0, first || !isInteger ? one : 0,
            second || !isInteger ? one : 0, second || !isInteger ? one : 0};
#pragma unroll
        for (int j = 0; j < columnTiles; ++j)
          multiply(ofA[j], ones, x[j]);
      }
#pragma unroll
      for (int t = 0; t < kWarpTiles<P>; ++t) {
        uint32_t a[4];
        if constexpr (isInteger) {
          codes[t].bytes(a, unit);
#pragma unroll
          for (int i = 0; i < 4; ++i)
            if (!(i < 2 ? first : second))
              a[i] = 0;
        } else {
          codes[t].halves(a, unit, half);
        }
#pragma unroll
        for (int j = 0; j < columnTiles; ++j)
          multiply(sums[t][j], a, x[j]);
      }
    }
  }
  static __device__ void multiply(Acc (&to)[4], const uint32_t (&a)[4],
                                  const uint32_t (&b)[2]) {
    if constexpr (isInteger)
      mmaBytes<true, true>(to, a, b);
    else
      mma<typename Codes::Number>(to, a, b);
  }

  /// Adds the products of a tile along k, number `at` of a slab.
  static __device__ void addTile(Totals &totals, Sums &sums, RowSums &ofA,
                                 const Codes (&codes)[kWarpTiles<P>],
                                 const Rows &rows, const Factors &factors,
                                 int slab, int part, int at) {
#pragma unroll
    for (int unit = 0; unit < Codes::units; ++unit) {
      const int number = at * Codes::units + unit;
      Unit b;
      rows.loadUnit(b, slab, part, number);
      if constexpr (Codes::scaled < kUnit) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          addUnit(sums, ofA, codes, b, unit, half == 0, half == 1);
          addScaled(totals, sums, ofA, codes, factors, 2 * unit + half);
        }
      } else {
        addUnit(sums, ofA, codes, b, unit, true, true);
        if ((number + 1) % unitsOfSum() == 0)
          addScaled(totals, sums, ofA, codes, factors,
                    unit * kUnit / Codes::scaled);
      }
    }
  }

  /// Stores the sums of a warp: of row i of A in row i.
  using Part = float[rows][sumsOfRow];
  static __device__ void store(Part &to, const Totals &totals) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int t = 0; t < kWarpTiles<P>; ++t)
#pragma unroll
      for (int j = 0; j < columnTiles; ++j)
#pragma unroll
        for (int i = 0; i < sumsOfLane; ++i)
          if (rowOf(j, i) < rows)
            to[rowOf(j, i)][t * 16 + lane / 4 + upperOf(i) * 8] =
                totals[t][j][i];
  }
};

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

  if constexpr (Rows::copies)
    rows.copy(a);
  else
    Rows::read(pieces, a, 0, 0);
  if constexpr (Rows::isWhole) {
    rows.convert(pieces, a, scale, 0, true);
    __syncthreads();
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
          waitCopies<P::stages - 1>();
          Ring::join();
#pragma unroll
          for (int c = 0; c < depth; ++c)
#pragma unroll
            for (int t = 0; t < kWarpTiles<P>; ++t)
              ring.read(codes[c][t], stage, t, c);
          Ring::join();
          fetch();
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
