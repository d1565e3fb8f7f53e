//===- fixed_rows.cuh - Rows of A in fixed point --------------------------===//
//
// An element of A becomes 256 · high + low, times a power of two that a row has
// for a piece of up to 256 of its elements. Both are signed bytes, which tensor
// cores multiply by codes of integers without converting those. The largest
// element of a piece gets at least 2^13, so that any element is off by at most
// 2^-14 of the largest, and those of bf16 that are not 2^5 times smaller not at
// all. If an element is infinite or no number, sums of its row are no numbers.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_FIXED_ROWS_CUH
#define FRIT_CODEGEN_CUDA_ROWS_FIXED_ROWS_CUH

#include "frit/few_rows.cuh"
#include "frit/integer_mma.cuh"

namespace frit {

/// Elements along k that a step of the tensor cores has, of bytes.
inline constexpr int kUnit = 32;

/// How the warps of a block share a matrix B of codes.
template <class P> struct CodeShares {
  static constexpr int warps = P::threads / 32, groups = warps / P::split;
  /// Columns of a tile, tiles along k of the matrix and of a warp, and those of
  /// a warp for which A is in shared memory at a time.
  static constexpr int depth = 8 * kWordCodes<P::code>;
  static constexpr int chunks = int(P::k / depth);
  static constexpr int parts = (chunks + P::split - 1) / P::split;
  static constexpr int slab = parts < 256 / depth ? parts : 256 / depth;
  static constexpr int slabs = (parts + slab - 1) / slab;
  static constexpr int width = slab * depth; ///< of a slab, elements
};

/// Returns the largest number of `Lanes` neighbouring lanes, a power of two.
template <int Lanes> __device__ inline uint32_t largestOfLanes(uint32_t value) {
#if !defined(FRIT_EMULATE) && __CUDA_ARCH__ >= 800
  if constexpr (Lanes == 32)
    return __reduce_max_sync(~0u, value);
#endif
#pragma unroll
  for (int offset = Lanes / 2; offset > 0; offset /= 2) {
    uint32_t other = __shfl_xor_sync(~0u, value, offset);
    value = value > other ? value : other;
  }
  return value;
}

/// Returns the larger ones of pairs of 16-bit numbers.
__device__ inline uint32_t largerOfPairs(uint32_t a, uint32_t b) {
#ifdef FRIT_EMULATE
  uint32_t low = (a & 0xffff) > (b & 0xffff) ? a : b;
  uint32_t high = a >> 16 > b >> 16 ? a : b;
  return (low & 0xffff) | (high & 0xffff0000);
#else
  return __vmaxu2(a, b);
#endif
}

/// The slab of A in shared memory. A warp that shares k has a piece of each
/// row, whose high and low bytes are two columns of the second fragment.
template <class P> struct FixedRows {
  using Shares = CodeShares<P>;
  static constexpr int rows = int(P::m), pieces = rows * P::split;
  /// Bytes of a column. Four neighbours are in different banks.
  static constexpr int columnBytes =
      Shares::width + (Shares::width % 64 ? 0 : 32);
  static constexpr int partBytes = 2 * rows * columnBytes;
  static constexpr int bytes = P::split * partBytes;
  /// Lanes that convert a piece, how often a warp converts pieces, and how many
  /// times it has registers to read elements ahead.
  static constexpr int lanes =
      Shares::width % 256 && !(Shares::width & (Shares::width - 1))
          ? Shares::width / 8
          : 32;
  static constexpr int times = (pieces * lanes + P::threads - 1) / P::threads;
  static constexpr int ahead = times < 4 ? times : 4;
  /// Whether each lane always has a piece, and 8 elements of it.
  static constexpr bool allHavePieces = times * P::threads == pieces * lanes;
  static constexpr bool allHaveElements =
      lanes * 8 == Shares::width && Shares::parts % Shares::slab == 0 &&
      int64_t(P::split) * Shares::parts * Shares::depth == P::k;
  /// Tiles of 8 columns.
  static constexpr int columnTiles = (rows + 3) / 4;

  using Elements = Pack<uint32_t, 4>; ///< 8 elements
  struct Pieces {
    Elements of[ahead];
  };

  char *columns;  ///< of `bytes` bytes
  float *factors; ///< of rows by warps that share k: of the slab's pieces
  float *squares; ///< likewise, summed over slabs; null if none are normalized

  /// Returns the lane's piece, `pieces` or more if it has none.
  static __device__ int pieceOf(int time) {
    return (time * P::threads + int(threadIdx.x)) / lanes;
  }
  /// Returns the first of the lane's elements of a piece, or k if it has none.
  static __device__ int64_t elementOf(int piece, int slab) {
    const int in = int(threadIdx.x) % lanes * 8;
    const int from = slab * Shares::width + in;
    if (!allHaveElements &&
        (in >= Shares::width || from >= Shares::parts * Shares::depth))
      return P::k;
    return int64_t(piece % P::split) * (Shares::parts * Shares::depth) + from;
  }

  /// Reads the lane's elements from time `first` on.
  static __device__ void read(Pieces &out, const typename P::A *a, int first,
                              int slab) {
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      out.of[i] = {};
      int piece = pieceOf(first + i);
      int64_t k = elementOf(piece, slab);
      if ((allHavePieces || piece < pieces) && (allHaveElements || k < P::k))
        out.of[i] = *reinterpret_cast<const Elements *>(
            a + piece / P::split * P::lda + k);
    }
  }

  /// Converts the slab, whose first elements `read` got.
  __device__ void convert(Pieces &of, const typename P::A *a,
                          const typename P::A *scale, int slab) const {
#pragma unroll 1
    for (int first = 0; first < times; first += ahead) {
      if (first > 0)
        read(of, a, first, slab);
#pragma unroll
      for (int i = 0; i < ahead; ++i)
        if (times % ahead == 0 || first + i < times)
          convertPiece(of.of[i], scale, pieceOf(first + i), slab);
    }
  }

  /// All lanes of the warp call it.
  __device__ void convertPiece(const Elements &elements,
                               const typename P::A *scale, int piece,
                               int slab) const {
    const int lane = int(threadIdx.x) % lanes;
    const bool isPiece = allHavePieces || piece < pieces;
    float x[8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
      x[i] = load(typename P::A{uint16_t(elements.at[i / 2] >> i % 2 * 16)});
    if constexpr (kNormalizesRows<P>) {
      float square = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i)
        square = fma(x[i], x[i], square);
#pragma unroll
      for (int offset = lanes / 2; offset > 0; offset /= 2)
        square += __shfl_xor_sync(~0u, square, offset);
      if (isPiece && lane == 0)
        squares[piece] = slab ? squares[piece] + square : square;
      int64_t k = elementOf(piece, slab);
      if (allHaveElements || k < P::k) {
        float by[8];
        loadVector(by, scale + k);
#pragma unroll
        for (int i = 0; i < 8; ++i)
          x[i] *= by[i];
      }
    }
    // Bits of magnitudes are in the order of these; no number is above all.
    uint32_t largest = 0;
    if constexpr (kSame<typename P::A, bf16> && !kNormalizesRows<P>) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        largest = largerOfPairs(largest, elements.at[i] & 0x7fff7fff);
      uint32_t low = largest << 16, high = largest & 0xffff0000;
      largest = low > high ? low : high;
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        uint32_t size = floatToBits(x[i]) & 0x7fffffff;
        largest = largest > size ? largest : size;
      }
    }
    int exponent = int(largestOfLanes<lanes>(largest) >> 23);
    bool isFinite = exponent < 255;
    exponent = exponent < 14 ? 14 : exponent; // else the factor is infinite
    if (isPiece && lane == 0)
      factors[piece] =
          bitsToFloat(isFinite ? uint32_t(exponent - 13) << 23 : 0x7fffffff);
    const float factor = bitsToFloat(uint32_t(267 - exponent) << 23);
    uint32_t fixed[8]; // the low bytes are high and low, plus 128
#pragma unroll
    for (int i = 0; i < 8; ++i)
      fixed[i] = floatToBits(fma(x[i], factor, 12583040.f)); // 1.5 · 2^23 + 128
    uint32_t words[2][2]; // high or low, of elements
#pragma unroll
    for (int word = 0; word < 2; ++word) {
      // Of codes of 4 bits a word has the even or odd ones.
      constexpr bool isFine = kWordCodes<P::code> == 8;
      constexpr int step = isFine ? 2 : 1;
      const uint32_t *of = fixed + (isFine ? word : word * 4);
      uint32_t first = selectBytes(of[0], of[step], 0x5140),
               last = selectBytes(of[2 * step], of[3 * step], 0x5140);
      words[0][word] = selectBytes(first, last, 0x7632);
      words[1][word] = selectBytes(first, last, 0x5410) ^ 0x80808080;
    }
    if (!isPiece || (!allHaveElements && lane * 8 >= Shares::width))
      return;
    char *to = columns + piece % P::split * partBytes +
               piece / P::split * 2 * columnBytes + lane / 4 * kUnit;
#pragma unroll
    for (int column = 0; column < 2; ++column, to += columnBytes) {
      if constexpr (kWordCodes<P::code> == 8) {
        *reinterpret_cast<Pack<uint32_t, 2> *>(to + lane % 4 * 8) = {
            {words[column][0], words[column][1]}};
      } else {
        // A lane of the fragment has words t and t + 4 of 8.
#pragma unroll
        for (int word = 0; word < 2; ++word) {
          int at = lane % 4 * 2 + word;
          *reinterpret_cast<uint32_t *>(to + at % 4 * 8 + at / 4 * 4) =
              words[column][word];
        }
      }
    }
  }

  /// Loads the second fragments of unit `unit` of the slab. What columns beyond
  /// the last row get is not stored.
  __device__ void loadUnit(uint32_t (&b)[columnTiles][2], int part,
                           int unit) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < columnTiles; ++j) {
      int column = j * 8 + lane / 4;
      if (rows % 4 != 0 && column >= 2 * rows)
        column = 2 * rows - 1;
      auto pair = *reinterpret_cast<const Pack<uint32_t, 2> *>(
          columns + part * partBytes + column * columnBytes + unit * kUnit +
          lane % 4 * 8);
      b[j][0] = pair.at[0];
      b[j][1] = pair.at[1];
    }
  }

  /// Returns the factor of the row of the lane's sums of column tile `j`.
  __device__ float factorOf(int part, int j) const {
    int row = j * 4 + threadIdx.x % 4;
    if (rows % 4 != 0 && row >= rows)
      row = rows - 1;
    return factors[row * P::split + part];
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_FIXED_ROWS_CUH
