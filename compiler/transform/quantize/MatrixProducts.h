//===- MatrixProducts.h - Products of f32 matrices ------------------------===//
//
// What searching codes multiplies: by blocks that stay in cache, on all cores.
// Each element's sum has the same order for any number of cores.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_QUANTIZE_MATRIXPRODUCTS_H
#define FRIT_COMPILER_TRANSFORM_QUANTIZE_MATRIXPRODUCTS_H

#include <cstdint>
#include <vector>

namespace frit {

/// A matrix that lies anywhere: element (i, j) is data[i · rowStride + j ·
/// columnStride].
struct MatrixView {
  const float *data;
  int64_t rowStride, columnStride = 1;

  MatrixView transposed() const { return {data, columnStride, rowStride}; }
};

/// An m × k and a k × n matrix.
struct ProductSizes {
  int64_t m, n, k;
};

/// Adds factor · A · B to a matrix whose rows are `stride` apart. Runs on one
/// core.
void addProduct(float *sums, int64_t stride, MatrixView a, MatrixView b,
                ProductSizes sizes, float factor);

/// The same on all cores, of a square matrix. Elements below the diagonal may
/// have any values after it.
void addUpperProduct(float *sums, int64_t stride, MatrixView a, MatrixView b,
                     int64_t size, int64_t k, float factor);

/// Factors a matrix, of which the upper triangle is given, to R·Rᵀ with an
/// upper triangular R, in its place. Returns whether that exists.
bool factorUpper(std::vector<float> &matrix, int64_t size);

/// Inverts an upper triangular matrix. What is below the diagonal is not read,
/// and 0 in the result.
std::vector<float> invertUpper(const std::vector<float> &matrix, int64_t size);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_QUANTIZE_MATRIXPRODUCTS_H
