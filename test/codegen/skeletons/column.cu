//===- column.cu - Checks column.cuh --------------------------------------===//

#include "frit/column.cuh"

/// y = softmax(x) along the middle dimension of [rows / inner, cols, inner];
/// also stores the sums.
template <int V, class T> struct Softmax {
  const T *x;
  T *y;
  float *sums;
  unsigned cols, inner;

  struct Element {
    float x;
  };
  struct Stored {
    T x;
  };
  static constexpr int kReductions = 2;

  __device__ static Element fromStored(const Stored &s) {
    return {frit::load(s.x)};
  }
  __device__ const Stored *source(unsigned row, unsigned col) const {
    return reinterpret_cast<const Stored *>(x + place(row, col));
  }
  __device__ size_t place(unsigned row, unsigned col) const {
    return (size_t(row / inner) * cols + col) * inner + row % inner;
  }
  __device__ void load(Element (&e)[V], unsigned row, unsigned col) const {
    float a[V];
    frit::loadVector(a, x + place(row, col));
#pragma unroll
    for (int v = 0; v < V; ++v)
      e[v].x = a[v];
  }
  template <int R>
  __device__ float term(Element &e, const float (&r)[2], unsigned,
                        unsigned) const {
    return R == 0 ? e.x : frit::exp(e.x - r[0]);
  }
  template <int R> __device__ static float identity() {
    return R == 0 ? -INFINITY : 0.0f;
  }
  template <int R> __device__ static float combine(float x, float y) {
    return R == 0 ? frit::maximum(x, y) : x + y;
  }
  __device__ void store(const Element (&e)[V], const float (&r)[V][2],
                        unsigned row, unsigned col) const {
    float out[V];
#pragma unroll
    for (int v = 0; v < V; ++v)
      out[v] = frit::exp(e[v].x - r[v][0]) / r[v][1];
    frit::storeVector(y + place(row, col), out);
  }
  __device__ void finish(const float (&r)[V][2], unsigned row) const {
#pragma unroll
    for (int v = 0; v < V; ++v)
      sums[row + v] = r[v][1] * frit::exp(r[v][0]);
  }
};

/// The sums of x and of its squares along columns, and y = -x.
template <int V, class T> struct Sums {
  const T *x;
  T *y;
  float *sums, *squares;
  unsigned cols, inner;

  struct Element {
    float x;
  };
  static constexpr int kReductions = 2;

  __device__ size_t place(unsigned row, unsigned col) const {
    return (size_t(row / inner) * cols + col) * inner + row % inner;
  }
  __device__ void load(Element (&e)[V], unsigned row, unsigned col) const {
    float a[V];
    frit::loadVector(a, x + place(row, col));
#pragma unroll
    for (int v = 0; v < V; ++v)
      e[v].x = a[v];
  }
  template <int R>
  __device__ float term(Element &e, const float (&)[2], unsigned,
                        unsigned) const {
    return R == 0 ? e.x : e.x * e.x;
  }
  template <int R> __device__ static float identity() { return 0; }
  template <int R> __device__ static float combine(float x, float y) {
    return x + y;
  }
  __device__ void store(const Element (&e)[V], const float (&)[V][2],
                        unsigned row, unsigned col) const {
    float out[V];
#pragma unroll
    for (int v = 0; v < V; ++v)
      out[v] = -e[v].x;
    frit::storeVector(y + place(row, col), out);
  }
  __device__ void finish(const float (&r)[V][2], unsigned row) const {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      sums[row + v] = r[v][0];
      squares[row + v] = r[v][1];
    }
  }
};

template <class T, int Team, int Across, int V>
__global__ void sums(const T *x, T *y, float *sums, float *squares,
                     unsigned rows, unsigned cols, unsigned inner) {
  frit::columnJoint<Sums<V, T>, Team, Across, V>(
      {x, y, sums, squares, cols, inner}, rows, cols);
}

/// Replaces the number of columns per thread: keep columns in shared memory.
static constexpr int kInShared = -1;

template <class T, int Team, int Across, int PerThread, int V>
__global__ void softmax(const T *x, T *y, float *sums, unsigned rows,
                        unsigned cols, unsigned inner) {
  if constexpr (PerThread == kInShared)
    frit::columnShared<Softmax<V, T>, Team, Across, V>(
        {x, y, sums, cols, inner}, rows, cols);
  else
    frit::column<Softmax<V, T>, Team, Across, PerThread, V>(
        {x, y, sums, cols, inner}, rows, cols);
}

extern "C" __global__ void __launch_bounds__(512)
    softmax_256(const frit::f16 *x, frit::f16 *y, float *sums) {
  frit::column<Softmax<8, frit::f16>, 32, 16, 8, 8>({x, y, sums, 256, 3136},
                                                    200704, 256);
}

#ifndef __CUDACC_RTC__
#include "harness.h"

using namespace harness;

template <class T, int Team, int Across, int PerThread, int V>
static void check(unsigned outer, unsigned cols, unsigned inner,
                  unsigned grid) {
  unsigned rows = outer * inner;
  Buffer<T> x(size_t(rows) * cols), y(x.size());
  Buffer<float> sums(rows);
  x.randomize(cols);
  launchShared(softmax<T, Team, Across, PerThread, V>, grid, Team * Across,
               PerThread == kInShared ? cols * Across * V * sizeof(T) : 0,
               x.get(), y.get(), sums.get(), rows, cols, inner);
  std::vector<double> want(x.size()), wantSums(rows);
  for (unsigned row = 0; row < rows; ++row) {
    auto place = [&](unsigned col) {
      return (size_t(row / inner) * cols + col) * inner + row % inner;
    };
    for (unsigned col = 0; col < cols; ++col)
      wantSums[row] += std::exp(toDouble(x[place(col)]));
    for (unsigned col = 0; col < cols; ++col)
      want[place(col)] = std::exp(toDouble(x[place(col)])) / wantSums[row];
  }
  std::string shape = std::to_string(outer) + "x" + std::to_string(cols) + "x" +
                      std::to_string(inner);
  expect("softmax of columns " + shape, y, want, epsilonOf<T>());
  expect("sums of columns " + shape, sums, wantSums, 5e-6);
}

template <class T, int Team, int Across, int V>
static void checkJoint(unsigned outer, unsigned cols, unsigned inner,
                       unsigned grid) {
  unsigned rows = outer * inner;
  Buffer<T> x(size_t(rows) * cols), y(x.size());
  Buffer<float> first(rows), second(rows);
  x.randomize(cols);
  launch(sums<T, Team, Across, V>, grid, Team * Across, x.get(), y.get(),
         first.get(), second.get(), rows, cols, inner);
  std::vector<double> negative(x.size()), want(rows), wantSquares(rows);
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned col = 0; col < cols; ++col) {
      size_t place = (size_t(row / inner) * cols + col) * inner + row % inner;
      double value = toDouble(x[place]);
      negative[place] = -value;
      want[row] += value;
      wantSquares[row] += value * value;
    }
  std::string shape = std::to_string(outer) + "x" + std::to_string(cols) + "x" +
                      std::to_string(inner);
  expect("stores beside sums " + shape, y, negative, 0);
  expect("sums beside others " + shape, first, want, 5e-6);
  expect("sums of squares " + shape, second, wantSquares, 5e-6);
}

static void checks() {
  checkJoint<bf16, 8, 32, 4>(3, 131, 64, 2);  // teams of several warps
  checkJoint<float, 1, 64, 2>(2, 7, 70, 1);   // nothing to share
  checkJoint<f16, 64, 4, 8>(1, 1009, 24, 2);  // rows past the last
  checkJoint<bf16, 4, 8, 1>(5, 3, 13, 3);     // fewer columns than threads
  check<float, 1, 64, 5, 4>(3, 5, 68, 2);     // nothing to share
  check<f16, 8, 16, 3, 8>(2, 23, 40, 1);      // teams of several warps
  check<f16, 32, 16, 8, 8>(1, 251, 136, 2);   // combined by a tree
  check<bf16, 4, 8, 2, 1>(5, 7, 13, 3);       // teams within a warp
  check<float, 128, 4, 0, 2>(2, 1009, 10, 2); // every pass reads x again
  check<float, 2, 64, 0, 1>(1, 3, 701, 4);    // fewer columns than unrolled
  check<f16, 32, 8, kInShared, 8>(3, 67, 72,
                                  2); // copied, with a partial piece
  check<float, 16, 8, kInShared, 2>(2, 131, 38, 3); // by shorter copies
}

static void benches() {
#ifndef FRIT_EMULATE
  Buffer<f16> x(size_t(200704) * 256), y(x.size());
  Buffer<float> sums(200704);
  x.randomize(1);
  bench("softmax of columns f16 64x256x3136", 4e-9 * x.size(), "GB/s", [&] {
    launch(softmax_256, 200704 / 8 / 16, 512, x.get(), y.get(), sums.get());
  });
#endif
}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
