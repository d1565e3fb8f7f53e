//===- moments.h - Reference results of stages ----------------------------===//
//
// Operands that a product's kernel gets for norms, and what it must make of
// them: normalized elements, moments of rows and columns, sums of columns, dot
// products of rows.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_MOMENTS_H
#define FRIT_TEST_CODEGEN_SKELETONS_MOMENTS_H

#include "harness.h"

#include "frit/norm.cuh"
#include "frit/reductions.cuh"

namespace harness {

/// Whether the problem P computes a statistic.
template <class P, class Reduce>
inline constexpr bool reduces = frit::kSame<frit::ReduceOf<P>, Reduce>;

/// Operands and results of the stages of the problem P.
template <class P> struct Norms {
  static constexpr int64_t count() {
    if constexpr (frit::kNormalizes<P>)
      return P::parts;
    else
      return 1;
  }
  static constexpr int64_t width = frit::kMomentWidth;
  Buffer<float> moments{P::m * count() * 2}, column{P::n};
  Buffer<float> given{
      reduces<P, frit::ColumnSums>      ? P::m / frit::kSumHeight * P::n
      : reduces<P, frit::ColumnMoments> ? P::m / frit::kMomentHeight * P::n * 2
      : reduces<P, frit::RowDots> ? P::m * (P::n / width)
                                  : P::m * ((P::n + width - 1) / width) * 2};

  Norms() {
    moments.randomize(6);
    column.randomize(7);
    given.randomize(8);
    // Sums of squares.
    for (size_t i = 1; i < moments.size(); i += 2)
      moments[i] = 40 + 10 * moments[i];
    moments.upload();
  }
  frit::EndOperands operands() {
    return {moments.get(), column.get(), given.get()};
  }
  double apply(int64_t i, int64_t j, double sum, double bias, double residual) {
    if constexpr (frit::kNormalizes<P>) {
      const float *row = &moments[i * P::parts * 2];
      double mean = 0, squares = 0;
      for (int p = 0; p < P::parts; ++p)
        mean += row[p * 2] / P::parts;
      for (int p = 0; p < P::parts; ++p)
        squares += row[p * 2 + 1] + width * std::pow(row[p * 2] - mean, 2);
      double inverse = 1 / std::sqrt(squares / (width * P::parts) + P::epsilon);
      if (frit::kSame<frit::NormOf<P>, frit::NormOfProduct>)
        return (sum - mean * column[j]) * inverse + bias + residual;
      return sum + bias + (residual - mean) * inverse * column[j];
    }
    return sum;
  }
};

/// Computes the moments of every 64 elements.
inline std::vector<double> momentsOf(const std::vector<double> &d) {
  constexpr int width = frit::kMomentWidth;
  std::vector<double> result;
  for (size_t i = 0; i < d.size(); i += width) {
    double mean = 0, squares = 0;
    for (int j = 0; j < width; ++j)
      mean += d[i + j] / width;
    for (int j = 0; j < width; ++j)
      squares += std::pow(d[i + j] - mean, 2);
    result.push_back(mean);
    result.push_back(squares);
  }
  return result;
}

/// Computes the moments of columns of an m × n matrix, over 64 rows each.
inline std::vector<double> columnMomentsOf(const std::vector<double> &d,
                                           int64_t m, int64_t n) {
  constexpr int height = frit::kMomentHeight;
  std::vector<double> result(2 * m / height * n);
  for (int64_t part = 0; part < m / height; ++part)
    for (int64_t j = 0; j < n; ++j) {
      double mean = 0, squares = 0;
      for (int i = 0; i < height; ++i)
        mean += d[(part * height + i) * n + j] / height;
      for (int i = 0; i < height; ++i)
        squares += std::pow(d[(part * height + i) * n + j] - mean, 2);
      result[part * n + j] = mean;
      result[(m / height + part) * n + j] = squares;
    }
  return result;
}

/// Computes the sums of columns of an m × n matrix, over 16 rows each.
inline std::vector<double> columnSumsOf(const std::vector<double> &d, int64_t m,
                                        int64_t n) {
  std::vector<double> result(m / frit::kSumHeight * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      result[i / frit::kSumHeight * n + j] += d[i * n + j];
  return result;
}

/// Computes the dot products of every 64 elements.
inline std::vector<double> rowDotsOf(const std::vector<double> &a,
                                     const std::vector<double> &b) {
  std::vector<double> result(a.size() / frit::kMomentWidth);
  for (size_t i = 0; i < result.size() * frit::kMomentWidth; ++i)
    result[i / frit::kMomentWidth] += a[i] * b[i];
  return result;
}

} // namespace harness

#endif // FRIT_TEST_CODEGEN_SKELETONS_MOMENTS_H
