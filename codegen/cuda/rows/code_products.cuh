//===- code_products.cuh - A warp's products of rows by codes -------------===//
//
// What a warp of code_rows.cuh multiplies and adds.
//
// Sums of a block of columns, without rounding if codes are integers, are
// scaled in f32. They do not depend on the other rows of A.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_CODE_PRODUCTS_CUH
#define FRIT_CODEGEN_CUDA_ROWS_CODE_PRODUCTS_CUH

#include "frit/shared_rows.cuh"

namespace frit {

/// Bytes of the sums of rounds in shared memory, if one round has no more.
template <class P> __device__ constexpr int countSumBytes() {
  if constexpr (requires { P::sums; })
    return P::sums << 10;
  return 32 << 10;
}
template <class P> inline constexpr int kSumBytes = countSumBytes<P>();

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
  static constexpr int sumRounds =
      kRounds<P> * roundBytes <= kSumBytes<P> ? kRounds<P>
      : roundBytes <= kSumBytes<P>            ? kSumBytes<P> / roundBytes
                                              : 1;
  static constexpr int ringBytes = Shares::warps * CodeRing<P>::bytes;
  static constexpr int barriersFrom =
      ringBytes + Rows::bytes + sumRounds * roundBytes +
      (Rows::factorCount + Rows::squareCount) * int(sizeof(float));
  static constexpr int bytes = barriersFrom + SharedRows<P>::bytes;

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

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_CODE_PRODUCTS_CUH
