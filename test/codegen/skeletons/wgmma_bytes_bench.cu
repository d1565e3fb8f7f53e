//===- wgmma_bytes_bench.cu - Times wgmma_bytes.cuh beside 16 bits --------===//
//
//   nvcc -std=c++20 -O3 -arch=sm_90a --expt-relaxed-constexpr -I frit -I
//       runtime/include wgmma_bytes_bench.cu
//
// where `frit` has a folder or link `frit` with all .cuh files, as gpu.sh makes
// it. Products of BERT-Large (32 × 384 tokens, 32 × 512), ViT-B/16 and
// ResNet-50 (32 images), each with scales and biases of columns, and
// requantized; the last two with a residual or GELU where models have them.
// Times are medians of 11 graphs of 20 launches; every tile of a problem has a
// line, and the best of 8 and of 16 bits are compared.
//
//===----------------------------------------------------------------------===//

#include "wgmma_bytes.h"
#include "wgmma_gemm.h"

#include "frit/wgmma_conv.cuh"

/// A product of bytes that is scaled, biased, added to a residual, activated
/// and requantized.
template <class P, class Activation, bool Adds> struct Requantized : P {
  static constexpr int kVector = 8;
  struct Columns {
    float scale[8], bias[8];
  };
  __device__ Columns columns(unsigned col) const {
    Columns columns;
    frit::loadVector(columns.scale, scales + col);
    frit::loadVector(columns.bias, biases + col);
    return columns;
  }
  struct Elements {
    int8_t r[Adds ? 8 : 1] = {};
  };
  __device__ Elements elements(unsigned row, unsigned col) const {
    Elements elements;
    if constexpr (Adds)
      frit::loadVector(elements.r, residual + row * P::k + col);
    return elements;
  }
  template <class Sum>
  __device__ void store(const Sum (&sum)[8], const Columns &columns,
                        const Elements &elements, unsigned row, unsigned col,
                        bool isInside) const {
    int8_t out[8];
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      float x = float(sum[v]) * columns.scale[v] + columns.bias[v];
      if constexpr (Adds)
        x += float(elements.r[v]) * 0.37f;
      out[v] = frit::roundToByte(Activation()(x) * 31.7f, 0, 255, 0);
    }
    frit::storeVectorIf(isInside, to + row * P::k + col, out);
  }
  const float *scales, *biases;
  const int8_t *residual;
  int8_t *to;
};

template <class P>
__global__ void __launch_bounds__(P::layout.threads(), P::blocks)
    requantize(const float *scales, const float *biases, const int8_t *residual,
               int8_t *to, const __grid_constant__ frit::TensorMap mapX,
               const __grid_constant__ frit::TensorMap mapW) {
  frit::pdlTrigger();
  P end;
  end.scales = scales;
  end.biases = biases;
  end.residual = residual;
  end.to = to;
#ifdef FRIT_HAS_WGMMA
  frit::wgmmaBytes(end, &mapX, &mapW);
#endif
}

/// The same convolution in f16, with biases alone.
template <class Of, class Activation> struct Halves : Of {
  using T = frit::f16;
  using D = frit::f16;
  using Bias = frit::f16;
  using Epilogue = Activation;
  static constexpr bool constantB = true;
  static constexpr frit::WgmmaLayout layout = {
      Of::tileM, Of::tileN, Of::stages, Of::cluster, Of::split, Of::blocks};
  static constexpr bool pingPong =
      layout.pingPongs(int64_t(Of::n) * Of::p * Of::q, Of::k, 1, 132);
};
template <class P>
__global__ void __launch_bounds__(P::layout.threads(), P::blocks)
    convolveHalves(const frit::f16 *bias, const frit::f16 *r, frit::f16 *y,
                   const __grid_constant__ frit::TensorMap mapX,
                   const __grid_constant__ frit::TensorMap mapW,
                   const __grid_constant__ frit::TensorMap mapY,
                   const __grid_constant__ frit::TensorMap mapR) {
#ifdef FRIT_HAS_WGMMA
  frit::wgmmaConv<P>(&mapX, &mapW, &mapY, r ? &mapR : nullptr, bias, r, y);
#endif
}

#ifndef __CUDACC_RTC__

using namespace harness;

/// The least times of the current problem, in microseconds.
static double least8, least16;

template <class Run>
static double timeOf(const char *what, double work, const Run &run) {
  constexpr int calls = 20;
  cudaGraph_t graph;
  cudaGraphExec_t program;
  cudaEvent_t start, stop;
  require(cudaStreamCreate(&launchStream));
  require(cudaStreamBeginCapture(launchStream, cudaStreamCaptureModeRelaxed));
  for (int call = 0; call < calls; ++call)
    run();
  require(cudaStreamEndCapture(launchStream, &graph));
  require(cudaGraphInstantiate(&program, graph, 0));
  require(cudaEventCreate(&start));
  require(cudaEventCreate(&stop));
  std::vector<float> times;
  for (int i = 0; i < 15; ++i) {
    require(cudaEventRecord(start, launchStream));
    require(cudaGraphLaunch(program, launchStream));
    require(cudaEventRecord(stop, launchStream));
    require(cudaEventSynchronize(stop));
    float milliseconds;
    require(cudaEventElapsedTime(&milliseconds, start, stop));
    if (i >= 4)
      times.push_back(milliseconds);
  }
  require(cudaGraphExecDestroy(program));
  require(cudaGraphDestroy(graph));
  require(cudaStreamDestroy(launchStream));
  launchStream = nullptr;
  std::nth_element(times.begin(), times.begin() + times.size() / 2,
                   times.end());
  double us = times[times.size() / 2] / calls * 1e3;
  printf("  %-46s %9.2f us %9.1f T/s\n", what, us, work / us * 1e-6);
  return us;
}

template <class P> static double workOf() {
  return 2.0 * double(P::n) * P::p * P::q * P::k * P::r * P::s * P::c;
}
template <class P> static void name(char (&to)[80], const char *bits) {
  snprintf(to, sizeof to, "%s %dx%d, %d stages, cluster %d, split %d, %s", bits,
           P::tileM, P::tileN, P::stages, P::cluster, P::split,
           P::pingPong ? "ping-pong" : "shared");
}

template <class Of, class Activation, bool Adds> static void timeBytes() {
  using P = Requantized<Tiled<Of>, Activation, Adds>;
  if constexpr (P::layout.fits()) {
    Buffer<uint8_t> x{size_t(P::n) * P::h * P::w * P::c};
    Buffer<uint8_t> w{size_t(P::k) * P::r * P::s * P::c};
    Buffer<int8_t> r{size_t(P::m) * P::k}, y{size_t(P::m) * P::k};
    Buffer<float> scales{size_t(P::k)}, biases{size_t(P::k)};
    fill(x, 1);
    fill(w, 2);
    r.randomize(3);
    scales.randomize(4);
    biases.randomize(5);
    char what[80];
    name<P>(what, "s8");
    frit::TensorMap mapX = mapOfX<P>(x.get()), mapW = mapOfW<P>(w.get());
    double us = timeOf(what, workOf<P>(), [&] {
      launchCut(&requantize<P>, P::layout, P::m, P::k, 1,
                (const float *)scales.get(), (const float *)biases.get(),
                (const int8_t *)r.get(), y.get(), mapX, mapW);
    });
    least8 = least8 ? std::min(least8, us) : us;
  }
}

template <class Of, class Activation, bool Adds> static void timeHalves() {
  using P = Halves<Of, Activation>;
  if constexpr (P::layout.fits()) {
    constexpr int64_t m = int64_t(P::n) * P::p * P::q;
    Buffer<f16> x{size_t(P::n) * P::h * P::w * P::c};
    Buffer<f16> w{size_t(P::k) * P::r * P::s * P::c};
    Buffer<f16> r{size_t(m) * P::k}, y{size_t(m) * P::k}, bias{size_t(P::k)};
    x.randomize(1);
    w.randomize(2);
    r.randomize(3);
    bias.randomize(4);
    char what[80];
    name<P>(what, "f16");
    const f16 *b = bias.get(), *add = Adds ? r.get() : nullptr;
    if constexpr (P::r * P::s == 1 && P::strideH == 1) {
      using M = Matrices<int(m), P::k, P::c, 1, false, true, f16, f16, f16,
                         Activation>;
      using Q = Problem<M, P::tileM, P::tileN, P::stages, P::cluster, P::split,
                        P::blocks>;
      Launch<Q, true> full(x.get(), w.get(), b, r.get(), y.get());
      Launch<Q, false> plain(x.get(), w.get(), b, r.get(), y.get());
      double us = timeOf(what, workOf<P>(), [&] {
        if constexpr (Adds)
          full();
        else
          plain();
      });
      least16 = least16 ? std::min(least16, us) : us;
    } else {
      // As wgmma_conv.cuh asks for rows of taps of 64 channels.
      constexpr bool isRow = P::s * P::c == 64 && P::s > 1 && P::padLeft == 0;
      constexpr int c = isRow ? 64 : P::c;
      constexpr int width = isRow ? P::w - P::s + 1 : P::w;
      constexpr int depth = P::r * P::s * P::c, line = isRow ? depth : P::c;
      auto mapX = pixelMap(x.get(), {c, width, P::h, P::n},
                           {P::c, P::c * P::w, P::c * P::w * P::h},
                           {-P::padLeft, -P::padTop},
                           {(P::q - 1) * P::strideW - P::padLeft + 1 - width,
                            (P::p - 1) * P::strideH - P::padTop + 1 - P::h},
                           {P::strideW, P::strideH}, P::tileM);
      auto mapW = tiledMap(w.get(), {line, depth / line, P::k}, {line, depth},
                           {64, 1, P::tileN / P::cluster});
      auto mapY = tiledMap(y.get(), {P::k, m, 1}, {P::k, 0}, {64, 16, 1});
      auto mapR = tiledMap(r.get(), {P::k, m, 1}, {P::k, 0}, {64, 16, 1});
      f16 *to = y.get();
      double us = timeOf(what, workOf<P>(), [&] {
        launchCut(&convolveHalves<P>, P::layout, m, P::k, 1, b, add, to, mapX,
                  mapW, mapY, mapR);
      });
      least16 = least16 ? std::min(least16, us) : us;
    }
  }
}

/// Times tiles of 8 bits, and some of 16.
template <template <class> class Of, class Activation, bool Adds, class... T>
static void compare(const char *what) {
  printf("%s\n", what);
  least8 = least16 = 0;
  (timeBytes<Of<T>, Activation, Adds>(), ...);
  (timeHalves<Of<T>, Activation, Adds>(), ...);
  printf("== %-52s 8 bits %8.2f us, 16 bits %8.2f us: %.2f x\n", what, least8,
         least16, least16 / least8);
}

using Broad = Staged<128, 256, 4>;
using BroadTwo = Staged<128, 256, 4, 2>;
using Square = Staged<128, 128, 6>;
using SquareTwo = Staged<128, 128, 6, 2>;
using Slim = Staged<128, 64, 8>;
using Middle = Staged<128, 192, 4>;
using Half = Staged<64, 256, 5>;
using Split = Staged<64, 128, 8, 1, 2>;
using frit::GeluTo16Bits, frit::Identity, frit::Relu;

#define FRIT_ROWS(Name, M, N, K)                                               \
  template <class T> using Name = Product<T, true, true, M, N, K>
#define FRIT_WINDOWS(Name, Size, C, K, R, Stride)                              \
  template <class T>                                                           \
  using Name =                                                                 \
      Conv<T, false, true, 32, Size, Size, C, K, R, R, Stride, (R - 1) / 2>
FRIT_ROWS(BertOut, 12288, 1024, 1024);
FRIT_ROWS(BertUp, 12288, 4096, 1024);
FRIT_ROWS(BertDown, 12288, 1024, 4096);
FRIT_ROWS(BertUp16, 16384, 4096, 1024);
FRIT_ROWS(VitOut, 6304, 768, 768);
FRIT_ROWS(VitQkv, 6304, 2304, 768);
FRIT_ROWS(VitUp, 6304, 3072, 768);
FRIT_ROWS(VitDown, 6304, 768, 3072);
FRIT_ROWS(Res1, 100352, 256, 64);
FRIT_ROWS(Res2, 100352, 64, 256);
FRIT_ROWS(Res3, 25088, 512, 128);
FRIT_ROWS(Res4, 6272, 1024, 256);
FRIT_ROWS(Res5, 1568, 512, 2048);
template <class T>
struct Stem : Conv<T, false, true, 32, 230, 115, 16, 64, 7, 4> {
  static constexpr int strideH = 2, p = 112;
};
FRIT_WINDOWS(Conv1, 56, 64, 64, 3, 1);
FRIT_WINDOWS(Conv2, 28, 128, 128, 3, 1);
FRIT_WINDOWS(Conv3, 14, 256, 256, 3, 1);
FRIT_WINDOWS(Conv4, 7, 512, 512, 3, 1);

static void checks() {}
static void benches() {
  compare<BertOut, Identity, true, Broad, Square, SquareTwo>(
      "bert-large 12288x1024x1024, residual");
  compare<BertUp, GeluTo16Bits, false, Broad, SquareTwo, Middle>(
      "bert-large 12288x4096x1024, gelu");
  compare<BertDown, Identity, true, Broad, BroadTwo, SquareTwo>(
      "bert-large 12288x1024x4096, residual");
  compare<BertUp16, GeluTo16Bits, false, Broad, SquareTwo>(
      "bert-large 16384x4096x1024, gelu");
  compare<VitOut, Identity, true, Square, Broad>("vit-b16 6304x768x768");
  compare<VitQkv, Identity, false, Square, Broad>("vit-b16 6304x2304x768");
  compare<VitUp, GeluTo16Bits, false, SquareTwo, Broad>(
      "vit-b16 6304x3072x768, gelu");
  compare<VitDown, Identity, true, Square, Broad>("vit-b16 6304x768x3072");
  compare<Res1, Relu, true, Square, Broad>(
      "resnet50 56x56 64 to 256, residual");
  compare<Res2, Relu, false, Slim>("resnet50 56x56 256 to 64");
  compare<Res3, Relu, true, Square, Broad>(
      "resnet50 28x28 128 to 512, residual");
  compare<Res4, Relu, true, Square, Broad>(
      "resnet50 14x14 256 to 1024, residual");
  compare<Res5, Relu, false, Split, Slim, Half>("resnet50 7x7 2048 to 512");
  compare<Stem, Relu, false, Slim>("resnet50 7x7 of paired pixels");
  compare<Conv1, Relu, false, Slim>("resnet50 3x3 56x56 of 64");
  compare<Conv2, Relu, false, Square, Slim>("resnet50 3x3 28x28 of 128");
  compare<Conv3, Relu, false, Square, Slim>("resnet50 3x3 14x14 of 256");
  compare<Conv4, Relu, false, Split, Slim>("resnet50 3x3 7x7 of 512");
}

int main(int argc, char **argv) {
  return runOnHopper(argc, argv, checks, benches);
}
#endif
