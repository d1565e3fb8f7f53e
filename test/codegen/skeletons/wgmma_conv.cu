//===- wgmma_conv.cu - Checks wgmma_conv.cuh on sm_90a --------------------===//

#include "frit/tile.cuh"
#include "frit/wgmma_conv.cuh"

/// The problem. Padding is equal on all sides, except that More adds to the
/// bottom and right, and PadW replaces the left and right padding.
template <int N, int C, int H, int W, int K, int R, int S, int Stride = 1,
          int Pad = 0, int Dilation = 1, class Type = frit::f16,
          class Out = Type, class Activation = frit::Relu, int More = 0,
          int PadW = Pad>
struct Images {
  using T = Type;
  using D = Out;
  using Bias = Type;
  using Epilogue = Activation;
  static constexpr int n = N, c = C, h = H, w = W, k = K, r = R, s = S;
  static constexpr int p =
      (H + 2 * Pad + More - Dilation * (R - 1) - 1) / Stride + 1;
  static constexpr int q =
      (W + 2 * PadW + (PadW == Pad ? More : 0) - Dilation * (S - 1) - 1) /
          Stride +
      1;
  static constexpr int strideH = Stride, strideW = Stride;
  static constexpr int dilationH = Dilation, dilationW = Dilation;
  static constexpr int padTop = Pad, padLeft = PadW;
  static constexpr bool constantB = true;
};

/// The problem with its tiling.
template <class Of, int TileM, int TileN, int Stages, int Cluster = 1,
          int Split = 1, int Blocks = 1>
struct Problem : Of {
  static constexpr frit::WgmmaLayout layout = {TileM,   TileN, Stages,
                                               Cluster, Split, Blocks};
  static constexpr int threads = layout.threads();
  static constexpr int tileM = TileM, tileN = TileN, stages = Stages;
  static constexpr int cluster = Cluster, split = Split, blocks = Blocks;
  static constexpr int sms = 132; // of the H200 that tiles are scheduled for
  static constexpr int raster = layout.rasterRows(sms);
  static constexpr bool pingPong =
      layout.pingPongs(int64_t(Of::n) * Of::p * Of::q, Of::k, 1, sms);
};

template <class P, bool Full>
__global__ void __launch_bounds__(P::threads, P::blocks)
    convolve(const typename P::Bias *bias, const typename P::D *r,
             typename P::D *y, const __grid_constant__ frit::TensorMap mapX,
             const __grid_constant__ frit::TensorMap mapW,
             const __grid_constant__ frit::TensorMap mapY,
             const __grid_constant__ frit::TensorMap mapR) {
#ifdef FRIT_HAS_WGMMA
  constexpr bool boxes = P::k * sizeof(typename P::D) % 16 == 0;
  frit::wgmmaConv<P>(&mapX, &mapW, boxes ? &mapY : nullptr,
                     boxes && Full ? &mapR : nullptr, Full ? bias : nullptr,
                     Full ? r : nullptr, y);
#endif
}

/// Computes the sum of two convolutions.
template <class P, class Q>
__global__ void __launch_bounds__(P::threads, P::blocks)
    convolveBoth(const typename P::Bias *bias, typename P::D *y,
                 const __grid_constant__ frit::TensorMap mapX,
                 const __grid_constant__ frit::TensorMap mapW,
                 const __grid_constant__ frit::TensorMap mapX2,
                 const __grid_constant__ frit::TensorMap mapW2,
                 const __grid_constant__ frit::TensorMap mapY) {
#ifdef FRIT_HAS_WGMMA
  frit::wgmmaConvSum<P, Q>(&mapX, &mapW, &mapX2, &mapW2, &mapY, nullptr, bias,
                           nullptr, y);
#endif
}

/// The end of the first block of a ResNet-50 stage at batch 32: the last
/// convolution and the shortcut's.
using Last = Problem<Images<32, 64, 56, 56, 256, 1, 1>, 128, 128, 5>;
using Shortcut = Problem<Images<32, 64, 56, 56, 256, 1, 1>, 128, 128, 5>;

using Wide = Problem<Images<32, 128, 28, 28, 128, 3, 3, 1, 1>, 192, 128, 5>;
using Stem = Problem<Images<32, 16, 112, 112, 64, 4, 4, 1, 2, 1, frit::f16,
                            frit::f16, frit::Relu, -1>,
                     128, 64, 4, 1, 1, 2>;
using PaddedStem = Problem<Images<32, 16, 112, 115, 64, 4, 4, 1, 2, 1,
                                  frit::f16, frit::f16, frit::Relu, -1, 0>,
                           128, 64, 4, 1, 1, 2>;
using Deep = Problem<Images<1, 512, 7, 7, 512, 3, 3, 1, 1>, 64, 64, 8, 1, 4>;

#ifdef __CUDACC_RTC__
template <class P> __device__ auto compiled = &convolve<P, true>;
template __device__ auto compiled<Wide>;
template __device__ auto compiled<Deep>;
__device__ auto compiledBoth = &convolveBoth<Last, Shortcut>;
#else
#include "activations.h"
#include "hopper.h"

using namespace harness;

/// The tensor maps of the inputs.
template <class P> struct Sources {
  // The formula of wgmma_conv.cuh, which is only in device code for sm_90a.
  static constexpr int taps =
      (P::c == 16 || P::c == 32) && P::r * P::s * P::c % 64 == 0 ? 64 / P::c
                                                                 : 1;
  static constexpr bool readsRows =
      P::s > 1 && P::s *P::c == 64 && P::padLeft == 0 && P::strideW == 1 &&
      P::dilationW == 1 && P::q + P::s - 1 <= P::w;

  frit::TensorMap mapX, mapW;

  Sources(const typename P::T *x, const typename P::T *w) {
    constexpr int c = readsRows ? 64 : P::c;
    constexpr int width = readsRows ? P::w - P::s + 1 : P::w;
    mapX = pixelMap(
        x, {c, width, P::h, P::n}, {P::c, P::c * P::w, P::c * P::w * P::h},
        {-P::padLeft, -P::padTop},
        {(P::q - 1) * P::strideW - P::padLeft + 1 - width,
         (P::p - 1) * P::strideH - P::padTop + 1 - P::h},
        {P::strideW, P::strideH}, P::tileM, readsRows ? 64 : 64 / taps);
    mapW = taps > 1 ? tiledMap(w, {P::r * P::s * P::c, 1, P::k},
                               {P::r * P::s * P::c, P::r * P::s * P::c},
                               {64, 1, P::tileN / P::cluster})
                    : tiledMap(w, {P::c, P::r * P::s, P::k},
                               {P::c, P::r * P::s * P::c},
                               {64, 1, P::tileN / P::cluster});
  }
};

template <class P>
static constexpr Cut cutOf = {P::tileM,   P::tileN, P::stages,
                              P::cluster, P::split, P::blocks};
template <class P>
static constexpr int64_t pixelsOf = int64_t(P::n) * P::p * P::q;

/// The kernel with its arguments.
template <class P, bool Full> struct Launch : Sources<P> {
  static_assert(cutOf<P>.fits());
  static constexpr int64_t m = pixelsOf<P>;

  const typename P::Bias *bias;
  const typename P::D *r;
  typename P::D *y;
  frit::TensorMap mapY = {}, mapR = {};

  Launch(const typename P::T *x, const typename P::T *w,
         const typename P::Bias *bias, const typename P::D *r, typename P::D *y)
      : Sources<P>(x, w), bias(bias), r(r), y(y) {
    constexpr int size = sizeof(typename P::D);
    if (P::k * size % 16)
      return;
    mapY = tiledMap(y, {P::k, m, 1}, {P::k, 0}, {128 / size, 16, 1});
    mapR = tiledMap(r, {P::k, m, 1}, {P::k, 0}, {128 / size, 16, 1});
  }

  void operator()() {
    launchCut(&convolve<P, Full>, cutOf<P>, m, P::k, 1, bias, r, y, this->mapX,
              this->mapW, mapY, mapR);
  }
};

/// The kernel of two convolutions with its arguments.
template <class P, class Q> struct LaunchBoth {
  Sources<P> p;
  Sources<Q> q;
  const typename P::Bias *bias;
  typename P::D *y;
  frit::TensorMap mapY;

  LaunchBoth(const typename P::T *x, const typename P::T *w,
             const typename P::T *x2, const typename P::T *w2,
             const typename P::Bias *bias, typename P::D *y)
      : p(x, w), q(x2, w2), bias(bias), y(y),
        mapY(tiledMap(y, {P::k, pixelsOf<P>, 1}, {P::k, 0},
                      {128 / int(sizeof(typename P::D)), 16, 1})) {
    static_assert(cutOf<P>.fits());
    static_assert(P::n == Q::n && P::p == Q::p && P::q == Q::q && P::k == Q::k);
  }

  void operator()() {
    launchCut(&convolveBoth<P, Q>, cutOf<P>, pixelsOf<P>, P::k, 1, bias, y,
              p.mapX, p.mapW, q.mapX, q.mapW, mapY);
  }
};

/// Adds a convolution to sums.
template <class P>
static void convolveHost(Buffer<typename P::T> &x, Buffer<typename P::T> &w,
                         std::vector<float> &sums) {
  std::vector<float> in = elementsOf<float>(x), filters = elementsOf<float>(w);
  for (int64_t at = 0; at < pixelsOf<P>; ++at)
    for (int k = 0; k < P::k; ++k) {
      int64_t image = at / (P::p * P::q);
      float sum = 0;
      for (int i = 0; i < P::r; ++i)
        for (int j = 0; j < P::s; ++j) {
          int row =
              at / P::q % P::p * P::strideH - P::padTop + i * P::dilationH;
          int col = at % P::q * P::strideW - P::padLeft + j * P::dilationW;
          if (row < 0 || row >= P::h || col < 0 || col >= P::w)
            continue;
          const float *a = &in[((image * P::h + row) * P::w + col) * P::c];
          const float *b = &filters[((k * P::r + i) * P::s + j) * P::c];
          for (int c = 0; c < P::c; ++c)
            sum += a[c] * b[c];
        }
      sums[at * P::k + k] += sum;
    }
}

template <class P>
static void expectConvolved(const char *what, Buffer<typename P::D> &y,
                            const std::vector<double> &want) {
  char name[200];
  snprintf(name, sizeof name,
           "wgmma %s %dx%dx%dx%d by %dx%dx%d, stride %d, tile %dx%d, %d "
           "stages, cluster %d, split %d",
           what, P::n, P::h, P::w, P::c, P::k, P::r, P::s, P::strideH, P::tileM,
           P::tileN, P::stages, P::cluster, P::split);
  expect(name, y, want, epsilonOf<typename P::D>());
}

template <class P, class Q> static void checkBoth() {
  int64_t m = pixelsOf<P>;
  Buffer<typename P::T> x(int64_t(P::n) * P::h * P::w * P::c);
  Buffer<typename P::T> w(int64_t(P::k) * P::r * P::s * P::c);
  Buffer<typename P::T> x2(int64_t(Q::n) * Q::h * Q::w * Q::c);
  Buffer<typename P::T> w2(int64_t(Q::k) * Q::r * Q::s * Q::c);
  Buffer<typename P::D> y(m * P::k);
  Buffer<typename P::Bias> bias(P::k);
  x.randomize(1);
  w.randomize(2);
  x2.randomize(3);
  w2.randomize(4);
  bias.randomize(5);
  y.randomize(6);
  std::vector<float> sums(m * P::k);
  convolveHost<P>(x, w, sums);
  convolveHost<Q>(x2, w2, sums);
  std::vector<double> want(m * P::k);
  for (size_t i = 0; i < want.size(); ++i)
    want[i] =
        activate(typename P::Epilogue(), sums[i] + toDouble(bias[i % P::k]));
  LaunchBoth<P, Q> launch(x.get(), w.get(), x2.get(), w2.get(), bias.get(),
                          y.get());
  launch();
  launch();
  waitForDevice();
  expectConvolved<P>("sum with conv", y, want);
}

template <class P, bool Full = true> static void check() {
  int64_t m = pixelsOf<P>;
  Buffer<typename P::T> x(int64_t(P::n) * P::h * P::w * P::c);
  Buffer<typename P::T> w(int64_t(P::k) * P::r * P::s * P::c);
  Buffer<typename P::D> r(m * P::k), y(m * P::k);
  Buffer<typename P::Bias> bias(P::k);
  x.randomize(1);
  w.randomize(2);
  bias.randomize(3);
  r.randomize(4);
  y.randomize(5);
  std::vector<float> sums(m * P::k);
  convolveHost<P>(x, w, sums);
  std::vector<double> want(m * P::k);
  for (size_t i = 0; i < want.size(); ++i) {
    double value = sums[i];
    if (Full)
      value += toDouble(bias[i % P::k]) + toDouble(r[i]);
    want[i] = activate(typename P::Epilogue(), value);
  }
  Launch<P, Full> launch(x.get(), w.get(), bias.get(), r.get(), y.get());
  launch();
  launch();
  waitForDevice();
  expectConvolved<P>("conv", y, want);
}

#ifdef FRIT_FEW_CHECKS
/// The checks for planted.py: several taps per pipeline stage.
static void checks() {
  check<Problem<Images<2, 32, 15, 14, 64, 2, 3, 2, 1>, 64, 64, 4>>();
}
#else
static void checks() {
  using frit::Identity, frit::Relu;
  using Plain = Images<3, 64, 13, 11, 72, 3, 3, 1, 1>;
  check<Problem<Plain, 64, 64, 4>>();
  check<Problem<Plain, 128, 128, 4>, false>();
  check<Problem<Plain, 192, 64, 4>>();
  check<Problem<Plain, 128, 128, 4, 2>>();
  check<Problem<Plain, 64, 64, 4, 1, 4>>();
  check<Problem<Plain, 64, 128, 4, 2, 4>>();
  check<Problem<Plain, 64, 128, 4, 1, 8>, false>();
  // Strides, with and without a last row; one tap; unequal sizes of the window.
  check<Problem<Images<2, 128, 14, 14, 64, 3, 3, 2, 1>, 64, 64, 4>>();
  check<Problem<Images<2, 128, 15, 15, 64, 3, 3, 2, 1>, 128, 64, 4>>();
  check<Problem<Images<2, 128, 14, 14, 64, 1, 1, 2>, 64, 64, 4>>();
  check<Problem<Images<1, 64, 17, 19, 136, 5, 3, 3, 2>, 64, 192, 3>>();
  check<Problem<Images<1, 64, 17, 19, 136, 3, 5, 1, 0>, 128, 192, 3>>();
  // Dilation; more padding on one side.
  check<Problem<Images<2, 64, 14, 13, 64, 3, 3, 1, 2, 2>, 64, 64, 4>>();
  check<Problem<Images<1, 64, 21, 20, 64, 3, 3, 2, 3, 3>, 64, 64, 4, 1, 2>>();
  check<Problem<Images<2, 64, 14, 14, 64, 3, 3, 2, 0, 1, f16, f16, Relu, 1>, 64,
                64, 4>>();
  // Channels that do not fill a stage, or the last one; any number of filters.
  check<Problem<Images<2, 8, 14, 13, 64, 3, 3, 1, 1>, 64, 64, 4>>();
  check<Problem<Images<2, 72, 14, 13, 40, 3, 3, 2, 1>, 128, 64, 4>>();
  check<Problem<Images<2, 200, 9, 9, 37, 3, 3, 1, 1, 1, bf16>, 64, 64, 4>>();
  check<Problem<Images<2, 64, 9, 9, 37, 1, 1, 1, 0, 1, bf16, bf16, Identity>,
                64, 64, 4, 1, 1, 2>>();
  check<Problem<Images<2, 64, 9, 9, 64, 3, 3, 1, 1, 1, f16, float, Identity>,
                64, 64, 4>>();
  // Several taps of few channels per stage, and taps that do not fill one.
  check<Problem<Images<2, 16, 15, 14, 64, 4, 4, 1, 2, 1, f16, f16, Relu, -1>,
                128, 64, 4>>();
  check<Problem<Images<2, 16, 15, 14, 72, 4, 4, 1, 1>, 64, 64, 4, 1, 4>>();
  check<Problem<Images<2, 32, 15, 14, 64, 2, 3, 2, 1>, 192, 64, 4>>();
  check<Problem<Images<2, 32, 15, 14, 64, 3, 4, 1, 1, 1, bf16>, 128, 128, 4,
                2>>();
  check<Problem<Images<2, 16, 14, 13, 64, 3, 3, 1, 1>, 64, 64, 4>>();
  // Overlapping rows of taps.
  check<Problem<Images<2, 16, 15, 17, 64, 4, 4, 1, 2, 1, f16, f16, Relu, -1, 0>,
                128, 64, 4>>();
  check<
      Problem<Images<2, 16, 15, 14, 72, 3, 4, 1, 1, 1, bf16, bf16, Relu, 0, 0>,
              64, 64, 4>>();
  check<Problem<Images<3, 32, 15, 14, 64, 3, 2, 1, 0>, 128, 64, 3>>();
  // Two convolutions: a 1x1 and a strided one, a window and a 1x1, other
  // channel counts, multicast filters and split-K, several tiles per block.
  using Cell = Images<2, 64, 14, 14, 136, 1, 1>;
  using Strided = Images<2, 200, 27, 28, 136, 1, 1, 2>;
  checkBoth<Problem<Cell, 64, 64, 4>, Problem<Strided, 64, 64, 4>>();
  checkBoth<Problem<Strided, 128, 128, 4, 2>, Problem<Cell, 128, 128, 4, 2>>();
  checkBoth<Problem<Cell, 64, 64, 4, 1, 4>,
            Problem<Strided, 64, 64, 4, 1, 4>>();
  using Window = Images<3, 72, 13, 11, 40, 3, 3, 1, 1, 1, bf16>;
  using Beside = Images<3, 8, 13, 11, 40, 1, 1, 1, 0, 1, bf16>;
  checkBoth<Problem<Window, 128, 64, 4>, Problem<Beside, 128, 64, 4>>();
#ifndef FRIT_EMULATE
  checkBoth<Problem<Images<9, 64, 40, 41, 256, 1, 1>, 128, 128, 5>,
            Problem<Images<9, 64, 40, 41, 256, 1, 1>, 128, 128, 5>>();
  // More tiles than blocks.
  check<Problem<Images<9, 64, 40, 41, 72, 3, 3, 1, 1>, 64, 64, 4, 1, 1, 2>>();
#endif
}
#endif

#ifdef FRIT_EMULATE
static void benches() {}
#else
static void benches() {
  auto one = [&]<class P>(const char *name) {
    Buffer<typename P::T> x(int64_t(P::n) * P::h * P::w * P::c);
    Buffer<typename P::T> w(int64_t(P::k) * P::r * P::s * P::c);
    Buffer<typename P::D> y(pixelsOf<P> * P::k);
    x.randomize(1);
    w.randomize(2);
    Launch<P, false> launch(x.get(), w.get(), nullptr, nullptr, y.get());
    bench(name, 2e-12 * y.size() * P::r * P::s * P::c, "TFLOP/s",
          [&] { launch(); });
  };
  one.operator()<Wide>("wgmma conv 32x28x28x128 by 128x3x3");
  one.operator()<Stem>("wgmma conv 32x112x112x16 by 64x4x4");
  one.operator()<PaddedStem>("wgmma conv 32x112x115x16 by 64x4x4");
  one.operator()<Deep>("wgmma conv 1x7x7x512 by 512x3x3, split by 4");

  int64_t pixels = pixelsOf<Last>;
  Buffer<Last::T> x(pixels * Last::c), w(Last::k * Last::c);
  Buffer<Last::T> x2(pixels * Shortcut::c), w2(Last::k * Shortcut::c);
  Buffer<Last::D> y(pixels * Last::k);
  for (auto *buffer : {&x, &w, &x2, &w2})
    buffer->randomize(1);
  LaunchBoth<Last, Shortcut> launch(x.get(), w.get(), x2.get(), w2.get(),
                                    nullptr, y.get());
  bench("two wgmma conv 32x56x56x64 by 256x1x1, summed up",
        2e-9 * (x.size() + x2.size() + y.size()), "GB/s", [&] { launch(); });
}
#endif

int main(int argc, char **argv) {
  return runOnHopper(argc, argv, checks, benches);
}
#endif
