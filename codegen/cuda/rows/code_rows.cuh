//===- code_rows.cuh - Products of a few rows by codes --------------------===//
//
// Computes what rows_gemm.cuh does for a matrix B of codes, as fast as they are
// read. Rows of A are converted once a block, as scaled_rows.cuh says, so that
// codes need few instructions before tensor cores multiply them: of integers,
// one a word or two. A lane reads its codes into registers, `stages` tiles
// along k ahead. P is that of rows_gemm.cuh with the fields of code_lanes.cuh;
// tiles along k of warps that share it are neighbours.
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

/// Integers for bytes, else floats.
template <bool isInteger> struct ProductSum {
  using Type = int;
};
template <> struct ProductSum<false> {
  using Type = float;
};

template <class P> struct CodeRows {
  using Shares = CodeShares<P>;
  using Rows = ScaledRows<P>;
  using Codes = LaneCodes<P>;
  static constexpr int columnTiles = Rows::columnTiles;
  static constexpr bool isInteger = Rows::isInteger;
  static constexpr int rowsOfSums = 8 / Rows::columnsOfRow * columnTiles;
  static constexpr int factorCount = Rows::pieces;
  static constexpr int sumBytes = Shares::warps * rowsOfSums *
                                  (16 * kWarpTiles<P> + 4) * int(sizeof(float));
  /// Slabs of A in shared memory: while one is read another may be written.
  static constexpr int kMostBytes = 100 << 10;
  static constexpr int buffers =
      Shares::slabs > 1 && 2 * Rows::bytes <= kMostBytes ? 2 : 1;
  static constexpr int mainBytes =
      buffers * Rows::bytes > sumBytes ? buffers *Rows::bytes : sumBytes;
  static constexpr int bytes =
      mainBytes + (buffers + (kNormalizesRows<P> ? 1 : 0)) * factorCount *
                      int(sizeof(float));

  /// Sums of products that a lane has of a tile: of high and low bytes two of
  /// the four of a fragment make one.
  static constexpr int sumsOfLane = 4 / Rows::columnsOfRow;
  using Totals = float[kWarpTiles<P>][columnTiles][sumsOfLane];
  using Acc = typename ProductSum<isInteger>::Type;
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
  /// Returns the row of A, and whether it is row g + 8 and not g of the tile.
  static __device__ int rowOf(int j, int i) {
    const int lane = threadIdx.x % 4;
    return isInteger ? j * 4 + lane : j * 8 + lane * 2 + i % 2;
  }
  static __device__ int upperOf(int i) { return isInteger ? i : i / 2; }

  static __device__ void addScaled(Totals &totals, Sums &sums, RowSums &ofA,
                                   const Codes (&codes)[kWarpTiles<P>],
                                   const Rows &rows, int part, int group) {
#pragma unroll
    for (int t = 0; t < kWarpTiles<P>; ++t)
#pragma unroll
      for (int j = 0; j < columnTiles; ++j)
#pragma unroll
        for (int i = 0; i < sumsOfLane; ++i) {
          const float factor = rows.factorOf(part, rowOf(j, i));
          const int upper = upperOf(i);
          float scale = load(codes[t].scales[group].at[upper]) * factor;
          float &to = totals[t][j][i];
          to = fma(scale * Codes::kFactor, total(sums[t][j], i), to);
          if constexpr (P::hasOffsets)
            to = fma(load(codes[t].offsets[group].at[upper]) * factor,
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
      if constexpr (P::hasOffsets) {
        constexpr uint32_t one = isInteger ? 0x01010101 : twice(0x3c00);
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
      mma<f16>(to, a, b);
  }

  /// Adds the products of a tile along k, the slab's number `at`.
  static __device__ void addTile(Totals &totals, Sums &sums, RowSums &ofA,
                                 const Codes (&codes)[kWarpTiles<P>],
                                 const Rows &rows, int part, int at) {
#pragma unroll
    for (int unit = 0; unit < Codes::units; ++unit) {
      const int number = at * Codes::units + unit;
      Unit b;
      rows.loadUnit(b, part, number);
      if constexpr (Codes::scaled < kUnit) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          addUnit(sums, ofA, codes, b, unit, half == 0, half == 1);
          addScaled(totals, sums, ofA, codes, rows, part, 2 * unit + half);
        }
      } else {
        addUnit(sums, ofA, codes, b, unit, true, true);
        if ((number + 1) % unitsOfSum() == 0)
          addScaled(totals, sums, ofA, codes, rows, part,
                    unit * kUnit / Codes::scaled);
      }
    }
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
  constexpr int parts = Shares::parts, slab = Shares::slab;
  constexpr int stages = P::stages < parts ? P::stages : parts;
  constexpr int64_t allTiles = P::n / 16;
  static_assert(Shares::warps % P::split == 0 &&
                (Shares::slabs == 1 || slab % stages == 0) &&
                Kernel::bytes <= P::sharedBytes);
  const int warp = threadIdx.x / 32;
  const int part = warp % P::split, group = warp / P::split;
  const int64_t tile =
      (RowsBlock<P>::columns() * Shares::groups + group) * P::tiles;
  char *shared = dynamicShared<char>();
  float *factors = reinterpret_cast<float *>(shared + Kernel::mainBytes);
  float *squares = factors + Kernel::buffers * Kernel::factorCount;
  auto rowsOf = [&](int at) {
    int buffer = at % Kernel::buffers;
    return Rows{shared + buffer * Rows::bytes,
                factors + buffer * Kernel::factorCount, squares};
  };

  LaneCodes<P> codes[stages][kWarpTiles<P>];
  auto read = [&](LaneCodes<P>(&to)[kWarpTiles<P>], int at) {
    int64_t chunk = int64_t(part) * parts + at;
    // Elements of A are zeros there.
    if (Shares::chunks % P::split != 0 && chunk >= Shares::chunks)
      chunk = Shares::chunks - 1;
#pragma unroll
    for (int t = 0; t < kWarpTiles<P>; ++t) {
      // Then tiles are at constant distances from each other.
      constexpr bool isWhole = allTiles % (Shares::groups * P::tiles) == 0;
      int64_t row = tile + t % P::tiles;
      if (!isWhole && row >= allTiles)
        row = allTiles - 1;
      to[t].read(b[t / P::tiles], row, chunk);
    }
  };
  if constexpr (!P::early)
    pdlWait();
#pragma unroll
  for (int at = 0; at < stages; ++at)
    read(codes[at], at);
  if constexpr (P::early)
    pdlWait();
  RowsEnd<P> end(bias, r, d);

  typename Rows::Pieces pieces;
  Rows::read(pieces, a, 0, 0);
  rowsOf(0).convert(pieces, a, scale, 0);
  typename Kernel::Totals totals = {};
  typename Kernel::Sums sums = {};
  typename Kernel::RowSums ofA = {};
#pragma unroll 1
  for (int s = 0; s < Shares::slabs; ++s) {
    __syncthreads();
    const bool isLast = s + 1 == Shares::slabs;
    if (!isLast)
      Rows::read(pieces, a, 0, s + 1);
    const Rows rows = rowsOf(s);
#pragma unroll
    for (int c = 0; c < slab; ++c) {
      const int at = s * slab + c;
      if (Shares::slabs * slab == parts || at < parts)
        Kernel::addTile(totals, sums, ofA, codes[c % stages], rows, part, c);
      if (at + stages < parts)
        read(codes[c % stages], at + stages);
    }
    if (Kernel::buffers == 1)
      __syncthreads();
    if (!isLast)
      rowsOf(s + 1).convert(pieces, a, scale, s + 1);
  }

  // Row i of a warp's part has the sums of row i of A.
  if (Kernel::buffers > 1)
    __syncthreads();
  using Part = float[Kernel::rowsOfSums][16 * kWarpTiles<P> + 4];
  Part *sumsOf = reinterpret_cast<Part *>(shared);
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int t = 0; t < kWarpTiles<P>; ++t)
#pragma unroll
    for (int j = 0; j < Kernel::columnTiles; ++j)
#pragma unroll
      for (int i = 0; i < Kernel::sumsOfLane; ++i)
        sumsOf[warp][Kernel::rowOf(j, i)]
              [t * 16 + lane / 4 + Kernel::upperOf(i) * 8] = totals[t][j][i];
  __syncthreads();
  end.finish(sumsOf, [&](int row, int, int part) {
    return squares[row * P::split + part];
  });
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_CODE_ROWS_CUH
