//===- MatrixProducts.cpp - Products of f32 matrices ----------------------===//

#include "compiler/transform/quantize/MatrixProducts.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace frit;

/// Rows and columns of a block that a core computes, and products of each sum
/// in it: 128 KB of each operand.
static constexpr int64_t kProductBlock = 128, kDepth = 256;
/// Rows and columns of sums in registers: 8 vectors of any processor.
static constexpr int64_t kPanelRows = 4, kPanelColumns = 8;
/// Columns of a triangular matrix that are factored or inverted at once.
static constexpr int64_t kTriangle = 64;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Copies rows of a matrix to panels of `width` rows, in which the elements of
/// a column follow one another; 0 behind the last row.
static void pack(MatrixView from, int64_t rows, int64_t columns, int64_t width,
                 float *to) {
  for (int64_t first = 0; first < rows; first += width) {
    int64_t count = std::min(width, rows - first);
    const float *start = from.data + first * from.rowStride;
    for (int64_t k = 0; k < columns; ++k, to += width) {
      const float *column = start + k * from.columnStride;
      if (from.rowStride == 1 && count == width) {
        std::copy_n(column, width, to);
        continue;
      }
      for (int64_t i = 0; i < width; ++i)
        to[i] = i < count ? column[i * from.rowStride] : 0;
    }
  }
}

namespace {
using Vector = float __attribute__((vector_size(16)));

/// The sums of a panel of A and a panel of B.
struct PanelSums {
  Vector sums[kPanelRows][2];
};
} // namespace

static PanelSums multiplyPanels(const float *a, const float *b, int64_t depth) {
  Vector s00{}, s01{}, s10{}, s11{}, s20{}, s21{}, s30{}, s31{};
  for (int64_t k = 0; k < depth; ++k, a += kPanelRows, b += kPanelColumns) {
    Vector x, y;
    memcpy(&x, b, sizeof x);
    memcpy(&y, b + 4, sizeof y);
    s00 += a[0] * x;
    s01 += a[0] * y;
    s10 += a[1] * x;
    s11 += a[1] * y;
    s20 += a[2] * x;
    s21 += a[2] * y;
    s30 += a[3] * x;
    s31 += a[3] * y;
  }
  return {{{s00, s01}, {s10, s11}, {s20, s21}, {s30, s31}}};
}

/// Adds a block of sums from packed panels.
static void addPanels(float *sums, int64_t stride, const float *a,
                      const float *b, ProductSizes sizes, float factor) {
  for (int64_t j = 0; j < sizes.n; j += kPanelColumns)
    for (int64_t i = 0; i < sizes.m; i += kPanelRows) {
      PanelSums tile =
          multiplyPanels(a + i * sizes.k, b + j * sizes.k, sizes.k);
      float numbers[kPanelRows][kPanelColumns];
      static_assert(sizeof numbers == sizeof tile);
      memcpy(numbers, &tile, sizeof tile);
      int64_t rows = std::min(kPanelRows, sizes.m - i),
              columns = std::min(kPanelColumns, sizes.n - j);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
          sums[(i + row) * stride + j + column] +=
              factor * numbers[row][column];
    }
}

void frit::addProduct(float *sums, int64_t stride, MatrixView a, MatrixView b,
                      ProductSizes sizes, float factor) {
  std::vector<float> rows(kProductBlock * kDepth),
      columns(kProductBlock * kDepth);
  for (int64_t j = 0; j < sizes.n; j += kProductBlock)
    for (int64_t k = 0; k < sizes.k; k += kDepth) {
      int64_t n = std::min(kProductBlock, sizes.n - j),
              depth = std::min(kDepth, sizes.k - k);
      MatrixView part = b.transposed();
      part.data += j * b.columnStride + k * b.rowStride;
      pack(part, n, depth, kPanelColumns, columns.data());
      for (int64_t i = 0; i < sizes.m; i += kProductBlock) {
        int64_t m = std::min(kProductBlock, sizes.m - i);
        MatrixView own = a;
        own.data += i * a.rowStride + k * a.columnStride;
        pack(own, m, depth, kPanelRows, rows.data());
        addPanels(sums + i * stride + j, stride, rows.data(), columns.data(),
                  {m, n, depth}, factor);
      }
    }
}

void frit::addUpperProduct(float *sums, int64_t stride, MatrixView a,
                           MatrixView b, int64_t size, int64_t k,
                           float factor) {
  std::vector<std::pair<int64_t, int64_t>> blocks;
  for (int64_t i = 0; i < size; i += kProductBlock)
    for (int64_t j = i; j < size; j += kProductBlock)
      blocks.emplace_back(i, j);
  llvm::parallelFor(0, blocks.size(), [&](size_t block) {
    auto [i, j] = blocks[block];
    MatrixView rows = a, columns = b;
    rows.data += i * a.rowStride;
    columns.data += j * b.columnStride;
    addProduct(sums + i * stride + j, stride, rows, columns,
               {std::min(kProductBlock, size - i),
                std::min(kProductBlock, size - j), k},
               factor);
  });
}

//===----------------------------------------------------------------------===//
// Triangles
//===----------------------------------------------------------------------===//

/// Factors the triangle of columns `first` to `end`.
static bool factorTriangle(std::vector<float> &matrix, int64_t size,
                           int64_t first, int64_t end) {
  for (int64_t j = end - 1; j >= first; --j) {
    float pivot = matrix[j * size + j];
    if (!(pivot > 0) || !std::isfinite(pivot))
      return false;
    float root = std::sqrt(pivot);
    matrix[j * size + j] = root;
    for (int64_t i = first; i < j; ++i)
      matrix[i * size + j] /= root;
    for (int64_t i = first; i < j; ++i)
      for (int64_t k = i; k < j; ++k)
        matrix[i * size + k] -= matrix[i * size + j] * matrix[k * size + j];
  }
  return true;
}

bool frit::factorUpper(std::vector<float> &matrix, int64_t size) {
  for (int64_t end = size; end > 0;) {
    // The remainder comes first, since blocks begin at the end.
    int64_t first = (end - 1) / kTriangle * kTriangle;
    if (!factorTriangle(matrix, size, first, end))
      return false;
    // The rows above: X · Rᵀ is what they were, with the R of the triangle.
    llvm::parallelFor(
        0, size_t(llvm::divideCeil(first, kTriangle)), [&](size_t part) {
          auto begin = int64_t(part) * kTriangle;
          for (int64_t i = begin; i < std::min(begin + kTriangle, first); ++i) {
            float *row = &matrix[i * size];
            for (int64_t j = end - 1; j >= first; --j) {
              const float *r = &matrix[j * size];
              float sum = row[j];
              for (int64_t k = j + 1; k < end; ++k)
                sum -= row[k] * r[k];
              row[j] = sum / r[j];
            }
          }
        });
    MatrixView above{matrix.data() + first, size};
    addUpperProduct(matrix.data(), size, above, above.transposed(), first,
                    end - first, -1);
    end = first;
  }
  return true;
}

/// Inverts the triangle of columns `first` to `end`.
static void invertTriangle(const std::vector<float> &r, int64_t size,
                           int64_t first, int64_t end,
                           std::vector<float> &inverse) {
  for (int64_t i = end - 1; i >= first; --i) {
    float *row = &inverse[i * size];
    for (int64_t k = i + 1; k < end; ++k)
      for (int64_t j = k; j < end; ++j)
        row[j] -= r[i * size + k] * inverse[k * size + j];
    for (int64_t j = i + 1; j < end; ++j)
      row[j] /= r[i * size + i];
    row[i] = 1 / r[i * size + i];
  }
}

std::vector<float> frit::invertUpper(const std::vector<float> &r,
                                     int64_t size) {
  std::vector<float> inverse(r.size());
  for (int64_t end = size; end > 0;) {
    int64_t first = (end - 1) / kTriangle * kTriangle, rows = end - first;
    invertTriangle(r, size, first, end, inverse);
    // To the right: -T⁻¹ · R · S, with the triangle T and the inverse S of the
    // rows below.
    llvm::parallelFor(0, size_t(llvm::divideCeil(size - end, kProductBlock)),
                      [&](size_t part) {
                        int64_t j = end + int64_t(part) * kProductBlock,
                                n = std::min(kProductBlock, size - j);
                        std::vector<float> product(rows * n);
                        addProduct(product.data(), n,
                                   {&r[first * size + end], size},
                                   {&inverse[end * size + j], size},
                                   {rows, n, j + n - end}, -1);
                        addProduct(&inverse[first * size + j], size,
                                   {&inverse[first * size + first], size},
                                   {product.data(), n}, {rows, n, rows}, 1);
                      });
    end = first;
  }
  return inverse;
}
