//===- matrix_products_test.cpp - Moments, their factors and inverses -----===//
//
// For sizes below, at and above those of blocks, beside sums in f64; and that
// the number of cores does not change a bit.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/quantize/MatrixProducts.h"

#include "llvm/Support/Parallel.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <random>

using namespace frit;

static int failures = 0;

static void check(bool good, const char *text, int64_t size) {
  if (good)
    return;
  ++failures;
  llvm::errs() << "size " << size << ": failed: " << text << '\n';
}

namespace {
/// The moments of random rows, 37 more than columns, and what is made of them.
struct Case {
  explicit Case(int64_t size) : size(size), count(size + 37) {
    std::mt19937 random(unsigned(size) + 1);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < count * size; ++i)
      rows.push_back(normal(random));
    moments.resize(size * size);
    MatrixView x{rows.data(), size};
    addUpperProduct(moments.data(), size, x.transposed(), x, size, count, 1);
    factor = moments;
    hasFactor = factorUpper(factor, size);
    inverse = invertUpper(factor, size);
  }

  int64_t size, count;
  std::vector<float> rows, moments, factor, inverse;
  bool hasFactor;
};
} // namespace

static void checkNumbers(const Case &made) {
  int64_t n = made.size, step = n > 300 ? 13 : 1;
  double moments = 0, factor = 0, inverse = 0;
  bool isUpper = true;
  for (int64_t i = 0; i < n; i += step)
    for (int64_t j = 0; j < n; j += j < i ? 1 : step) {
      if (j < i) {
        isUpper &= made.inverse[i * n + j] == 0;
        continue;
      }
      double sum = 0, product = 0, one = 0;
      for (int64_t k = 0; k < made.count; ++k)
        sum += double(made.rows[k * n + i]) * made.rows[k * n + j];
      for (int64_t k = j; k < n; ++k)
        product += double(made.factor[i * n + k]) * made.factor[j * n + k];
      for (int64_t k = i; k <= j; ++k)
        one += double(made.factor[i * n + k]) * made.inverse[k * n + j];
      double length = double(made.count);
      moments =
          std::max(moments, std::fabs(sum - made.moments[i * n + j]) / length);
      factor = std::max(factor, std::fabs(sum - product) / length);
      inverse = std::max(inverse, std::fabs(one - (i == j)));
    }
  check(made.hasFactor, "a factor exists", n);
  check(moments < 3e-6, "moments are the sums", n);
  check(factor < 6e-6, "R·Rᵀ are the moments", n);
  check(inverse < 3e-6, "R·R⁻¹ is 1", n);
  check(isUpper, "an inverse is upper triangular", n);
}

/// Sums of products of other shapes, whose rows lie apart.
static void checkProduct(ProductSizes sizes) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  int64_t stride = sizes.n + 5;
  std::vector<float> a(sizes.m * sizes.k), b(sizes.k * sizes.n),
      sums(sizes.m * stride, 2);
  for (std::vector<float> *matrix : {&a, &b})
    for (float &x : *matrix)
      x = normal(random);
  addProduct(sums.data(), stride, {a.data(), sizes.k}, {b.data(), sizes.n},
             sizes, -0.5f);
  double error = 0;
  for (int64_t i = 0; i < sizes.m; ++i)
    for (int64_t j = 0; j < stride; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < sizes.k && j < sizes.n; ++k)
        sum += double(a[i * sizes.k + k]) * b[k * sizes.n + j];
      error = std::max(error, std::fabs(2 - sum / 2 - sums[i * stride + j]));
    }
  check(error < 1e-4, "a product is the sums, and nothing else", sizes.n);
}

static void checkSingular() {
  // The middle column is 0.
  std::vector<float> matrix{1, 0, 0.5f, 0, 0, 0, 0.5f, 0, 1};
  check(!factorUpper(matrix, 3), "singular moments have no factor", 3);
  std::vector<float> notFinite(9, INFINITY);
  check(!factorUpper(notFinite, 3), "moments that overflow have none", 3);
}

int main() {
  for (int64_t size : {1, 5, 63, 64, 65, 128, 130, 200, 576})
    checkNumbers(Case(size));
  checkProduct({3, 300, 600});
  checkProduct({131, 9, 257});
  checkSingular();
  Case some(400);
  llvm::parallel::strategy = llvm::hardware_concurrency(1);
  Case alone(400);
  check(alone.moments == some.moments && alone.factor == some.factor &&
            alone.inverse == some.inverse,
        "cores change nothing", 400);
  if (!failures)
    llvm::outs() << "matrix_products_test: passed\n";
  return failures ? 1 : 0;
}
