//===- Sparse.h - Matrices of which two of four neighbours are kept -------===//
//
// A tile is 16 rows by 128 columns, of which 64 numbers of a row are kept, and
// 2 bits for each say where it is among four neighbours: 32 bytes of a row. A
// warp multiplies a tile by four mma.m16n8k32 of sparse matrices, its steps. In
// the order of tiles, where lane g · 4 + t has groups t and t + 4 of a step's
// eight, of rows g and g + 8, are
//
//   numbers  rows / 16 × columns / 128 × 1024: step, g, t, early or late group,
//            upper or lower row, first or second of the group
//   codes    likewise: steps 0 and 1 or 2 and 3, g, t, which of the two steps,
//            upper or lower row, early or late group, first or second
//   places   rows / 16 × columns / 128 × 256: g, odd or even step, early or
//   late
//            groups, steps 0 and 1 or 2 and 3, upper or lower row, two bytes of
//            two groups each, the first one in the low bits
//
// A group that has fewer than two numbers keeps zeros, in rising order.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_OPERATORS_SPARSE_H
#define FRIT_DIALECTS_NN_OPERATORS_SPARSE_H

#include "dialects/nn/operators/Quantized.h"

namespace frit::nn {

/// Neighbours of a group, and those of them that are kept.
inline constexpr int64_t kGroup = 4, kKept = 2;
inline constexpr int64_t kSparseColumns = 128; ///< of a tile of kTileRows
inline constexpr int64_t kSparseValues =
    kTileRows * kSparseColumns * kKept / kGroup;
inline constexpr int64_t kSparsePlaces = kTileRows * kSparseColumns / 8;

/// A matrix as nn.decompress has it, with its sizes.
struct SparseMatrix {
  mlir::Value values, places, scales; ///< scales are null unless it has codes
  std::optional<Code> code;
  int64_t rows, columns;
};

SparseMatrix describeSparse(DecompressOp op);

/// Returns whether a matrix of these sizes consists of whole tiles.
inline bool hasSparseTiles(int64_t rows, int64_t columns) {
  return rows % kTileRows == 0 && columns % kSparseColumns == 0;
}

/// Return where in a tile's numbers or codes, and in which of its bytes of
/// places, number `kept` of the group at `column` of a tile's row is.
int64_t placeOfValue(bool isCode, int64_t row, int64_t column, int64_t kept);
int64_t placeOfPlaces(int64_t row, int64_t column);
/// Returns the lowest of the two bits in that byte.
inline int64_t bitOfPlaces(int64_t column, int64_t kept) {
  return column / kGroup % 2 * 4 + kept * 2;
}

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_OPERATORS_SPARSE_H
