//===- conv.cu - Checks conv.cuh ------------------------------------------===//

#include "frit/conv.cuh"

template <class Type, bool ChannelsLast, int N, int C, int H, int W, int K,
          int R, int S, int Stride = 1, int Pad = 0, int Dilation = 1,
          int Groups = 1, int Tile = 64, class Activation = frit::Identity>
struct Problem {
  using T = Type;
  using Bias = Type;
  using Epilogue = Activation;
  static constexpr int n = N, c = C, h = H, w = W, k = K, r = R, s = S;
  static constexpr int strideH = Stride, strideW = Stride;
  static constexpr int dilationH = Dilation, dilationW = Dilation;
  // Asymmetric: no padding at the bottom.
  static constexpr int padTop = Pad, padLeft = Pad;
  static constexpr int p = (H + Pad - Dilation * (R - 1) - 1) / Stride + 1;
  static constexpr int q = (W + 2 * Pad - Dilation * (S - 1) - 1) / Stride + 1;
  static constexpr int groups = Groups;
  static constexpr bool channelsLast = ChannelsLast;
  static constexpr int tileM = Tile, tileN = Tile;
};

template <class P>
__global__ void __launch_bounds__(256)
    plain(const typename P::T *x, const typename P::T *w, typename P::T *y) {
  frit::conv<P>(x, w, nullptr, nullptr, y);
}
template <class P>
__global__ void __launch_bounds__(256)
    full(const typename P::T *x, const typename P::T *w,
         const typename P::T *bias, const typename P::T *r, typename P::T *y) {
  frit::conv<P>(x, w, bias, r, y);
}

// ResNet-50's at batch 32, also for NVRTC.
using Middle = Problem<frit::f16, true, 32, 256, 14, 14, 256, 3, 3, 1, 1, 1, 1,
                       64, frit::Relu>;
using Early = Problem<frit::f16, true, 32, 64, 56, 56, 256, 1, 1, 1, 0, 1, 1,
                      128, frit::Relu>;
using MiddleF32 = Problem<float, false, 32, 256, 14, 14, 256, 3, 3, 1, 1>;
using Stem = Problem<frit::f16, true, 32, 3, 224, 224, 64, 7, 7, 2, 3>;

template __global__ void full<Middle>(const frit::f16 *, const frit::f16 *,
                                      const frit::f16 *, const frit::f16 *,
                                      frit::f16 *);
template __global__ void plain<Early>(const frit::f16 *, const frit::f16 *,
                                      frit::f16 *);
template __global__ void plain<MiddleF32>(const float *, const float *,
                                          float *);
template __global__ void plain<Stem>(const frit::f16 *, const frit::f16 *,
                                     frit::f16 *);

#ifndef __CUDACC_RTC__
#include "harness.h"

using namespace harness;

template <class P> static dim3 gridOf() {
  return dim3((P::n * P::p * P::q + P::tileM - 1) / P::tileM,
              (P::k / P::groups + P::tileN - 1) / P::tileN, P::groups);
}

template <class P> static void check(bool isFull, dim3 grid = gridOf<P>()) {
  using T = typename P::T;
  constexpr int channels = P::c / P::groups, filters = P::k / P::groups;
  Buffer<T> x(P::n * P::c * P::h * P::w), w(P::k * channels * P::r * P::s);
  Buffer<T> y(P::n * P::k * P::p * P::q), r(y.size()), bias(P::k);
  x.randomize(1);
  w.randomize(2);
  bias.randomize(3);
  r.randomize(4);
  auto at = [](int a, int c, int i, int j, int cs, int is, int js) {
    return P::channelsLast ? ((a * is + i) * js + j) * cs + c
                           : ((a * cs + c) * is + i) * js + j;
  };
  std::vector<double> want(y.size());
  for (int n = 0; n < P::n; ++n)
    for (int k = 0; k < P::k; ++k)
      for (int p = 0; p < P::p; ++p)
        for (int q = 0; q < P::q; ++q) {
          double sum = 0;
          for (int c = 0; c < channels; ++c)
            for (int i = 0; i < P::r; ++i)
              for (int j = 0; j < P::s; ++j) {
                int h = p * P::strideH - P::padTop + i * P::dilationH;
                int v = q * P::strideW - P::padLeft + j * P::dilationW;
                if (h < 0 || h >= P::h || v < 0 || v >= P::w)
                  continue;
                int channel = k / filters * channels + c;
                sum += toDouble(x[at(n, channel, h, v, P::c, P::h, P::w)]) *
                       toDouble(w[at(k, c, i, j, channels, P::r, P::s)]);
              }
          int to = at(n, k, p, q, P::k, P::p, P::q);
          if (isFull)
            sum = std::max(sum + toDouble(bias[k]) + toDouble(r[to]), 0.0);
          want[to] = sum;
        }
  if (isFull)
    launch(full<P>, grid, 256, x.get(), w.get(), bias.get(), r.get(), y.get());
  else
    launch(plain<P>, grid, 256, x.get(), w.get(), y.get());
  expect("conv of " + std::to_string(P::c) + " channels, " +
             std::to_string(P::h) + "x" + std::to_string(P::w),
         y, want, epsilonOf<T>());
}

static void checks() {
  using frit::Relu;
  // CUDA cores, both layouts: padding, stride, dilation, groups.
  check<Problem<float, false, 2, 3, 17, 13, 7, 3, 3, 2, 1>>(false);
  check<Problem<float, true, 2, 3, 17, 13, 7, 3, 3, 2, 1>>(false);
  check<Problem<float, false, 1, 6, 11, 12, 10, 3, 2, 1, 1, 2, 2, 64, Relu>>(
      true);
  check<Problem<f16, true, 1, 6, 11, 12, 10, 3, 2, 1, 1, 2, 2, 64, Relu>>(true);
  check<Problem<double, false, 1, 5, 9, 9, 67, 1, 1>>(false);
  check<Problem<float, false, 1, 8, 10, 9, 8, 3, 3, 1, 1, 1, 8>>(false);
  check<Problem<float, true, 1, 3, 1, 40, 5, 1, 5>>(false);
  // The tensor cores.
  check<Problem<f16, true, 2, 16, 9, 11, 24, 3, 3, 1, 1, 1, 1, 64, Relu>>(true);
  check<Problem<bf16, true, 1, 24, 13, 7, 70, 3, 3, 2, 1>>(false);
  check<Problem<f16, true, 1, 32, 8, 8, 48, 3, 3, 1, 2, 2, 2>>(false);
  check<Problem<bf16, true, 3, 40, 10, 9, 136, 1, 1, 1, 0, 1, 1, 128, Relu>>(
      true, dim3(1, 1, 1));
}

#ifndef FRIT_EMULATE
template <class P> static void benchOne(const char *name) {
  using T = typename P::T;
  Buffer<T> x(P::n * P::c * P::h * P::w);
  Buffer<T> w(P::k * P::c / P::groups * P::r * P::s);
  Buffer<T> y(P::n * P::k * P::p * P::q);
  x.randomize(1);
  w.randomize(2);
  bench(name, 2e-12 * y.size() * P::c / P::groups * P::r * P::s, "TFLOP/s",
        [&] { launch(plain<P>, gridOf<P>(), 256, x.get(), w.get(), y.get()); });
}
#endif

static void benches() {
#ifndef FRIT_EMULATE
  benchOne<Middle>("conv f16 NHWC 32x256x14x14, 256 of 3x3");
  benchOne<Early>("conv f16 NHWC 32x64x56x56, 256 of 1x1");
  benchOne<MiddleF32>("conv f32 NCHW 32x256x14x14, 256 of 3x3");
  benchOne<Stem>("conv f16 NHWC 32x3x224x224, 64 of 7x7");
#endif
}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
