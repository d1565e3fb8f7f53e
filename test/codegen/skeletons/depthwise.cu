//===- depthwise.cu - Checks depthwise.cuh --------------------------------===//

#include "frit/depthwise.cuh"

template <class Type, int Vector, int Strip, int N, int H, int W, int C, int R,
          int S, int Stride = 1, int Pad = 0, int Dilation = 1>
struct Problem {
  using T = Type;
  static constexpr int kVector = Vector, kStrip = Strip;
  static constexpr int n = N, h = H, w = W, c = C, r = R, s = S;
  static constexpr int strideH = Stride, strideW = Stride;
  static constexpr int dilationH = Dilation, dilationW = Dilation;
  // Asymmetric: no padding at the bottom.
  static constexpr int padTop = Pad, padLeft = Pad;
  static constexpr int p = (H + Pad - Dilation * (R - 1) - 1) / Stride + 1;
  static constexpr int q = (W + 2 * Pad - Dilation * (S - 1) - 1) / Stride + 1;

  const T *bias;
  T *y;
  __device__ void store(const float (&sum)[Vector], unsigned i) const {
    float b[Vector], out[Vector];
    frit::loadVector(b, bias + i % C);
#pragma unroll
    for (int v = 0; v < Vector; ++v)
      out[v] = sum[v] + b[v] > 0 ? sum[v] + b[v] : 0;
    frit::storeVector(y + i, out);
  }
};

template <class P, bool IsConstant>
__global__ void __launch_bounds__(128)
    biased(const typename P::T *x, const typename P::T *w,
           const typename P::T *bias, typename P::T *y) {
  frit::pdlTrigger();
  frit::depthwise<P::kVector, P::kStrip, IsConstant>(P{bias, y}, x, w);
}

/// The sums of bytes, whose zero points are in memory.
template <class P, bool SignedX, bool SignedW> struct Codes : P {
  static constexpr bool signedX = SignedX, signedW = SignedW;
  const int8_t *zeros;
  int32_t *sums;

  static __device__ float numberOf(int8_t code, bool isSigned) {
    return isSigned ? int(code) : int(uint8_t(code));
  }
  __device__ float zeroX() const { return numberOf(zeros[0], SignedX); }
  __device__ float zeroW() const { return numberOf(zeros[1], SignedW); }
  __device__ void store(const float (&sum)[P::kVector], unsigned i) const {
#pragma unroll
    for (int v = 0; v < P::kVector; ++v)
      sums[i + v] = int(sum[v]);
  }
};

template <class C, bool IsConstant>
__global__ void __launch_bounds__(128)
    codeSums(const int8_t *x, const int8_t *w, const int8_t *zeros,
             int32_t *sums) {
  frit::pdlTrigger();
  frit::depthwise<C::kVector, C::kStrip, IsConstant>(C{{}, zeros, sums}, x, w);
}

// MobileNet's, EfficientNet's and ConvNeXt's at batch 32, also for NVRTC.
using Mobile = Problem<frit::f16, 4, 8, 32, 56, 56, 144, 3, 3, 1, 1>;
using Halved = Problem<frit::f16, 4, 7, 32, 112, 112, 96, 3, 3, 2, 1>;
using Efficient = Problem<frit::f16, 2, 7, 32, 14, 14, 672, 5, 5, 1, 2>;
using Next = Problem<frit::f16, 2, 8, 32, 56, 56, 96, 7, 7, 1, 3>;
using Mixer = Problem<frit::f16, 2, 4, 32, 32, 32, 768, 9, 9, 1, 4>;

template __global__ void biased<Mobile, true>(const frit::f16 *,
                                              const frit::f16 *,
                                              const frit::f16 *, frit::f16 *);
template __global__ void biased<Next, true>(const frit::f16 *,
                                            const frit::f16 *,
                                            const frit::f16 *, frit::f16 *);

#ifndef __CUDACC_RTC__
#include "harness.h"

using namespace harness;

template <class P> static unsigned blocksOf() {
  return (frit::StripPlace<P::kVector, P::kStrip, P, typename P::T>::kThreads +
          127) /
         128;
}

template <class P> struct Tensors {
  Buffer<typename P::T> x{P::n * P::h * P::w * P::c}, w{P::r * P::s * P::c};
  Buffer<typename P::T> bias{P::c}, y{P::n * P::p * P::q * P::c};

  Tensors() {
    x.randomize(1);
    w.randomize(2);
    bias.randomize(3);
  }
  template <bool IsConstant> void run() {
    launch(biased<P, IsConstant>, blocksOf<P>(), 128, x.get(), w.get(),
           bias.get(), y.get());
  }
};

template <class P, bool IsConstant = true> static void check() {
  Tensors<P> tensors;
  auto &[x, w, bias, y] = tensors;
  std::vector<double> want(y.size());
  for (int to = 0; to < int(y.size()); ++to) {
    int c = to % P::c, q = to / P::c % P::q, p = to / P::c / P::q % P::p;
    int n = to / P::c / P::q / P::p;
    double sum = toDouble(bias[c]);
    for (int i = 0; i < P::r; ++i)
      for (int j = 0; j < P::s; ++j) {
        int h = p * P::strideH - P::padTop + i * P::dilationH;
        int v = q * P::strideW - P::padLeft + j * P::dilationW;
        if (h >= 0 && h < P::h && v >= 0 && v < P::w)
          sum += toDouble(x[((n * P::h + h) * P::w + v) * P::c + c]) *
                 toDouble(w[(i * P::s + j) * P::c + c]);
      }
    want[to] = std::max(sum, 0.0);
  }
  tensors.template run<IsConstant>();
  expect("depthwise " + std::to_string(P::r) + "x" + std::to_string(P::s) +
             " of " + std::to_string(P::c) + " channels",
         y, want, epsilonOf<typename P::T>());
}

/// Compares sums of bytes, which are exact.
template <class P, bool SignedX, bool SignedW, bool IsConstant = true>
static void checkCodes(int zeroX, int zeroW) {
  using C = Codes<P, SignedX, SignedW>;
  Buffer<int8_t> x{P::n * P::h * P::w * P::c}, w{P::r * P::s * P::c}, zeros{2};
  Buffer<int32_t> y{P::n * P::p * P::q * P::c};
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = int8_t(i * 2654435761u >> 13);
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = int8_t(i * 2246822519u >> 11);
  zeros[0] = int8_t(zeroX);
  zeros[1] = int8_t(zeroW);
  std::vector<double> want(y.size());
  for (int to = 0; to < int(y.size()); ++to) {
    int c = to % P::c, q = to / P::c % P::q, p = to / P::c / P::q % P::p;
    int n = to / P::c / P::q / P::p;
    for (int i = 0; i < P::r; ++i)
      for (int j = 0; j < P::s; ++j) {
        int h = p * P::strideH - P::padTop + i * P::dilationH;
        int v = q * P::strideW - P::padLeft + j * P::dilationW;
        if (h >= 0 && h < P::h && v >= 0 && v < P::w)
          want[to] +=
              (C::numberOf(x[((n * P::h + h) * P::w + v) * P::c + c], SignedX) -
               zeroX) *
              (C::numberOf(w[(c * P::r + i) * P::s + j], SignedW) - zeroW);
      }
  }
  launch(codeSums<C, IsConstant>, blocksOf<P>(), 128, x.get(), w.get(),
         zeros.get(), y.get());
  expect("depthwise " + std::to_string(P::r) + "x" + std::to_string(P::s) +
             " of " + std::to_string(P::c) + " channels of bytes",
         y, want, 0);
}

static void checks() {
  checkCodes<Problem<int8_t, 4, 4, 2, 7, 9, 24, 3, 3, 1, 1>, false, true>(117,
                                                                          0);
  checkCodes<Problem<int8_t, 4, 3, 1, 13, 11, 128, 5, 5, 2, 2>, true, true>(-9,
                                                                            3);
  checkCodes<Problem<int8_t, 2, 2, 1, 10, 7, 10, 3, 3, 1, 1>, true, false,
             false>(5, 128);
  checkCodes<Problem<int8_t, 1, 2, 1, 9, 8, 7, 9, 9, 1, 4>, false, false>(255,
                                                                          255);
  check<Problem<f16, 4, 1, 2, 7, 9, 24, 3, 3, 1, 1>>();
  check<Problem<f16, 4, 4, 1, 13, 11, 128, 3, 3, 1, 1>, false>();
  check<Problem<bf16, 2, 3, 3, 10, 7, 10, 3, 3, 2, 1>>();
  check<Problem<float, 1, 5, 1, 5, 6, 7, 5, 3, 1, 2>>();
  check<Problem<float, 4, 2, 2, 9, 9, 32, 3, 3, 1, 2, 2>>();
  check<Problem<f16, 2, 3, 1, 19, 17, 6, 3, 2, 3, 1, 4>>();
  check<Problem<f16, 2, 7, 1, 14, 15, 66, 7, 7, 1, 3>, false>();
  check<Problem<bf16, 1, 2, 2, 11, 5, 3, 1, 5, 2, 0>>();
  check<Problem<f16, 2, 4, 1, 12, 12, 64, 9, 9, 1, 4>>();
  // No pads, but a last strip that goes beyond the image.
  check<Problem<f16, 4, 4, 1, 9, 8, 8, 3, 3>>();
}

#ifndef FRIT_EMULATE
template <class P> static void benchOne(const char *name) {
  Tensors<P> tensors;
  bench(name,
        1e-9 * sizeof(typename P::T) * (tensors.x.size() + tensors.y.size()),
        "GB/s", [&] { tensors.template run<true>(); });
}
#endif

static void benches() {
#ifndef FRIT_EMULATE
  benchOne<Mobile>("depthwise f16 3x3 of 32x56x56x144");
  benchOne<Halved>("depthwise f16 3x3/2 of 32x112x112x96");
  benchOne<Efficient>("depthwise f16 5x5 of 32x14x14x672");
  benchOne<Next>("depthwise f16 7x7 of 32x56x56x96");
  benchOne<Mixer>("depthwise f16 9x9 of 32x32x32x768");
#endif
}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
