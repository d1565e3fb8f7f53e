//===- scaled_rows.cuh - Rows of A for products by codes ------------------===//
//
// Elements of A are multiplied by a power of two that a row has for a piece of
// up to 256 of them, and become what tensor cores multiply by codes without
// converting those far:
//
//   codes of integers   256 · high + low, both of which are signed bytes. The
//                       largest element of a piece gets at least 2^13, so that
//                       any element is off by at most 2^-14 of the largest, and
//                       those of bf16 that are not 2^5 times smaller not at all
//   codes of floats     f16; an element of bf16 that is not 2^28 times smaller
//                       than the largest is not off at all
//
// If an element is infinite or no number, sums of its row are no numbers.
//
// Where codes become numbers of bf16 instead, elements stay as they are,
// rounded if they are multiplied by a norm's scale; only their order changes.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_SCALED_ROWS_CUH
#define FRIT_CODEGEN_CUDA_ROWS_SCALED_ROWS_CUH

#include "frit/bytes.cuh"
#include "frit/code_lanes.cuh"
#include "frit/lane_values.cuh"

namespace frit {

/// Slabs of A in shared memory: all of them if they fit, else the one that is
/// read and, if two fit, the next one. A warp that shares k has a piece of each
/// row of a slab: a column of the second fragment, or two, of high and of low
/// bytes.
template <class P> struct ScaledRows {
  using Shares = CodeShares<P>;
  static constexpr int rows = kBlockRows<P>, pieces = rows * P::split;
  static constexpr bool isInteger = kMakesBytes<P>;
  static constexpr bool isFine = kCodeBits<P::code> == 4;
  /// Columns of a row, and bytes of an element, of a lane's part of a unit, and
  /// of a column. Columns that are read together are in different banks.
  static constexpr int columnsOfRow = isInteger ? 2 : 1;
  static constexpr int elementBytes = isInteger ? 1 : 2;
  static constexpr int laneBytes = kUnit / 4 * elementBytes;
  static constexpr int columnBytes =
      (Shares::width + (Shares::width % 64 ? 0 : 32)) * elementBytes;
  static constexpr int partBytes = columnsOfRow * rows * columnBytes;
  static constexpr int slabBytes = P::split * partBytes;
  /// Bytes up to which all slabs are in shared memory, or two.
  static constexpr int kMostWhole = 72 << 10, kMostCopied = 152 << 10;
  /// Whether rows are only copied, of which no register then needs to know.
  static constexpr bool copies = kWidens<P> && !kNormalizesRows<P> && isFine &&
                                 Shares::slabs * slabBytes <= kMostCopied;
  static constexpr bool isWhole =
      copies || Shares::slabs * slabBytes <= kMostWhole;
  static constexpr int buffers = isWhole                       ? Shares::slabs
                                 : 2 * slabBytes <= kMostWhole ? 2
                                                               : 1;
  static constexpr int bytes = buffers * slabBytes;
  /// Slabs and pieces that are converted at a time, and sums of squares.
  static constexpr int slabsOfTime = isWhole ? Shares::slabs : 1;
  static constexpr int piecesOfTime = slabsOfTime * pieces;
  static constexpr int factorCount = kWidens<P> ? 0 : buffers * pieces;
  static constexpr int squareCount = kNormalizesRows<P> ? piecesOfTime : 0;
  /// Lanes that convert a piece, how often a warp converts pieces, and how many
  /// times it has registers to read elements ahead.
  static constexpr int lanes =
      Shares::width % 256 && !(Shares::width & (Shares::width - 1))
          ? Shares::width / 8
          : 32;
  static constexpr int times =
      (piecesOfTime * lanes + P::threads - 1) / P::threads;
  static constexpr int ahead = times < 4 ? times : 4;
  /// Whether each lane always has a piece, and 8 elements of it.
  static constexpr bool allHavePieces =
      times * P::threads == piecesOfTime * lanes;
  static constexpr bool allHaveElements =
      lanes * 8 == Shares::width && Shares::parts % Shares::slab == 0 &&
      int64_t(P::split) * Shares::parts * Shares::depth == P::k;
  /// Pieces that are converted beside each other, and whether those of a lane
  /// are of one warp that shares k, of rows at constant distances.
  static constexpr int piecesBeside = P::threads / lanes;
  static constexpr bool hasOnePart =
      slabsOfTime == 1 && piecesBeside % P::split == 0;
  /// Tiles of 8 columns.
  static constexpr int columnTiles = (rows * columnsOfRow + 7) / 8;

  using Elements = Pack<uint32_t, 4>; ///< 8 elements
  struct Pieces {
    Elements of[ahead];
    Elements scales[kNormalizesRows<P> && !hasOnePart ? ahead : 1];
  };

  char *columns;  ///< of `bytes` bytes
  float *factors; ///< of pieces, by buffers
  float *squares; ///< of pieces that are converted at a time, summed over times

  /// Returns the buffer of a slab.
  static __device__ int bufferOf(int slab) { return slab % buffers; }

  /// A piece: the warp that shares k and the row that it is of, and its slab of
  /// those that are converted at a time.
  struct Piece {
    unsigned part, row;
    int slab;

    __device__ bool exists() const {
      return allHavePieces || (hasOnePart ? row < rows : slab < slabsOfTime);
    }
    /// Returns its number among those of a time.
    __device__ unsigned number() const {
      return slab * pieces + row * P::split + part;
    }
  };
  /// Returns the lane's piece, which does not exist if it has none.
  static __device__ Piece pieceOf(int time) {
    const unsigned first = threadIdx.x / lanes;
    if constexpr (hasOnePart)
      return {first % P::split,
              first / P::split + time * (piecesBeside / P::split), 0};
    const unsigned piece = first + time * piecesBeside;
    return {piece % P::split, piece % pieces / P::split, int(piece / pieces)};
  }
  /// Returns the first of the lane's elements of a piece of the slabs from
  /// `slab` on, or k if it has none.
  static __device__ int64_t elementOf(const Piece &piece, int slab) {
    const int in = int(threadIdx.x % lanes) * 8;
    const int from = (slab + piece.slab) * Shares::width + in;
    if (!allHaveElements &&
        (in >= Shares::width || from >= Shares::parts * Shares::depth))
      return P::k;
    return int64_t(piece.part) * (Shares::parts * Shares::depth) + from;
  }

  /// Returns the row of A of a piece. Rows that A does not have are its last.
  static __device__ int64_t rowOf(const Piece &piece) {
    int64_t row = RowsBlock<P>::firstRow() + piece.row;
    return kHasPartialRows<P> && row >= P::m ? P::m - 1 : row;
  }

  /// Calls `visit` for each of the lane's pieces from time `first` on that has
  /// elements, with their number and the first one.
  template <class Visit>
  static __device__ void forPieces(int first, int slab, const Visit &visit) {
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      const Piece piece = pieceOf(first + i);
      int64_t k = elementOf(piece, slab);
      if (piece.exists() && (allHaveElements || k < P::k))
        visit(i, piece, k);
    }
  }
  /// Reads the lane's elements from time `first` on, or their scales.
  static __device__ void read(Pieces &out, const typename P::A *a, int first,
                              int slab) {
#pragma unroll
    for (int i = 0; i < ahead; ++i)
      out.of[i] = {};
    forPieces(first, slab, [&](int i, const Piece &piece, int64_t k) {
      out.of[i] =
          *reinterpret_cast<const Elements *>(a + rowOf(piece) * P::lda + k);
    });
  }
  static __device__ void readScales(Pieces &out, const typename P::A *scale,
                                    int first, int slab) {
    if constexpr (kNormalizesRows<P>)
      forPieces(first, slab, [&](int i, const Piece &, int64_t k) {
        if (i == 0 || !hasOnePart)
          out.scales[i] = *reinterpret_cast<const Elements *>(scale + k);
      });
  }

  /// Copies all slabs, and waits for what the thread copies.
  __device__ void copy(const typename P::A *a) const {
    const int lane = int(threadIdx.x) % lanes;
#pragma unroll 4
    for (int time = 0; time < times; ++time) {
      const Piece piece = pieceOf(time);
      if (!piece.exists() || (!allHaveElements && lane * 8 >= Shares::width))
        continue;
      const int64_t k = elementOf(piece, 0);
      char *to = columnOf(piece, 0) + lane % 4 * laneBytes;
      if (allHaveElements || k < P::k)
        copyAsync(to, a + rowOf(piece) * P::lda + k);
      else
        *reinterpret_cast<Elements *>(to) = {};
    }
    commitCopies();
    waitCopies<0>();
  }

  /// Converts the slabs from `slab` on, whose first elements and scales were
  /// read, unless they are copied. Sums squares if `isFirst`.
  __device__ void convert(Pieces &of, const typename P::A *a,
                          const typename P::A *scale, int slab,
                          bool isFirst) const {
    if constexpr (copies)
      return;
#pragma unroll 1
    for (int first = 0; first < times; first += ahead) {
      if (first > 0) {
        read(of, a, first, slab);
        if (!hasOnePart)
          readScales(of, scale, first, slab);
      }
      if (kNormalizesRows<P> && isFirst)
        addSquares(of, first, slab);
#pragma unroll
      for (int i = 0; i < ahead; ++i)
        if (times % ahead == 0 || first + i < times)
          convertPiece(of.of[i],
                       of.scales[kNormalizesRows<P> && !hasOnePart ? i : 0],
                       pieceOf(first + i), slab);
    }
  }

  static __device__ float elementIn(const Elements &of, int i) {
    return load(typename P::A{uint16_t(of.at[i / 2] >> i % 2 * 16)});
  }

  /// Adds the squares of the elements of the lane's pieces from time `first`
  /// on. All lanes of the warp call it.
  __device__ void addSquares(const Pieces &of, int first, int slab) const {
    constexpr int count = ahead == 3 ? 4 : ahead;
    float sums[count] = {};
#pragma unroll
    for (int i = 0; i < ahead; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float x = elementIn(of.of[i], j);
        sums[i] = fma(x, x, sums[i]);
      }
    const float sum = sumOverLanes<lanes>(sums);
    constexpr int lanesOfSum = lanes / count;
    const int time = first + int(threadIdx.x % lanes / lanesOfSum);
    const Piece piece = pieceOf(time);
    if (threadIdx.x % lanesOfSum == 0 && time < times && piece.exists()) {
      float &to = squares[piece.number()];
      to = slab ? to + sum : sum;
    }
  }

  /// All lanes of the warp call it.
  __device__ void convertPiece(const Elements &elements, const Elements &scales,
                               const Piece &piece, int slab) const {
    const int lane = int(threadIdx.x % lanes);
    const bool isPiece = piece.exists();
    float x[8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
      x[i] = elementIn(elements, i);
    if constexpr (kNormalizesRows<P>) {
      int64_t k = elementOf(piece, slab);
      if (allHaveElements || k < P::k)
#pragma unroll
        for (int i = 0; i < 8; ++i)
          x[i] *= elementIn(scales, i);
    }
    if constexpr (kWidens<P>) {
      if (isPiece && (allHaveElements || lane * 8 < Shares::width))
        storePairs(columnOf(piece, slab), elements, x);
      return;
    }
    // Bits of magnitudes are in the order of these; no number is above all.
    uint32_t largest = 0;
    if constexpr (kSame<typename P::A, bf16> && !kNormalizesRows<P>) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        largest = extremeOfPairs<uint16_t, true>(largest,
                                                 elements.at[i] & 0x7fff7fff);
      uint32_t low = largest << 16, high = largest & 0xffff0000;
      largest = low > high ? low : high;
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        uint32_t size = floatToBits(x[i]) & 0x7fffffff;
        largest = largest > size ? largest : size;
      }
    }
    // The largest is below 2^14 or 2^15 then.
    constexpr int above = isInteger ? 14 : 15;
    int exponent = int(largestOfLanes<lanes>(largest) >> 23);
    bool isFinite = exponent < 255;
    exponent = exponent < above ? above : exponent; // else factors are infinite
    if (isPiece && lane == 0)
      factors[bufferOf(slab) * pieces + piece.number()] =
          bitsToFloat(isFinite ? uint32_t(exponent - above + 1) << 23
                               : 0x7fffffff) *
          LaneCodes<P>::kFactor;
    const float factor = bitsToFloat(uint32_t(253 + above - exponent) << 23);
    if (!isPiece || (!allHaveElements && lane * 8 >= Shares::width))
      return;
    char *to = columnOf(piece, slab);
    if constexpr (isInteger) {
      uint32_t fixed[8]; // the low bytes are high and low, plus 128
#pragma unroll
      for (int i = 0; i < 8; ++i)
        fixed[i] = floatToBits(fma(x[i], factor, 12583040.f)); // 1.5·2^23 + 128
      uint32_t words[2][2]; // high or low, of elements
#pragma unroll
      for (int word = 0; word < 2; ++word) {
        // Of codes of 4 bits a word has the even or odd ones.
        constexpr int step = isFine ? 2 : 1;
        const uint32_t *of = fixed + (isFine ? word : word * 4);
        uint32_t first = selectBytes(of[0], of[step], 0x5140),
                 last = selectBytes(of[2 * step], of[3 * step], 0x5140);
        words[0][word] = selectBytes(first, last, 0x7632);
        words[1][word] = selectBytes(first, last, 0x5410) ^ 0x80808080;
      }
      storeHalves(to, words[0]);
      storeHalves(to + columnBytes, words[1]);
    } else {
      uint32_t pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        // Pair i of codes of 4 bits are those at i and i + 4.
        const int low = isFine ? i : 2 * i, high = isFine ? i + 4 : 2 * i + 1;
        pairs[i] = packPair<f16>(x[low] * factor, x[high] * factor);
      }
      storeHalves(to, pairs);
    }
  }

  /// Returns where the unit of the lane's elements of a piece is.
  __device__ char *columnOf(const Piece &piece, int slab) const {
    return columns + (bufferOf(slab) + piece.slab) * slabBytes +
           piece.part * partBytes + piece.row * columnsOfRow * columnBytes +
           threadIdx.x % lanes / 4 * kUnit * elementBytes;
  }

  /// Stores the lane's 8 elements, or what a norm's scale has made of them, as
  /// pairs that meet those of decodePair.
  static __device__ void storePairs(char *to, const Elements &elements,
                                    const float (&x)[8]) {
    uint32_t pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (kNormalizesRows<P>)
        pairs[i] = packPair<typename P::A>(x[isFine ? i : 2 * i],
                                           x[isFine ? i + 4 : 2 * i + 1]);
      else
        pairs[i] = isFine ? selectPair(elements.at, i) : elements.at[i];
    }
    storeHalves(to, pairs);
  }

  /// Stores the lane's 8 elements of a column. A lane of a fragment has
  /// neighbours by 8 if codes have 4 bits, else groups t and t + 4 of 4.
  template <int words>
  static __device__ void storeHalves(char *to, const uint32_t (&of)[words]) {
    const int lane = threadIdx.x % 4;
    Pack<uint32_t, words / 2> half[2];
#pragma unroll
    for (int i = 0; i < words; ++i)
      half[i / (words / 2)].at[i % (words / 2)] = of[i];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int group = lane * 2 + i;
      const int at = isFine ? group : group % 4 * 2 + group / 4;
      *reinterpret_cast<Pack<uint32_t, words / 2> *>(to + at * laneBytes / 2) =
          half[i];
    }
  }

  /// Loads the lane's elements of unit `unit` of a slab: second fragments of
  /// one product of bytes, or of two of f16. What columns beyond the last row
  /// get is not stored.
  using Unit = Pack<uint32_t, laneBytes / 4>;
  __device__ void loadUnit(Unit (&of)[columnTiles], int slab, int part,
                           int unit) const {
    constexpr int count = rows * columnsOfRow;
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < columnTiles; ++j) {
      int column = j * 8 + lane / 4;
      if (count % 8 != 0 && column >= count)
        column = count - 1;
      of[j] = *reinterpret_cast<const Unit *>(
          columns + bufferOf(slab) * slabBytes + part * partBytes +
          column * columnBytes + unit * kUnit * elementBytes +
          lane % 4 * laneBytes);
      if constexpr (copies) {
        const Unit whole = of[j];
#pragma unroll
        for (int i = 0; i < 4; ++i)
          of[j].at[i] = selectPair(whole.at, i);
      }
    }
  }

  /// Rows of A that sums of a lane in a tile are of.
  static constexpr int factorsOfTile = isInteger ? 1 : 2;
  /// Returns the factor of a row of A, or any one beyond the last row.
  __device__ float factorOf(int slab, int part, int row) const {
    if constexpr (kWidens<P>)
      return 1;
    if (rows % 8 != 0 && row >= rows)
      row = rows - 1;
    return factors[bufferOf(slab) * pieces + row * P::split + part];
  }

  /// Returns the sum of the squares that a warp that shares k has of a row.
  __device__ float squareOf(int part, int row) const {
    float sum = squares[row * P::split + part];
#pragma unroll 1
    for (int i = 1; i < slabsOfTime; ++i)
      sum += squares[i * pieces + row * P::split + part];
    return sum;
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_SCALED_ROWS_CUH
