//===- code_rows.cuh - Products of a few rows by codes of integers --------===//
//
// Computes what rows_gemm.cuh does for a matrix B of codes of integers, as
// fast as they are read. Rows of A are converted to fixed point once, so that
// tensor cores multiply bytes, and codes become these by an instruction or two
// a word. A lane reads its codes into registers, `stages` tiles along k ahead.
// P is that of rows_gemm.cuh with the fields of code_tiles.cuh; tiles along k
// of warps that share it are neighbours.
//
// Sums of a block of columns are of integers, without rounding, and are scaled
// in f32. They do not depend on the other rows of A.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_CODE_ROWS_CUH
#define FRIT_CODEGEN_CUDA_ROWS_CODE_ROWS_CUH

#include "frit/fixed_rows.cuh"
#include "frit/rows_end.cuh"

namespace frit {

/// The codes of a tile that a lane has, with their scales.
template <class P> struct LaneCodes {
  static constexpr int depth = CodeShares<P>::depth, units = depth / kUnit;
  /// Columns that share a scale within a tile, and such groups of it.
  static constexpr int scaled = P::block % kUnit ? 16
                                : P::block % depth ? kUnit
                                                   : depth;
  static constexpr int groups = depth / scaled;
  using Scales = Pack<typename P::Scale, 2>; ///< of rows g and g + 8
  Pack<uint32_t, 4> words;
  Scales scales[groups], offsets[P::hasOffsets ? groups : 1];

  __device__ void read(const CodeMatrix<P> &b, int64_t tile, int64_t chunk) {
    constexpr int64_t chunks = P::k / depth, blocks = P::k / P::block;
    const int lane = threadIdx.x % 32;
    words = loadOnce(reinterpret_cast<const uint32_t *>(b.codes) +
                     (tile * chunks + chunk) * 128 + lane * 4);
#pragma unroll
    for (int i = 0; i < groups; ++i) {
      int64_t block = (chunk * depth + i * scaled) / P::block;
      int64_t at = (tile * blocks + block) * 8 + lane / 4;
      scales[i] = reinterpret_cast<const Scales *>(b.scales)[at];
      if constexpr (P::hasOffsets)
        offsets[i] = reinterpret_cast<const Scales *>(b.offsets)[at];
    }
  }

  /// Returns the first fragment of unit `unit`, of codes times kFactor.
  static constexpr float kFactor = P::code == Code::int4 ? 1.f / 16 : 1.f;
  __device__ void fragment(uint32_t (&a)[4], int unit) const {
    constexpr uint32_t high = 0xf0f0f0f0, sign = 0x80808080;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (P::code == Code::int4) {
        uint32_t word = words.at[i % 2 * 2 + unit];
        a[i] = ((i < 2 ? word << 4 : word) ^ sign) & high;
      } else {
        a[i] = words.at[i % 2 * 2 + i / 2] ^ sign;
      }
    }
  }
};

template <class P> struct CodeRows {
  using Shares = CodeShares<P>;
  using Rows = FixedRows<P>;
  using Codes = LaneCodes<P>;
  static constexpr int columnTiles = Rows::columnTiles;
  static constexpr int rowsOfSums = 4 * columnTiles;
  static constexpr int factorCount = Rows::pieces;
  static constexpr int sumBytes = Shares::warps * rowsOfSums *
                                  (16 * kWarpTiles<P> + 4) * int(sizeof(float));
  /// Slabs of A in shared memory: while one is read another may be written.
  static constexpr int kMostBytes = 100 << 10;
  static constexpr int buffers =
      Shares::slabs > 1 && 2 * Rows::bytes <= kMostBytes ? 2 : 1;
  static constexpr int mainBytes =
      buffers * Rows::bytes > sumBytes ? buffers * Rows::bytes : sumBytes;
  static constexpr int bytes =
      mainBytes + (buffers + (kNormalizesRows<P> ? 1 : 0)) * factorCount *
                      int(sizeof(float));

  /// Sums of products: of rows g and g + 8 of a tile by the lane's row of A.
  using Totals = float[kWarpTiles<P>][columnTiles][2];
  using Sums = int[kWarpTiles<P>][columnTiles][4];
  using RowSums = int[columnTiles][4];

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

  static __device__ float total(const int (&sums)[4], int i) {
    return float(sums[2 * i] * 256 + sums[2 * i + 1]);
  }
  static __device__ void
  addScaled(Totals &totals, Sums &sums, RowSums &ofA,
            const Codes (&codes)[kWarpTiles<P>], const Rows &rows, int part,
            int group) {
#pragma unroll
    for (int t = 0; t < kWarpTiles<P>; ++t)
#pragma unroll
      for (int j = 0; j < columnTiles; ++j) {
        const float factor = rows.factorOf(part, j);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float scale = load(codes[t].scales[group].at[i]) * factor;
          totals[t][j][i] = fma(scale * Codes::kFactor, total(sums[t][j], i),
                                totals[t][j][i]);
          if constexpr (P::hasOffsets)
            totals[t][j][i] =
                fma(load(codes[t].offsets[group].at[i]) * factor,
                    total(ofA[j], i), totals[t][j][i]);
        }
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
  static __device__ void addUnit(Sums &sums, RowSums &ofA,
                                 const Codes (&codes)[kWarpTiles<P>],
                                 const uint32_t (&b)[columnTiles][2], int unit,
                                 bool first, bool second) {
    if constexpr (P::hasOffsets) {
      constexpr uint32_t one = 0x01010101;
      const uint32_t ones[4] = {first ? one : 0, first ? one : 0,
                                second ? one : 0, second ? one : 0};
#pragma unroll
      for (int j = 0; j < columnTiles; ++j)
        mmaBytes<true, true>(ofA[j], ones, b[j]);
    }
#pragma unroll
    for (int t = 0; t < kWarpTiles<P>; ++t) {
      uint32_t a[4];
      codes[t].fragment(a, unit);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (!(i < 2 ? first : second))
          a[i] = 0;
#pragma unroll
      for (int j = 0; j < columnTiles; ++j)
        mmaBytes<true, true>(sums[t][j], a, b[j]);
    }
  }

  /// Adds the products of a tile along k, the slab's number `at`.
  static __device__ void addTile(Totals &totals, Sums &sums, RowSums &ofA,
                                 const Codes (&codes)[kWarpTiles<P>],
                                 const Rows &rows, int part, int at) {
#pragma unroll
    for (int unit = 0; unit < Codes::units; ++unit) {
      const int number = at * Codes::units + unit;
      uint32_t b[columnTiles][2];
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
  using Rows = FixedRows<P>;
  constexpr int parts = Shares::parts, slab = Shares::slab;
  constexpr int stages = P::stages < parts ? P::stages : parts;
  constexpr int64_t allTiles = P::n / 16;
  static_assert(Shares::warps % P::split == 0 &&
                (Shares::slabs == 1 || slab % stages == 0) &&
                Kernel::bytes <= P::sharedBytes);
  const int warp = threadIdx.x / 32;
  const int part = warp % P::split, group = warp / P::split;
  const int64_t tile =
      (int64_t(blockIdx.x) * Shares::groups + group) * P::tiles;
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
      for (int i = 0; i < 2; ++i)
        sumsOf[warp][j * 4 + lane % 4][t * 16 + lane / 4 + i * 8] =
            totals[t][j][i];
  __syncthreads();
  end.finish(sumsOf, [&](int row, int, int part) {
    return squares[row * P::split + part];
  });
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_CODE_ROWS_CUH
