//===- transpose_runs.cuh - Transposes of contiguous runs -----------------===//
//
// Transposes that keep the innermost dimension move contiguous runs: a batch of
// matrices of runs, whose rows run along the future second-innermost dimension.
// Runs that are not a multiple of a vector begin anywhere inside one. But the
// runs of a tile form longer lines on either side, which are whole vectors
// except at their ends. A row's line is copied to shared memory from the vector
// in which it begins; a column's line is gathered there element by element and
// written by vectors.
//
// Four neighbouring threads write neighbouring vectors, and the next four those
// of the next column. Runs have an odd number of elements, so that a warp's
// gathers cause few bank conflicts.
//
// The Body is that of transpose_skewed.cuh, with elements of T.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_RUNS_CUH
#define FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_RUNS_CUH

#include "frit/copy.cuh"

namespace frit {

/// Moves one tile of `Rows` × `Cols` runs of `Run` elements per block of 256
/// threads. Neighbouring rows are `fromStride` elements apart in the source,
/// columns `toStride` elements in the target. Both tensors have `count`
/// elements and are aligned to a sector. With `Aligned`, all lines of tiles are
/// whole vectors.
template <class Body, class T, unsigned Run, unsigned Rows, unsigned Cols,
          bool Aligned = false>
__device__ inline void transposeRuns(const Body &body, unsigned rows,
                                     unsigned cols, size_t fromStride,
                                     size_t toStride, size_t count) {
  constexpr unsigned kThreads = 256, kVector = 16 / sizeof(T), kGroup = 4;
  constexpr unsigned kPhases = Aligned ? 1 : kVector;
  // Copies are slower if a sector of global memory is split over two in shared
  // memory, so lines keep their offset within a sector.
  constexpr unsigned kSector = 2 * kVector, kStep = Aligned ? kVector : 1;
  // Vectors of a line, for any alignment.
  constexpr unsigned kRead =
      (Cols * Run + kSector - kStep + kVector - 1) / kVector;
  constexpr unsigned kWritten = (Rows * Run + kPhases + kVector - 2) / kVector;
  constexpr unsigned kPitch = (kRead + 1) / 2 * kSector;
  // With a margin, since vectors extend past both ends of lines.
  __shared__ __align__(128) T kept[Rows * kPitch + 2 * kSector];
  T *const lines = kept + kSector;
  const unsigned tileRows = (rows + Rows - 1) / Rows;
  const unsigned tileCols = (cols + Cols - 1) / Cols;
  const unsigned perMatrix = tileRows * tileCols;
  // Consecutive tiles are neighbours in the source.
  const unsigned matrix = blockIdx.x / perMatrix, tile = blockIdx.x % perMatrix;
  const unsigned firstRow = tile / tileCols * Rows;
  const unsigned firstCol = tile % tileCols * Cols;
  const unsigned rowsHere = minimum(rows - firstRow, Rows);
  const unsigned colsHere = minimum(cols - firstCol, Cols);

  const size_t from =
      Body::from(matrix) + firstRow * fromStride + size_t(firstCol) * Run;
  auto phaseOf = [&](unsigned row) {
    return (unsigned(from) + row * unsigned(fromStride)) % kSector;
  };
#pragma unroll 4
  for (unsigned index = threadIdx.x; index < Rows * kRead; index += kThreads) {
    const unsigned row = index / kRead, at = index % kRead * kVector;
    const unsigned phase = phaseOf(row);
    const size_t place = from + row * fromStride - phase + at;
    if (row < rowsHere && at < phase + colsHere * Run)
      copyAsync(lines + row * kPitch + at, body.source() + place,
                int(minimum(count - place, size_t(kVector)) * sizeof(T)));
  }
  commitCopies();
  waitCopies<0>();
  __syncthreads();

  const size_t to =
      Body::to(matrix) + firstCol * toStride + size_t(firstRow) * Run;
  constexpr unsigned kGroups = (kWritten + kGroup - 1) / kGroup;
#pragma unroll 2
  for (unsigned index = threadIdx.x; index < kGroups * kGroup * Cols;
       index += kThreads) {
    const unsigned col = index / kGroup % Cols;
    const unsigned vector = index / (kGroup * Cols) * kGroup + index % kGroup;
    const size_t line = to + col * toStride;
    // The vector's position in the line, and the elements left from there to
    // the line's end. The line's first and last vectors are partial.
    const int begin = int(vector * kVector) - int(unsigned(line) % kPhases);
    const int end = int(rowsHere * Run) - begin;
    if (col >= colsHere || end <= 0)
      continue;
    auto placeOf = [&](unsigned row) {
      if constexpr (!Aligned)
        row = minimum(row, Rows - 1);
      return int(row * kPitch + phaseOf(row) + col * Run);
    };
    Pack<T, kVector> pack;
    if constexpr (Run >= kVector) {
      // The vector covers the rest of one run and the start of the next.
      const unsigned row = unsigned(maximum(begin, 0)) / Run;
      const int along = begin - int(row * Run), rest = int(Run) - along;
      const int here = placeOf(row) + along, next = placeOf(row + 1) - rest;
#pragma unroll
      for (int i = 0; i < int(kVector); ++i)
        pack.at[i] = lines[(i < rest ? here : next) + i];
    } else {
#pragma unroll
      for (int i = 0; i < int(kVector); ++i) {
        const unsigned at = unsigned(maximum(begin + i, 0));
        pack.at[i] = lines[placeOf(at / Run) + int(at % Run)];
      }
    }
    T *const target = body.target() + (ptrdiff_t(line) + begin);
    if (Aligned || (begin >= 0 && end >= int(kVector))) {
      storePack(target, pack);
    } else {
#pragma unroll
      for (int i = 0; i < int(kVector); ++i)
        if (begin + i >= 0 && i < end)
          target[i] = pack.at[i];
    }
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSE_RUNS_CUH
