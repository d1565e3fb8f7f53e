//===- byte_rows.cu - Checks byte_rows.cuh on sm_90a ----------------------===//

#include "byte_rows.h"

/// Unsigned by signed bytes.
template <class T, int N, int H, int W, int C, int K, int R, int S, int Pad>
using Windows = Conv<T, false, true, N, H, W, C, K, R, S, 1, Pad>;

// ResNet-50's, also for NVRTC.
using Stem = Windows<TilesOfRows<4, 2>, 32, 115, 115, 16, 64, 4, 4, 0>;
using Body = Windows<TilesOfRows<2, 2>, 32, 56, 56, 64, 64, 3, 3, 1>;

template <class P>
__global__ void __launch_bounds__(kRowsLayout<P>.threads(), P::blocks)
    rowSums(const uint8_t *x, int32_t *y,
            const __grid_constant__ frit::TensorMap mapW,
            const __grid_constant__ frit::TensorMap mapX) {
  frit::pdlTrigger();
#ifdef FRIT_HAS_WGMMA
  frit::byteRows(P{{}, y}, x, &mapW, &mapX);
#endif
}

#ifdef __CUDACC_RTC__
template <class P> __device__ auto compiled = &rowSums<P>;
template __device__ auto compiled<Stem>;
template __device__ auto compiled<Body>;
#else
using namespace harness;

template <class P>
static void launch(const uint8_t *x, const uint8_t *w, int32_t *y) {
  constexpr auto layout = kRowsLayout<P>;
  static_assert(layout.fits());
  const int tiles = P::n * ((P::p + layout.tileRows() - 1) / layout.tileRows());
  const int most = processorCount() * P::blocks;
  launchClusters(&rowSums<P>, tiles < most ? tiles : most, layout.threads(), 1,
                 layout.sharedBytes(), x, y, mapOfFilters<P>(w, 128, P::k),
                 layout.isBare() ? frit::TensorMap{} : mapOfRows<P>(x));
}

template <class P> static void check() {
  Buffer<uint8_t> x{P::n * P::h * P::w * P::c}, w{P::k * P::r * P::s * P::c};
  Buffer<int32_t> y{size_t(P::n) * P::p * P::q * P::k};
  fill(x, 1);
  fill(w, 2);
  std::vector<double> want =
      convolve<P>([&](int i) { return double(valueOf(x[i], P::signedX)); },
                  [&](int i) { return double(valueOf(w[i], P::signedW)); });
  // The second run must not depend on what the first left.
  for (int i = 0; i < 2; ++i)
    launch<P>(x.get(), w.get(), y.get());
  waitForDevice();
  char name[200];
  snprintf(name, sizeof name,
           "rows of bytes %dx%dx%dx%d by %dx%dx%d, %d stages, %d blocks", P::n,
           P::h, P::w, P::c, P::k, P::r, P::s, P::stages, P::blocks);
  expect(name, y, want, 0);
}

static void checks() {
  // Two rows a tile, the last half empty; several tiles per block.
  check<Windows<TilesOfRows<2>, 3, 9, 14, 64, 64, 3, 3, 1>>();
#ifndef FRIT_FEW_CHECKS
  check<Windows<TilesOfRows<2, 2>, 2, 13, 56, 64, 64, 3, 3, 1>>();
  check<Windows<TilesOfRows<3>, 2, 8, 20, 32, 32, 3, 3, 1>>();
  check<Windows<TilesOfRows<2>, 1, 8, 20, 64, 128, 1, 5, 0>>();
  check<Conv<TilesOfRows<2>, true, false, 1, 8, 20, 64, 32, 5, 3, 1, 2>>();
  // One row, in two groups of pixels.
  check<Windows<TilesOfRows<2>, 2, 5, 101, 64, 64, 3, 3, 1>>();
  // Rows as they are.
  check<Windows<TilesOfRows<2>, 2, 9, 23, 16, 32, 2, 4, 0>>();
#endif
  check<Windows<TilesOfRows<3>, 2, 9, 101, 16, 64, 4, 4, 0>>();
}

static void benches() {
#ifndef FRIT_EMULATE
  auto bench1 = [&]<class P>(const char *name, P *) {
    Buffer<uint8_t> x{P::n * P::h * P::w * P::c}, w{P::k * P::r * P::s * P::c};
    Buffer<int32_t> y{size_t(P::n) * P::p * P::q * P::k};
    fill(x, 1);
    fill(w, 2);
    bench(name, 2e-12 * double(P::n) * P::p * P::q * P::k * P::r * P::s * P::c,
          "TOP/s", [&] { launch<P>(x.get(), w.get(), y.get()); });
  };
  bench1("rows of bytes 3x3 of 64 channels, sums", (Body *)nullptr);
  bench1("rows of bytes 4x4 of 16 channels, sums", (Stem *)nullptr);
#endif
}

int main(int argc, char **argv) {
  return runOnHopper(argc, argv, checks, benches);
}
#endif
