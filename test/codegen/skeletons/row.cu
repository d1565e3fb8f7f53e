//===- row.cu - Checks row.cuh --------------------------------------------===//

#include "layer_norm.h"

/// y = softmax(x + r) along columns.
template <int V, class T> struct Softmax {
  const T *x, *r;
  T *y;
  unsigned cols;

  struct Element {
    float x;
  };
  static constexpr int kReductions = 2;

  __device__ void load(Element (&e)[V], unsigned row, unsigned col) const {
    float a[V], b[V];
    frit::loadVector(a, x + size_t(row) * cols + col);
    frit::loadVector(b, r + size_t(row) * cols + col);
#pragma unroll
    for (int v = 0; v < V; ++v)
      e[v].x = a[v] + b[v];
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
  __device__ void store(const Element (&e)[V], const float (&r)[2],
                        unsigned row, unsigned col) const {
    float out[V];
#pragma unroll
    for (int v = 0; v < V; ++v)
      out[v] = frit::exp(e[v].x - r[0]) / r[1];
    frit::storeVector(y + size_t(row) * cols + col, out);
  }
  __device__ void finish(const float (&)[2], unsigned) const {}
};

/// y = (x - mean) / sqrt(variance + 1e-5) * scale + shift; also stores the
/// mean.
template <int V, class T> struct LayerNorm {
  const T *x, *scale, *shift;
  T *y;
  float *means;
  unsigned cols;

  struct Element {
    float x;
  };
  struct Stored {
    T x;
  };
  static constexpr int kReductions = 2;

  __device__ static Stored toStored(const Element &e) {
    Stored stored;
    frit::store(stored.x, e.x);
    return stored;
  }
  __device__ static Element fromStored(const Stored &s) {
    return {frit::load(s.x)};
  }

  __device__ void load(Element (&e)[V], unsigned row, unsigned col) const {
    loadElements(e, x + size_t(row) * cols + col);
  }
  template <int R>
  __device__ float term(Element &e, const float (&r)[2], unsigned,
                        unsigned) const {
    return momentTerm<R>(e.x, r[0], cols);
  }
  template <int R> __device__ static float identity() { return 0; }
  template <int R> __device__ static float combine(float x, float y) {
    return x + y;
  }
  __device__ void store(const Element (&e)[V], const float (&r)[2],
                        unsigned row, unsigned col) const {
    float out[V];
    normalize(out, e, r, cols, scale + col, shift + col);
    frit::storeVector(y + size_t(row) * cols + col, out);
  }
  __device__ void finish(const float (&r)[2], unsigned row) const {
    means[row] = r[0] / cols;
  }
};

/// y = (x - mean) / sqrt(mean of squares) * scale of the row, in place; the
/// mean and the squares are summed in one pass.
template <int V, class T> struct Standardize {
  T *x;
  const float *scale;
  unsigned cols;

  struct Element {
    float x;
  };
  struct Stored {
    T x;
  };
  static constexpr int kReductions = 3;
  static constexpr int kPasses[kReductions] = {0, 0, 1};

  __device__ static Element fromStored(const Stored &s) {
    return {frit::load(s.x)};
  }
  __device__ const Stored *source(unsigned row, unsigned col) const {
    return reinterpret_cast<const Stored *>(x + size_t(row) * cols + col);
  }
  __device__ void load(Element (&e)[V], unsigned row, unsigned col) const {
    loadElements(e, x + size_t(row) * cols + col);
  }
  template <int R>
  __device__ float term(Element &e, const float (&r)[3], unsigned,
                        unsigned) const {
    return R == 0 ? e.x : R == 1 ? e.x * e.x : frit::abs(e.x - r[0] / cols);
  }
  template <int R> __device__ static float identity() { return 0; }
  template <int R> __device__ static float combine(float x, float y) {
    return R == 2 ? frit::maximum(x, y) : x + y;
  }
  struct RowValues {
    float factor;
  };
  __device__ RowValues valuesOf(const float (&r)[3], unsigned row) const {
    return {frit::rsqrt(r[1] / cols) * scale[row]};
  }
  __device__ void store(const Element (&e)[V], const float (&r)[3],
                        unsigned row, unsigned col,
                        const RowValues &values) const {
    float out[V];
#pragma unroll
    for (int v = 0; v < V; ++v)
      out[v] = (e[v].x - r[0] / cols) * values.factor / r[2];
    frit::storeVector(x + size_t(row) * cols + col, out);
  }
  __device__ void finish(const float (&)[3], unsigned) const {}
};

template <class T, int Threads, int PerThread, int V, int Block>
__global__ void softmax(const T *x, const T *r, T *y, unsigned rows,
                        unsigned cols) {
  frit::row<Softmax<V, T>, Threads, PerThread, V, Block>({x, r, y, cols}, rows,
                                                         cols);
}
template <class T, int Threads, int PerThread, int V, int Block>
__global__ void layerNorm(const T *x, const T *scale, const T *shift, T *y,
                          float *means, unsigned rows, unsigned cols) {
  frit::row<LayerNorm<V, T>, Threads, PerThread, V, Block>(
      {x, scale, shift, y, means, cols}, rows, cols);
}

template <class T, int Threads, int V>
__global__ void normShared(const T *x, const T *scale, const T *shift, T *y,
                           float *means, unsigned rows, unsigned cols) {
  frit::rowShared<LayerNorm<V, T>, Threads, V>(
      {x, scale, shift, y, means, cols}, rows, cols);
}

template <class T, int Threads, int V>
__global__ void standardizeShared(T *x, const float *scale, unsigned rows,
                                  unsigned cols) {
  frit::rowShared<Standardize<V, T>, Threads, V>({x, scale, cols}, rows, cols);
}
template <class T, int Threads, int V>
__global__ void standardizeStreamed(T *x, const float *scale, unsigned rows,
                                    unsigned cols) {
  frit::row<Standardize<V, T>, Threads, V, V>({x, scale, cols}, rows, cols);
}

// As the emitter prints them: shapes are literals.
extern "C" __global__ void __launch_bounds__(256)
    softmax_384(const frit::f16 *x, const frit::f16 *r, frit::f16 *y) {
  frit::row<Softmax<4, frit::f16>, 32, 12, 4, 256>({x, r, y, 384}, 196608, 384);
}
extern "C" __global__ void __launch_bounds__(128)
    softmax_10(const float *x, const float *r, float *y) {
  frit::row<Softmax<1, float>, 8, 2, 1, 128>({x, r, y, 10}, 999, 10);
}
extern "C" __global__ void __launch_bounds__(128)
    softmax_1024(const frit::f16 *x, const frit::f16 *r, frit::f16 *y) {
  frit::row<Softmax<8, frit::f16>, 128, 8, 8>({x, r, y, 1024}, 131072, 1024);
}
extern "C" __global__ void __launch_bounds__(256)
    softmax_50304(const frit::bf16 *x, const frit::bf16 *r, frit::bf16 *y) {
  frit::row<Softmax<8, frit::bf16>, 256, 32, 8>({x, r, y, 50304}, 4096, 50304);
}
extern "C" __global__ void __launch_bounds__(128)
    layernorm_1024(const frit::f16 *x, const frit::f16 *scale,
                   const frit::f16 *shift, frit::f16 *y, float *means) {
  frit::row<LayerNorm<8, frit::f16>, 128, 8, 8>(
      {x, scale, shift, y, means, 1024}, 131072, 1024);
}

#ifndef __CUDACC_RTC__
using namespace harness;

template <class T, int Threads, int PerThread, int V, int Block = Threads>
static void check(unsigned rows, unsigned cols) {
  const unsigned grid = (rows * Threads + Block - 1) / Block;
  std::string shape = std::to_string(rows) + "x" + std::to_string(cols);
  Buffer<T> x(rows * cols), r(rows * cols), y(rows * cols), z(rows * cols);
  Buffer<T> scale(cols), shift(cols);
  Buffer<float> means(rows);
  x.randomize(1);
  r.randomize(2);
  scale.randomize(3);
  shift.randomize(4);
  launch(softmax<T, Threads, PerThread, V, Block>, grid, Block, x.get(),
         r.get(), y.get(), rows, cols);
  launch(layerNorm<T, Threads, PerThread, V, Block>, grid, Block, x.get(),
         scale.get(), shift.get(), z.get(), means.get(), rows, cols);

  std::vector<double> wantY, wantZ, wantMeans;
  for (unsigned i = 0; i < rows; ++i) {
    T *xs = x.host() + i * cols, *rs = r.host() + i * cols;
    double sum = 0;
    for (unsigned j = 0; j < cols; ++j)
      sum += std::exp(toDouble(xs[j]) + toDouble(rs[j]));
    for (unsigned j = 0; j < cols; ++j)
      wantY.push_back(std::exp(toDouble(xs[j]) + toDouble(rs[j])) / sum);
    normalizeRow(xs, cols, scale.host(), shift.host(), wantZ, wantMeans);
  }
  expect("softmax " + shape, y, wantY, epsilonOf<T>());
  expect("layer norm " + shape, z, wantZ, epsilonOf<T>());
  expect("row mean " + shape, means, wantMeans, 2e-6);
  if constexpr (Threads > 32) {
    z.randomize(5);
    launchShared(normShared<T, Threads, V>, grid, Threads, cols * sizeof(T),
                 x.get(), scale.get(), shift.get(), z.get(), means.get(), rows,
                 cols);
    expect("layer norm in shared memory " + shape, z, wantZ, epsilonOf<T>());
  }
}

/// Reductions that share a pass, and values of the row that stores share.
template <class T, int Threads, int V>
static void checkPasses(unsigned rows, unsigned cols) {
  Buffer<T> x(rows * cols), y(rows * cols);
  Buffer<float> scale(rows);
  x.randomize(1);
  y.randomize(1);
  scale.randomize(2);
  std::vector<double> want;
  for (unsigned i = 0; i < rows; ++i) {
    T *xs = x.host() + i * cols;
    double mean = 0, squares = 0, most = 0;
    for (unsigned j = 0; j < cols; ++j) {
      mean += toDouble(xs[j]) / cols;
      squares += std::pow(toDouble(xs[j]), 2) / cols;
    }
    for (unsigned j = 0; j < cols; ++j)
      most = std::max(most, std::abs(toDouble(xs[j]) - mean));
    for (unsigned j = 0; j < cols; ++j)
      want.push_back((toDouble(xs[j]) - mean) / std::sqrt(squares) *
                     scale.host()[i] / most);
  }
  launchShared(standardizeShared<T, Threads, V>, rows, Threads,
               cols * sizeof(T), x.get(), scale.get(), rows, cols);
  launch(standardizeStreamed<T, Threads, V>, rows, Threads, y.get(),
         scale.get(), rows, cols);
  std::string shape = std::to_string(rows) + "x" + std::to_string(cols);
  expect("shared passes " + shape, x, want, epsilonOf<T>());
  expect("streamed passes " + shape, y, want, epsilonOf<T>());
}

static void checks() {
  checkPasses<f16, 64, 8>(3, 1016);
  checkPasses<float, 128, 4>(2, 1000);
  check<float, 8, 2, 1, 64>(37, 10);  // teams of part of a warp
  check<float, 32, 2, 1, 128>(7, 31); // a warp per row
  check<float, 32, 2, 1, 128>(8, 31); // no partial block
  check<f16, 32, 16, 4, 64>(5, 388);  // without the last vectors
  check<float, 128, 8, 4>(4, 1000);   // a block per row, kept in registers
  check<bf16, 96, 8, 1>(3, 701);      // prime length
  check<f16, 64, 8, 8>(2, 1016);      // longer than registers hold
  check<float, 128, 4, 1>(3, 1009);   // likewise, prime
  check<float, 32, 1, 1, 64>(3, 101); // likewise, a warp per row
}

static void benches() {
#ifndef FRIT_EMULATE
  const size_t n = 50304u * 4096;
  Buffer<f16> x(n), r(n), y(n), scale(1024), shift(1024);
  Buffer<bf16> bx(n), br(n), by(n);
  Buffer<float> means(131072);
  x.randomize(1);
  r.randomize(2);
  bx.randomize(1);
  br.randomize(2);
  scale.randomize(3);
  shift.randomize(4);
  bench(
      "softmax f16 196608x384, a warp per row", 6e-9 * 196608 * 384, "GB/s",
      [&] { launch(softmax_384, 196608 / 8, 256, x.get(), r.get(), y.get()); });
  bench("softmax f16 131072x1024, 128 threads per row", 6e-9 * 131072 * 1024,
        "GB/s",
        [&] { launch(softmax_1024, 131072, 128, x.get(), r.get(), y.get()); });
  bench("layer norm f16 131072x1024", 4e-9 * 131072 * 1024, "GB/s", [&] {
    launch(layernorm_1024, 131072, 128, x.get(), scale.get(), shift.get(),
           y.get(), means.get());
  });
  bench(
      "softmax bf16 4096x50304, read thrice", 6e-9 * 4096 * 50304, "GB/s",
      [&] { launch(softmax_50304, 4096, 256, bx.get(), br.get(), by.get()); });
#endif
}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
