//===- CompressConstants.cpp - Constant matrices without their zeros ------===//

#include "compiler/transform/sparse/CompressConstants.h"

#include "compiler/transform/sparse/ConstantBytes.h"

#include "llvm/Support/Parallel.h"

#include <atomic>
#include <cstring>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// The elements of a matrix with k along its rows.
struct Elements {
  const char *data;
  int64_t bytes, rows, columns, rowStride, columnStride;
  std::optional<Code> code;

  const char *at(int64_t row, int64_t column) const {
    return data + (row * rowStride + column * columnStride) * bytes;
  }
  /// Returns whether an element is 0, of either sign.
  bool isZero(const char *element) const {
    uint32_t bits = 0;
    memcpy(&bits, element, size_t(bytes));
    if (code == Code::int8)
      return bits == 128;
    return (bits & ((1u << (bytes * 8 - 1)) - 1)) == 0;
  }
};

/// Where the two kept elements of a group are, in rising order.
struct Kept {
  int64_t first, second;
};
} // namespace

/// Returns which elements of four neighbours are kept: those that are not 0,
/// and others if they are fewer than two; nothing if they are more.
static std::optional<Kept> keptOf(const Elements &matrix, int64_t row,
                                  int64_t column) {
  SmallVector<int64_t, 4> kept;
  for (int64_t i = 0; i < kGroup; ++i)
    if (!matrix.isZero(matrix.at(row, column + i)))
      kept.push_back(i);
  if (kept.size() > 2)
    return std::nullopt;
  for (int64_t i = 0; kept.size() < 2; ++i)
    if (!llvm::is_contained(kept, i))
      kept.push_back(i);
  return Kept{std::min(kept[0], kept[1]), std::max(kept[0], kept[1])};
}

/// Compresses a row into its tiles; returns whether it is 2:4 sparse.
static bool compressRow(const Elements &matrix, int64_t row, char *values,
                        char *places) {
  int64_t chunks = matrix.columns / kSparseColumns;
  int64_t tile = row / kTileRows * chunks, inTile = row % kTileRows;
  for (int64_t column = 0; column < matrix.columns; column += kGroup) {
    auto kept = keptOf(matrix, row, column);
    if (!kept)
      return false;
    int64_t at = tile + column / kSparseColumns;
    int64_t inRow = column % kSparseColumns;
    char &byte = places[at * kSparsePlaces + placeOfPlaces(inTile, inRow)];
    for (int64_t i = 0; i < kKept; ++i) {
      int64_t place = i ? kept->second : kept->first;
      int64_t to = at * kSparseValues +
                   placeOfValue(bool(matrix.code), inTile, inRow, i);
      memcpy(values + to * matrix.bytes, matrix.at(row, column + place),
             size_t(matrix.bytes));
      byte = char(uint8_t(byte) | place << bitOfPlaces(inRow, i));
    }
  }
  return true;
}

std::optional<CompressedConstant>
frit::compressConstant(ElementsAttr value, bool transposed,
                       std::optional<Code> code) {
  auto type = cast<RankedTensorType>(value.getType());
  ArrayRef<char> data = bytesOfConstant(value);
  if (type.getRank() != 2 || data.empty())
    return std::nullopt;
  int64_t height = type.getDimSize(0), width = type.getDimSize(1);
  Elements matrix{
      data.data(), type.getElementTypeBitWidth() / 8, height, width, width, 1,
      code};
  if (transposed)
    matrix = {data.data(), matrix.bytes, width, height, 1, width, code};
  if (!hasSparseTiles(matrix.rows, matrix.columns) || !matrix.rows)
    return std::nullopt;
  // Most matrices that are dense show it at once.
  if (!keptOf(matrix, 0, 0))
    return std::nullopt;
  int64_t tiles = matrix.rows / kTileRows * (matrix.columns / kSparseColumns);
  auto values = HeapAsmResourceBlob::allocate(
      size_t(tiles * kSparseValues * matrix.bytes), 16, /*dataIsMutable=*/true);
  auto places = HeapAsmResourceBlob::allocate(size_t(tiles * kSparsePlaces), 16,
                                              /*dataIsMutable=*/true);
  char *toValues = values.getMutableData().data();
  char *toPlaces = places.getMutableData().data();
  memset(toPlaces, 0, size_t(tiles * kSparsePlaces));
  std::atomic<bool> isSparse = true;
  llvm::parallelFor(0, size_t(matrix.rows), [&](size_t row) {
    if (isSparse && !compressRow(matrix, int64_t(row), toValues, toPlaces))
      isSparse = false;
  });
  if (!isSparse)
    return std::nullopt;
  auto resource = [&](int64_t last, Type element, AsmResourceBlob blob) {
    SmallVector<int64_t> shape = {matrix.rows / kTileRows,
                                  matrix.columns / kSparseColumns, last};
    return DenseResourceElementsAttr::get(RankedTensorType::get(shape, element),
                                          "sparse", std::move(blob));
  };
  Type u8 = IntegerType::get(value.getContext(), 8, IntegerType::Unsigned);
  return CompressedConstant{
      resource(kSparseValues, type.getElementType(), std::move(values)),
      resource(kSparsePlaces, u8, std::move(places))};
}
