//===- transpose.cu - Checks the skeletons of permutations ----------------===//

#include "frit/transpose.cuh"
#include "frit/transpose_bytes.cuh"
#include "frit/transpose_flat.cuh"
#include "frit/transpose_runs.cuh"
#include "frit/transpose_skewed.cuh"

/// Transposes a batch of matrices and doubles it: the body runs within the
/// copy.
template <class T, unsigned Batch, unsigned Rows, unsigned Cols> struct Twice {
  using Held = T;
  const T *x;
  T *y;
  template <int V> __device__ void load(T (&e)[V], size_t i) const {
    frit::copyVector(e, x + i);
  }
  template <int V> __device__ void store(const T (&e)[V], size_t i) const {
    frit::Compute<T> twice[V];
    for (int v = 0; v < V; ++v)
      twice[v] = frit::load(e[v]) * 2;
    frit::storeVector(y + i, twice);
  }
  __device__ static size_t from(unsigned batch) {
    return size_t(batch) * Rows * Cols;
  }
  __device__ static size_t to(unsigned batch) { return from(batch); }
};

template <class T, unsigned Batch, unsigned Rows, unsigned Cols, int TileRows,
          int TileCols, int L, int S, int Word, bool FlatLoad, bool FlatStore>
__global__ void twice(const T *x, T *y) {
  frit::transpose<Twice<T, Batch, Rows, Cols>, TileRows, TileCols, L, S, Word,
                  FlatLoad, FlatStore>({x, y}, Batch, Rows, Cols, Cols, Rows);
}

/// Does the same with bytes.
template <unsigned Batch, unsigned Rows, unsigned Cols>
__global__ void __launch_bounds__(256) twiceBytes(const int8_t *x, int8_t *y) {
  frit::transposeBytes<Twice<int8_t, Batch, Rows, Cols>>({x, y}, Batch, Rows,
                                                         Cols, Cols, Rows);
}

/// Does the same with a short side: the rows if `Loads`, else the columns.
template <class T, unsigned Batch, unsigned Rows, unsigned Cols, int Long,
          int L, int S, bool Loads>
__global__ void __launch_bounds__(256) twiceFlat(const T *x, T *y) {
  constexpr unsigned size = Loads ? Rows : Cols;
  frit::transposeFlat<Twice<T, Batch, Rows, Cols>, Long, Loads ? Cols : Rows, L,
                      S, Loads>({x, y}, size, size);
}

/// Transposes a batch of matrices.
template <unsigned Batch, unsigned Rows, unsigned Cols> struct Moved {
  const uint16_t *x;
  uint16_t *y;
  __device__ const uint16_t *source() const { return x; }
  __device__ uint16_t *target() const { return y; }
  __device__ static size_t from(unsigned batch) {
    return size_t(batch) * Rows * Cols;
  }
  __device__ static size_t to(unsigned batch) { return from(batch); }
};

template <unsigned Batch, unsigned Rows, unsigned Cols, bool Flat,
          unsigned Line, unsigned Threads>
__global__ void __launch_bounds__(Threads)
    moved(const frit::f16 *x, frit::f16 *y) {
  using Body = Moved<Batch, Rows, Cols>;
  Body body = {reinterpret_cast<const uint16_t *>(x),
               reinterpret_cast<uint16_t *>(y)};
  if constexpr (Flat)
    frit::transposeSkewedFlat<Body, Line, Rows, Threads>(
        body, Cols, Cols, size_t(Batch) * Rows * Cols);
  else
    frit::transposeSkewed<Body, Line, Threads / 4>(body, Rows, Cols, Cols, Rows,
                                                   size_t(Batch) * Rows * Cols);
}

/// Transposes matrices of runs of T.
template <class T, unsigned Batch, unsigned Rows, unsigned Cols, unsigned Run>
struct MovedRuns {
  const T *x;
  T *y;
  __device__ const T *source() const { return x; }
  __device__ T *target() const { return y; }
  __device__ static size_t from(unsigned batch) {
    return size_t(batch) * Rows * Cols * Run;
  }
  __device__ static size_t to(unsigned batch) { return from(batch); }
};

template <class T, unsigned Batch, unsigned Rows, unsigned Cols, unsigned Run,
          unsigned TileRows, unsigned TileCols, bool Aligned>
__global__ void __launch_bounds__(256) movedRuns(const T *x, T *y) {
  using Body = MovedRuns<T, Batch, Rows, Cols, Run>;
  frit::transposeRuns<Body, T, Run, TileRows, TileCols, Aligned>(
      Body{x, y}, Rows, Cols, Cols * Run, Rows * Run,
      size_t(Batch) * Rows * Cols * Run);
}

extern "C" __global__ void __launch_bounds__(256)
    oddRuns(const uint16_t *x, uint16_t *y) {
  using Body = MovedRuns<uint16_t, 64, 512, 64, 33>;
  frit::transposeRuns<Body, uint16_t, 33, 16, 8, true>(
      Body{x, y}, 512, 64, 64 * 33, 512 * 33, size_t(64) * 512 * 64 * 33);
}
extern "C" __global__ void __launch_bounds__(448, 3)
    oddSizes(const frit::f16 *x, frit::f16 *y) {
  frit::transposeSkewed<Moved<1, 16381, 8191>, 128, 112>(
      {reinterpret_cast<const uint16_t *>(x), reinterpret_cast<uint16_t *>(y)},
      16381, 8191, 8191, 16381, size_t(16381) * 8191);
}
extern "C" __global__ void __launch_bounds__(256)
    toChannelsLast(const frit::f16 *x, frit::f16 *y) {
  frit::transpose<Twice<frit::f16, 256, 256, 56 * 56>, 64, 64, 8, 8, 2>(
      {x, y}, 256, 256, 56 * 56, 56 * 56, 256);
}
extern "C" __global__ void __launch_bounds__(256)
    square(const float *x, float *y) {
  frit::transpose<Twice<float, 1, 16384, 8192>, 64, 64, 4, 4>(
      {x, y}, 1, 16384, 8192, 8192, 16384);
}

extern "C" __global__ void __launch_bounds__(256, 4)
    squareBytes(const int8_t *x, int8_t *y) {
  frit::transposeBytes<Twice<int8_t, 1, 16384, 8192>>({x, y}, 1, 16384, 8192,
                                                      8192, 16384);
}

#ifndef __CUDACC_RTC__
#include "harness.h"

using namespace harness;

/// Returns `factor` times each element of matrices, transposed, in runs.
template <class T>
static std::vector<double> transposed(Buffer<T> &x, size_t batch, size_t rows,
                                      size_t cols, double factor,
                                      size_t run = 1) {
  std::vector<double> want(batch * rows * cols * run);
  for (size_t b = 0, i = 0; b < batch; ++b)
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < cols; ++c)
        for (size_t k = 0; k < run; ++k, ++i)
          want[((b * cols + c) * rows + r) * run + k] = factor * toDouble(x[i]);
  return want;
}

template <class T, unsigned Batch, unsigned Rows, unsigned Cols, int TileRows,
          int TileCols, int L, int S, int Word = 1, bool FlatLoad = false,
          bool FlatStore = false>
static void check(unsigned grid) {
  size_t n = size_t(Batch) * Rows * Cols;
  Buffer<T> x(n), y(n);
  x.randomize(Rows);
  launch(twice<T, Batch, Rows, Cols, TileRows, TileCols, L, S, Word, FlatLoad,
               FlatStore>,
         grid, 256, x.get(), y.get());
  std::vector<double> want = transposed(x, Batch, Rows, Cols, 2);
  expect("transpose " + std::to_string(Rows) + "x" + std::to_string(Cols), y,
         want, 0);
}

/// Bytes, in blocks of which some have several tiles, or a part of one.
template <unsigned Batch, unsigned Rows, unsigned Cols>
static void checkBytes(unsigned grid) {
  size_t n = size_t(Batch) * Rows * Cols;
  Buffer<int8_t> x(n), y(n);
  x.randomize(Rows);
  launch(twiceBytes<Batch, Rows, Cols>, grid, 256, x.get(), y.get());
  std::vector<double> want = transposed(x, Batch, Rows, Cols, 2);
  expect("bytes " + std::to_string(Rows) + "x" + std::to_string(Cols), y, want,
         0);
}

/// Matrices with a short side, which tiles span.
template <class T, unsigned Batch, unsigned Rows, unsigned Cols, int Long,
          int L, int S, bool Loads>
static void checkFlat() {
  size_t n = size_t(Batch) * Rows * Cols;
  Buffer<T> x(n), y(n);
  x.randomize(Rows);
  unsigned tiles = ((Loads ? Rows : Cols) + Long - 1) / Long;
  launch(twiceFlat<T, Batch, Rows, Cols, Long, L, S, Loads>, Batch * tiles, 256,
         x.get(), y.get());
  std::vector<double> want = transposed(x, Batch, Rows, Cols, 2);
  expect("flat " + std::to_string(Rows) + "x" + std::to_string(Cols), y, want,
         0);
}

/// Matrices with even and odd numbers of rows and columns, in skewed tiles.
template <unsigned Batch, unsigned Rows, unsigned Cols, bool Flat,
          unsigned Line = Flat ? 64 : 128, unsigned Threads = 320>
static void checkMoved() {
  size_t n = size_t(Batch) * Rows * Cols;
  Buffer<f16> x(n), y(n);
  x.randomize(Cols);
  constexpr unsigned kCols = Line - 8 - Flat, kRows = Threads / 4;
  unsigned tiles = (Cols + kCols - 1) / kCols;
  if (!Flat)
    tiles *= (Rows + 15 + kRows - 1) / kRows;
  constexpr unsigned kLines = Flat ? (Rows + 3) / 4 * 4 : kRows + 16;
  size_t shared = frit::SkewedTile<Line, kLines, Threads>::kBytes;
  launchShared(moved<Batch, Rows, Cols, Flat, Line, Threads>, Batch * tiles,
               Threads, shared, x.get(), y.get());
  std::vector<double> want = transposed(x, Batch, Rows, Cols, 1);
  expect("skewed " + std::to_string(Rows) + "x" + std::to_string(Cols), y, want,
         0);
}

/// Runs of any length, whose lines start at a vector or anywhere.
template <class T, unsigned Batch, unsigned Rows, unsigned Cols, unsigned Run,
          unsigned TileRows, unsigned TileCols, bool Aligned = false>
static void checkRuns() {
  size_t n = size_t(Batch) * Rows * Cols * Run;
  Buffer<T> x(n), y(n);
  x.randomize(Run);
  unsigned tiles =
      (Rows + TileRows - 1) / TileRows * ((Cols + TileCols - 1) / TileCols);
  launch(movedRuns<T, Batch, Rows, Cols, Run, TileRows, TileCols, Aligned>,
         Batch * tiles, 256, x.get(), y.get());
  std::vector<double> want = transposed(x, Batch, Rows, Cols, 1, Run);
  expect("runs of " + std::to_string(Run), y, want, 0);
}

static void checks() {
  checkMoved<1, 129, 131, false>();
  checkMoved<3, 255, 257, false>();
  checkMoved<2, 128, 385, false>();
  checkMoved<2, 301, 256, false>();
  checkMoved<5, 1, 3, false>();
  checkMoved<3, 129, 479, true>();
  checkMoved<2, 17, 1001, true>();
  checkMoved<5, 131, 240, true>();
  checkMoved<1, 90, 3, true>();
  checkMoved<2, 257, 300, true, 64, 384>();
  checkMoved<2, 161, 301, true, 128, 256>();
  checkMoved<2, 319, 259, false, 128, 448>();
  checkMoved<2, 143, 515, false, 256, 256>();
  checkMoved<3, 143, 175, false, 64, 384>();
  checkRuns<uint16_t, 3, 37, 11, 33, 16, 8>();
  checkRuns<uint16_t, 2, 32, 24, 33, 16, 8, true>();
  checkRuns<uint16_t, 2, 40, 8, 17, 16, 16, true>();
  checkRuns<uint16_t, 3, 5, 9, 197, 8, 4>();
  checkRuns<uint16_t, 3, 71, 67, 3, 64, 32>();
  checkRuns<uint16_t, 2, 3, 3, 1001, 2, 2>();
  checkRuns<uint32_t, 3, 19, 7, 17, 16, 8>();
  checkRuns<uint32_t, 3, 20, 8, 17, 16, 8, true>();
  checkRuns<int64_t, 3, 19, 7, 9, 16, 8>();
  checkRuns<int64_t, 3, 18, 10, 25, 8, 8, true>();
  checkRuns<uint8_t, 3, 19, 21, 13, 16, 16>();
  checkRuns<uint8_t, 3, 19, 21, 67, 16, 8>();
  check<float, 3, 37, 101, 32, 32, 1, 1>(5);
  check<float, 2, 64, 128, 64, 64, 4, 4>(4);
  check<f16, 2, 72, 200, 64, 64, 8, 8, 2>(3);
  check<bf16, 2, 200, 72, 32, 64, 4, 2, 2>(4);
  check<f16, 1, 3, 208, 3, 96, 8, 8, 1, false, true>(2);
  check<f16, 2, 208, 3, 80, 3, 8, 4, 1, true>(3);
  check<bf16, 5, 67, 1, 64, 1, 1, 1>(3);
  check<double, 1, 70, 66, 64, 64, 2, 2>(1);
  check<int8_t, 2, 36, 68, 32, 32, 4, 4, 4>(9);
  checkBytes<2, 144, 272>(5);
  checkBytes<1, 256, 128>(2);
  checkBytes<3, 16, 48>(3);
  checkFlat<f16, 2, 200, 3, 64, 8, 8, true>();
  checkFlat<f16, 3, 5, 328, 128, 8, 8, false>();
  checkFlat<float, 2, 13, 260, 64, 4, 4, false>();
  checkFlat<bf16, 2, 136, 27, 128, 4, 8, true>();
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
  bench("transpose f16 16381x8191", 4e-9 * 16381 * 8191, "GB/s", [&] {
    launchShared(oddSizes, 147 * 69, 448,
                 frit::SkewedTile<128, 128, 448>::kBytes, x.get(), y.get());
  });
  Buffer<uint16_t> u(size_t(64) * 512 * 64 * 33), v(u.size());
  u.randomize(1);
  bench("0213 f16 64x512x64x33", 4e-9 * u.size(), "GB/s",
        [&] { launch(oddRuns, 64 * 32 * 8, 256, u.get(), v.get()); });
  bench("transpose f32 16384x8192", 8e-9 * a.size(), "GB/s",
        [&] { launch(square, 256 * 128, 256, a.get(), b.get()); });
  Buffer<int8_t> c(16384 * 8192), d(c.size());
  c.randomize(1);
  bench("transpose bytes 16384x8192", 2e-9 * c.size(), "GB/s",
        [&] { launch(squareBytes, 128 * 64, 256, c.get(), d.get()); });
#endif
}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
