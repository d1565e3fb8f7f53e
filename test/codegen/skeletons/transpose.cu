//===- transpose.cu - Checks transpose.cuh --------------------------------===//

#include "frit/transpose.cuh"

/// Doubles what it moves: the body is part of the copy.
template <class T> struct Twice {
  const T *x;
  T *y;
  __device__ auto load(size_t i) const { return frit::load(x[i]); }
  template <class V> __device__ void store(size_t i, V value) const {
    frit::store(y[i], value + value);
  }
};

template <class T, int Tile>
__global__ void twice(const T *x, T *y, unsigned batch, unsigned rows,
                      unsigned cols) {
  frit::transpose<Twice<T>, Tile>({x, y}, batch, rows, cols);
}

extern "C" __global__ void __launch_bounds__(256)
    toChannelsLast(const frit::f16 *x, frit::f16 *y) {
  frit::transpose(Twice<frit::f16>{x, y}, 256, 256, 56 * 56);
}
extern "C" __global__ void __launch_bounds__(256)
    square(const float *x, float *y) {
  frit::transpose(Twice<float>{x, y}, 1, 16384, 8192);
}

#ifndef __CUDACC_RTC__
#include "harness.h"

using namespace harness;

template <class T, int Tile>
static void check(unsigned batch, unsigned rows, unsigned cols, unsigned grid) {
  size_t n = size_t(batch) * rows * cols;
  Buffer<T> x(n), y(n);
  x.randomize(rows);
  launch(twice<T, Tile>, grid, 256, x.get(), y.get(), batch, rows, cols);
  std::vector<double> want(n);
  for (size_t b = 0, i = 0; b < batch; ++b)
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < cols; ++c, ++i)
        want[(b * cols + c) * rows + r] = 2 * toDouble(x[i]);
  expect("transpose " + std::to_string(rows) + "x" + std::to_string(cols), y,
         want, 0);
}

static void checks() {
  check<float, 32>(3, 37, 101, 5);
  check<float, 64>(2, 64, 128, 4);
  check<f16, 64>(1, 3, 211, 2);
  check<bf16, 32>(5, 67, 1, 3);
  check<double, 64>(1, 70, 65, 1);
  check<int8_t, 32>(2, 31, 33, 9);
}

static void benches() {
#ifndef FRIT_EMULATE
  const unsigned channels = 256 * 256, pixels = 56 * 56;
  Buffer<f16> x(size_t(channels) * pixels), y(x.size());
  Buffer<float> a(16384 * 8192), b(a.size());
  x.randomize(1);
  a.randomize(1);
  bench("transpose f16 256x256x3136", 4e-9 * x.size(), "GB/s",
        [&] { launch(toChannelsLast, 256 * 4 * 49, 256, x.get(), y.get()); });
  bench("transpose f32 16384x8192", 8e-9 * a.size(), "GB/s",
        [&] { launch(square, 256 * 128, 256, a.get(), b.get()); });
#endif
}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
