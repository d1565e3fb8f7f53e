//===- SparseConstants.cpp - Constant matrices that are 2:4 sparse --------===//

#include "compiler/transform/sparse/SparseConstants.h"

#include "compiler/support/Halves.h"
#include "compiler/transform/sparse/ConstantBytes.h"

#include "llvm/Support/Parallel.h"

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace frit;

std::optional<SparseConstant> SparseConstant::of(ElementsAttr value,
                                                 bool transposed) {
  auto type = cast<RankedTensorType>(value.getType());
  ArrayRef<char> data = bytesOfConstant(value);
  Type element = type.getElementType();
  if (type.getRank() != 2 || data.empty() ||
      !(element.isF32() || element.isF16() || element.isBF16()))
    return std::nullopt;
  int64_t height = type.getDimSize(0), width = type.getDimSize(1);
  SparseConstant matrix;
  matrix.type = type;
  matrix.data = data.data();
  matrix.bytes = element.getIntOrFloatBitWidth() / 8;
  matrix.rows = transposed ? width : height;
  matrix.columns = transposed ? height : width;
  matrix.rowStride = transposed ? 1 : width;
  matrix.columnStride = transposed ? width : 1;
  if (matrix.columns % 4)
    return std::nullopt;
  return matrix;
}

bool SparseConstant::isZero(int64_t row, int64_t column) const {
  const char *from = data + placeOf(row, column) * bytes;
  uint32_t bits = 0;
  memcpy(&bits, from, size_t(bytes));
  return (bits & (bytes == 4 ? 0x7fffffffu : 0x7fffu)) == 0;
}

float SparseConstant::at(int64_t row, int64_t column) const {
  const char *from = data + placeOf(row, column) * bytes;
  if (bytes == 4) {
    float number;
    memcpy(&number, from, 4);
    return number;
  }
  uint16_t bits;
  memcpy(&bits, from, 2);
  return type.getElementType().isBF16()
             ? std::bit_cast<float>(uint32_t(bits) << 16)
             : halfToFloat(bits);
}

std::optional<std::pair<int64_t, int64_t>> SparseConstant::findDense() const {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; column += 4) {
      int count = 0;
      for (int64_t i = 0; i < 4; ++i)
        count += !isZero(row, column + i);
      if (count > 2)
        return std::pair(row, column);
    }
  return std::nullopt;
}

std::pair<ElementsAttr, double> SparseConstant::prune() const {
  auto blob = HeapAsmResourceBlob::allocate(size_t(rows * columns * bytes), 16,
                                            /*dataIsMutable=*/true);
  char *to = blob.getMutableData().data();
  memcpy(to, data, size_t(rows * columns * bytes));
  std::vector<double> kept(size_t(rows), 0), all(size_t(rows), 0);
  llvm::parallelFor(0, size_t(rows), [&](size_t index) {
    auto row = int64_t(index);
    for (int64_t column = 0; column < columns; column += 4) {
      std::array<float, 4> sizes;
      std::array<int, 4> order = {0, 1, 2, 3};
      for (int i = 0; i < 4; ++i) {
        sizes[i] = std::fabs(at(row, column + i));
        // No number is above all, and stays.
        if (std::isnan(sizes[i]))
          sizes[i] = INFINITY;
        all[index] += double(sizes[i]) * sizes[i];
      }
      std::stable_sort(order.begin(), order.end(),
                       [&](int a, int b) { return sizes[a] > sizes[b]; });
      for (int i = 0; i < 2; ++i)
        kept[index] += double(sizes[order[i]]) * sizes[order[i]];
      for (int i = 2; i < 4; ++i)
        memset(to + placeOf(row, column + order[i]) * bytes, 0, size_t(bytes));
    }
  });
  double keptSum = 0, sum = 0;
  for (int64_t row = 0; row < rows; ++row) {
    keptSum += kept[size_t(row)];
    sum += all[size_t(row)];
  }
  return {DenseResourceElementsAttr::get(type, "pruned", std::move(blob)),
          sum > 0 ? keptSum / sum : 1};
}
