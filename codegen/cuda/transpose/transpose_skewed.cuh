//===- transpose_skewed.cuh - Transposes in skewed tiles ------------------===//
//
// Transposes matrices of 16-bit elements whose rows or columns begin at odd
// offsets, so that a rectangular tile has no aligned vectors. Tiles are skewed
// instead: each column is written from one sector boundary to another, wherever
// its first row lies. For that a tile reads a sector's worth of rows more than
// it writes. Rows are read from an aligned vector on, a line by one access of a
// warp. Only the ends of columns are written element by element.
//
// If columns are contiguous and short, a tile has all rows, and sectors cross
// the ends of columns. Its lines are shorter, so that several blocks share an
// SM and overlap loads with stores.
//
// A Body defines what is moved:
//
//   const uint16_t *source() const;
//   uint16_t *target() const;
//   static size_t from(unsigned batch), to(unsigned batch);  // its first place
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_SKEWED_CUH
#define FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_SKEWED_CUH

#include "frit/base.cuh"

namespace frit {

/// 16-bit elements per sector of 32 bytes.
inline constexpr unsigned kSkew = 16;
/// Elements that a thread reads and writes at once.
inline constexpr unsigned kSkewRead = 8, kSkewWrite = 4;

/// A tile in shared memory of up to `Lines` rows of `Line` elements, each
/// stored from the vector in which it begins, for blocks of `Threads` threads.
/// Lines is a multiple of kSkewWrite; Line is 256, 128 or 64.
template <unsigned Line, unsigned Lines, unsigned Threads> class SkewedTile {
  // An odd pitch avoids bank conflicts along columns.
  static constexpr unsigned kPitch = Line / 2 + 1;
  /// Threads per row, rows read per step, steps, and batches of at most ten
  /// steps whose loads overlap.
  static constexpr unsigned kAcross = Line / kSkewRead;
  static constexpr unsigned kDown = Threads / kAcross;
  static constexpr unsigned kSteps = (Lines + kDown - 1) / kDown;
  static constexpr unsigned kBatches = (kSteps + 9) / 10;
  static constexpr unsigned kBatch = (kSteps + kBatches - 1) / kBatches;
  using Words = Pack<uint32_t, kSkewRead / 2>;
  uint32_t (*lines)[kPitch];
  size_t first, stride;

  /// Returns the line of a row, such that threads that write neighbouring
  /// elements read neighbouring lines.
  __device__ static unsigned lineOf(unsigned row) {
    return row % kSkewWrite * (Lines / kSkewWrite) + row / kSkewWrite;
  }
  __device__ size_t placeOf(unsigned row) const { return first + row * stride; }

public:
  static constexpr unsigned kBytes = Lines * kPitch * 4;

  /// Constructs a tile whose row 0 begins at element `first` of the source;
  /// rows are `stride` apart.
  __device__ SkewedTile(size_t first, size_t stride)
      : lines(dynamicShared<uint32_t[kPitch]>()), first(first), stride(stride) {
  }

  /// Reads `cols` columns of the rows from `begin` to `end`, out of a tensor of
  /// `count` elements.
  __device__ void load(const uint16_t *source, unsigned begin, unsigned end,
                       unsigned cols, size_t count) {
    const unsigned lane = threadIdx.x % kAcross, down = threadIdx.x / kAcross;
    // Issue all loads before using the first. Loads past an end are clamped: a
    // branch would keep loads from overlapping.
    const size_t last = count / kSkewRead * kSkewRead - kSkewRead;
    auto placeAt = [&](unsigned row) {
      const size_t place = placeOf(minimum(maximum(row, begin), end - 1));
      const unsigned phase = place % kSkewRead;
      return place - phase +
             minimum(lane * kSkewRead,
                     (phase + cols - 1) / kSkewRead * kSkewRead);
    };
    // Rotate the order in which threads store their words, so that groups of
    // eight threads use different banks. The lines of the rows that a warp
    // reads are Lines / kSkewWrite apart.
    const unsigned rotation =
        (lane / 8 + down % (256 / Line) * (Line / 64 - Lines / kSkewWrite)) % 4;
#pragma unroll 1
    for (unsigned row = down; row < Lines; row += kBatch * kDown) {
      Words held[kBatch];
#pragma unroll
      for (unsigned i = 0; i < kBatch; ++i)
        held[i] = *reinterpret_cast<const Words *>(
            source + minimum(placeAt(row + i * kDown), last));
#pragma unroll
      for (unsigned i = 0; i < kBatch; ++i) {
        const unsigned here = row + i * kDown;
        const size_t place = placeAt(here);
        if (place > last && place < count)
          held[i] = loadEnd(source, place, count);
        if (here < Lines)
          keep(lines[lineOf(here)] + lane * kSkewRead / 2, held[i].at,
               rotation);
      }
    }
  }

  /// Returns the position of a row's column 0 in the tile, in elements.
  __device__ unsigned offsetOf(unsigned row) const {
    return lineOf(row) * 2 * kPitch + unsigned(placeOf(row) % kSkewRead);
  }
  __device__ uint16_t element(unsigned offset) const {
    return reinterpret_cast<const uint16_t *>(lines[0])[offset];
  }

private:
  /// Loads the part of a vector that lies inside the tensor.
  __device__ static Words loadEnd(const uint16_t *source, size_t place,
                                  size_t count) {
    Words words = {};
#pragma unroll
    for (unsigned i = 0; i < kSkewRead; ++i)
      if (place + i < count)
        words.at[i / 2] |= uint32_t(source[place + i]) << i % 2 * 16;
    return words;
  }

  /// Stores four words in an order rotated by `rotation`, so that threads with
  /// different rotations use different banks.
  __device__ static void keep(uint32_t *to, const uint32_t (&words)[4],
                              unsigned rotation) {
    uint32_t once[4], twice[4];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      once[i] = rotation % 2 ? words[(i + 1) % 4] : words[i];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      twice[i] = rotation / 2 ? once[(i + 2) % 4] : once[i];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      to[(rotation + i) % 4] = twice[i];
  }
};

/// Stores the elements with positions in [begin, end).
__device__ inline void storeSkewed(uint16_t *to,
                                   const uint16_t (&elements)[kSkewWrite],
                                   int begin, int end) {
  if (begin <= 0 && end >= int(kSkewWrite)) {
    Pack<uint16_t, kSkewWrite> pack;
#pragma unroll
    for (unsigned i = 0; i < kSkewWrite; ++i)
      pack.at[i] = elements[i];
    storePack(to, pack);
  } else {
#pragma unroll
    for (int i = 0; i < int(kSkewWrite); ++i)
      if (i >= begin && i < end)
        to[i] = elements[i];
  }
}

/// Transposes by tiles that write `Rows` rows, a multiple of kSkew, and have
/// lines of `Line` elements. Each has a block of 4 · Rows threads and dynamic
/// shared memory for Rows + kSkew lines (SkewedTile's kBytes). Strides are as
/// in transpose.cuh; `count` is the number of elements of the whole tensor.
template <class Body, unsigned Line, unsigned Rows>
__device__ inline void transposeSkewed(const Body &body, unsigned rows,
                                       unsigned cols, size_t fromStride,
                                       size_t toStride, size_t count) {
  // A thread's columns are kSkew apart, so they have the same skew.
  constexpr unsigned kAcross = Rows / kSkewWrite, kThreads = kSkew * kAcross;
  constexpr unsigned kLines = Rows + kSkew, kCols = Line - kSkewRead;
  const unsigned tileRows = (rows + kSkew - 1 + Rows - 1) / Rows;
  const unsigned tileCols = (cols + kCols - 1) / kCols;
  const unsigned perMatrix = tileRows * tileCols;
  // Consecutive tiles are neighbours in the output.
  const unsigned matrix = blockIdx.x / perMatrix, tile = blockIdx.x % perMatrix;
  const int firstRow = int(tile % tileRows * Rows) - int(kSkew);
  const unsigned firstCol = tile / tileRows * kCols;
  const unsigned colsHere = minimum(cols - firstCol, kCols);
  SkewedTile<Line, kLines, kThreads> lines(
      Body::from(matrix) + ptrdiff_t(firstRow) * ptrdiff_t(fromStride) +
          firstCol,
      fromStride);
  lines.load(body.source(), maximum(-firstRow, 0),
             minimum(unsigned(int(rows) - firstRow), kLines), colsHere, count);
  __syncthreads();
#pragma unroll 2
  for (unsigned col = threadIdx.x / kAcross; col < colsHere; col += kSkew) {
    // The column's first row that begins a sector in the output.
    const size_t to = Body::to(matrix) + (firstCol + col) * toStride;
    const unsigned skew = unsigned(to + firstRow) % kSkew;
    const unsigned line = kSkew - skew + threadIdx.x % kAcross * kSkewWrite;
    const int row = firstRow + int(line);
    uint16_t elements[kSkewWrite];
#pragma unroll
    for (unsigned i = 0; i < kSkewWrite; ++i)
      elements[i] = lines.element(lines.offsetOf(line + i) + col);
    storeSkewed(body.target() + ptrdiff_t(to) + row, elements, -row,
                int(rows) - row);
  }
}

/// Like transposeSkewed() for contiguous columns, in tiles that have all `Rows`
/// rows (at least kSkew), by blocks of `Threads` threads. A tile has a line per
/// row, rounded up to a multiple of kSkewWrite.
template <class Body, unsigned Line, unsigned Rows, unsigned Threads>
__device__ inline void transposeSkewedFlat(const Body &body, unsigned cols,
                                           size_t fromStride, size_t count) {
  constexpr unsigned kLines = (Rows + kSkewWrite - 1) / kSkewWrite * kSkewWrite;
  // A tile also reads the column before its first, which shares a sector with
  // it.
  constexpr unsigned kCols = Line - kSkewRead - 1;
  const unsigned tileCols = (cols + kCols - 1) / kCols;
  const unsigned matrix = blockIdx.x / tileCols;
  const unsigned firstCol = blockIdx.x % tileCols * kCols;
  const unsigned colsHere = minimum(cols - firstCol, kCols);
  SkewedTile<Line, kLines, Threads> lines(Body::from(matrix) + firstCol - 1,
                                          fromStride);
  lines.load(body.source(), 0, Rows, colsHere + 1, count);
  // Tile offsets of a row and the rows after it. A column's last row is
  // followed by the next column's first.
  using Offsets = Pack<uint16_t, kSkewWrite>;
  __shared__ Offsets offsets[Rows];
  for (unsigned row = threadIdx.x; row < Rows; row += Threads)
#pragma unroll
    for (unsigned i = 0; i < kSkewWrite; ++i)
      offsets[row].at[i] =
          uint16_t(lines.offsetOf((row + i) % Rows) + (row + i) / Rows);
  __syncthreads();
  // Output positions relative to the tile's first; the next tile writes the
  // partial sector at the end.
  const size_t to = Body::to(matrix) + size_t(firstCol) * Rows;
  const int first = -int(unsigned(to) % kSkew);
  const int begin = firstCol ? first : 0;
  int end = int(colsHere * Rows);
  if (firstCol + colsHere < cols)
    end -= int(unsigned(to + end) % kSkew);
#pragma unroll 2
  for (int place = first + int(threadIdx.x * kSkewWrite); place < end;
       place += int(Threads * kSkewWrite)) {
    const unsigned col = unsigned(place + int(Rows)) / Rows;
    const unsigned row = unsigned(place + int(Rows)) % Rows;
    const Offsets offset = offsets[row];
    uint16_t elements[kSkewWrite];
#pragma unroll
    for (unsigned i = 0; i < kSkewWrite; ++i)
      elements[i] = lines.element(offset.at[i] + col);
    storeSkewed(body.target() + ptrdiff_t(to) + place, elements, begin - place,
                end - place);
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_SKEWED_CUH
