//===- row_columns.cu - Checks row_columns.cuh ----------------------------===//

#include "frit/row_columns.cuh"

/// y = (x - mean(x)) * g * factor, m = mean(x), and per part the column sums of
/// g and of g * (x - mean(x)).
template <int V, unsigned Cols, class T> struct Centre {
  const T *x, *g;
  const float *factor;
  T *y;
  float *means, *sumsOfG, *sumsOfY;

  struct Element {
    float x, g;
  };
  static constexpr int kReductions = 1, kSums = 2;
  static constexpr int kStagedBytes = 2 * sizeof(T);
  template <class Self, class Visit>
  __device__ static void forInputs(Self &self, const Visit &visit) {
    visit(self.x, 0);
    visit(self.g, sizeof(T));
  }

  __device__ void load(Element (&e)[V], unsigned row, unsigned col) const {
    float a[V], b[V];
    frit::loadVector(a, x + size_t(row) * Cols + col);
    frit::loadVector(b, g + size_t(row) * Cols + col);
#pragma unroll
    for (int v = 0; v < V; ++v)
      e[v] = {a[v], b[v]};
  }
  template <int R>
  __device__ float term(Element &e, const float (&)[1], unsigned,
                        unsigned) const {
    return e.x;
  }
  template <int R> __device__ static float identity() { return 0; }
  template <int R> __device__ static float combine(float x, float y) {
    return x + y;
  }
  struct RowValues {
    float mean, factor;
  };
  __device__ RowValues valuesOf(const float (&r)[1], unsigned row) const {
    return {r[0] / Cols, factor[row]};
  }
  __device__ void add(const Element (&e)[V], const float (&)[1], unsigned,
                      unsigned, const RowValues &values,
                      float (&sums)[kSums][V]) const {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      sums[0][v] += e[v].g;
      sums[1][v] += e[v].g * (e[v].x - values.mean);
    }
  }
  template <int S>
  __device__ void storeSum(float sum, unsigned part, unsigned col) const {
    (S == 0 ? sumsOfG : sumsOfY)[part * Cols + col] = sum;
  }
  __device__ void store(const Element (&e)[V], const float (&)[1], unsigned row,
                        unsigned col, const RowValues &values) const {
    float out[V];
#pragma unroll
    for (int v = 0; v < V; ++v)
      out[v] = (e[v].x - values.mean) * e[v].g * values.factor;
    frit::storeVector(y + size_t(row) * Cols + col, out);
  }
  __device__ void finish(const float (&r)[1], unsigned row) const {
    means[row] = r[0] / Cols;
  }
};

template <class T, int PerThread, int V, int Block, unsigned Cols>
__global__ void __launch_bounds__(Block)
    centre(const T *x, const T *g, const float *factor, T *y, float *means,
           float *sumsOfG, float *sumsOfY, unsigned rows) {
  frit::rowColumns<Centre<V, Cols, T>, PerThread, V, Block, Cols>(
      {x, g, factor, y, means, sumsOfG, sumsOfY}, rows);
}

#ifndef __CUDACC_RTC__
#include "harness.h"

using namespace harness;

template <class T, int PerThread, int V, int Block, unsigned Cols>
static void check(unsigned parts, unsigned rowsOfPart) {
  const unsigned rows = parts * rowsOfPart;
  Buffer<T> x(rows * Cols), g(rows * Cols), y(rows * Cols);
  Buffer<float> factor(rows), means(rows), sumsOfG(parts * Cols),
      sumsOfY(parts * Cols);
  x.randomize(1);
  g.randomize(2);
  factor.randomize(3);
  launchShared(centre<T, PerThread, V, Block, Cols>, parts, Block,
               Block / 32 * 2 * 2 * sizeof(T) * Cols, x.get(), g.get(),
               factor.get(), y.get(), means.get(), sumsOfG.get(), sumsOfY.get(),
               rowsOfPart);
  std::vector<double> wantY, wantMeans, wantG(parts * Cols),
      wantSums(parts * Cols);
  for (unsigned i = 0; i < rows; ++i) {
    T *xs = x.host() + i * Cols, *gs = g.host() + i * Cols;
    double mean = 0;
    for (unsigned j = 0; j < Cols; ++j)
      mean += toDouble(xs[j]) / Cols;
    wantMeans.push_back(mean);
    for (unsigned j = 0; j < Cols; ++j) {
      double product = (toDouble(xs[j]) - mean) * toDouble(gs[j]);
      wantY.push_back(product * factor.host()[i]);
      wantG[i / rowsOfPart * Cols + j] += toDouble(gs[j]);
      wantSums[i / rowsOfPart * Cols + j] += product;
    }
  }
  std::string shape = std::to_string(parts) + "x" + std::to_string(rowsOfPart) +
                      "x" + std::to_string(Cols);
  expect("rows " + shape, y, wantY, epsilonOf<T>());
  expect("row means " + shape, means, wantMeans, 2e-6);
  expect("sums of an input " + shape, sumsOfG, wantG, 1e-5);
  expect("sums of products " + shape, sumsOfY, wantSums, 1e-5);
}

static void checks() {
  check<bf16, 24, 8, 128, 768>(3, 17); // every lane has three vectors
  check<f16, 8, 8, 96, 200>(2, 7);     // some lanes have none
  check<f16, 4, 2, 128, 104>(2, 3);    // some warps have no row
  check<float, 8, 4, 64, 196>(2, 9);   // some lanes have one of two
}

static void benches() {}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
