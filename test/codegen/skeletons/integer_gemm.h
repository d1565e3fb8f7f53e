//===- integer_gemm.h - Shared code of the checks of integer_gemm.cuh -----===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_INTEGER_GEMM_H
#define FRIT_TEST_CODEGEN_SKELETONS_INTEGER_GEMM_H

#include "frit/integer_gemm.cuh"

template <int TileM, int TileN, int WarpM, int WarpN, int Depth, int Stages,
          int Split = 1, bool Wgmma = false, int Cluster = 1>
struct Tile {
  static constexpr int tileM = TileM, tileN = TileN, warpM = WarpM;
  static constexpr int warpN = WarpN, depth = Depth, stages = Stages;
  static constexpr int split = Split;
  static constexpr bool wgmma = Wgmma;
  static constexpr int cluster = Cluster;
};
/// A tile of whole warpgroups.
template <int TileM, int TileN, int Stages, int Cluster = 1>
using Wide = Tile<TileM, TileN, 16, TileN, 128, Stages, 1, true, Cluster>;

/// A convolution whose sums are stored as they are.
template <class T, bool SignedX, bool SignedW, int N, int H, int W, int C,
          int K, int R, int S, int Stride = 1, int Pad = 0, int Dilation = 1,
          int Vector = 8, bool Early = true>
struct Conv : T {
  static constexpr bool signedX = SignedX, signedW = SignedW, early = Early;
  static constexpr int n = N, h = H, w = W, c = C, k = K, r = R, s = S;
  static constexpr int strideH = Stride, strideW = Stride;
  static constexpr int dilationH = Dilation, dilationW = Dilation;
  // Asymmetric: no padding at the bottom.
  static constexpr int padTop = Pad, padLeft = Pad;
  static constexpr int p = (H + Pad - Dilation * (R - 1) - 1) / Stride + 1;
  static constexpr int q = (W + 2 * Pad - Dilation * (S - 1) - 1) / Stride + 1;
  static constexpr int kVector = Vector;

  struct Columns {};
  __device__ Columns columns(unsigned) const { return {}; }
  struct Elements {};
  __device__ Elements elements(unsigned, unsigned) const { return {}; }
  __device__ void store(const int (&sum)[Vector], const Columns &,
                        const Elements &, unsigned row, unsigned col,
                        bool isInside) const {
    frit::storeVectorIf(isInside, y + row * k + col, sum);
  }
  int32_t *y;
};
template <class T, bool SignedX, bool SignedW, int M, int N, int K,
          int Vector = 8>
using Product = Conv<T, SignedX, SignedW, M, 1, 1, K, N, 1, 1, 1, 0, 1, Vector>;

template <class P>
__global__ void __launch_bounds__(frit::IntegerPlan<P>::kThreads)
    sums(const uint8_t *x, const uint8_t *w, const uint8_t *xZero,
         const uint8_t *wZero, int32_t *y) {
  frit::pdlTrigger();
  frit::integerGemm(P{{}, y}, x, w, xZero, wZero);
}

#ifndef __CUDACC_RTC__
#include "harness.h"

using namespace harness;

/// Bytes of the whole range.
inline void fill(Buffer<uint8_t> &bytes, uint32_t seed) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    seed = seed * 1664525 + 1013904223;
    bytes.host()[i] = uint8_t(seed >> 24);
  }
  bytes.upload();
}
inline void set(Buffer<uint8_t> &number, int value) {
  number.host()[0] = uint8_t(value);
  number.upload();
}
inline int valueOf(uint8_t byte, bool isSigned) {
  return isSigned ? int8_t(byte) : byte;
}

template <class P> int sharedBytes() {
  using Plan = frit::IntegerPlan<P>;
  return std::max(P::stages * Plan::kStageBytes,
                  (P::cluster > 1 ? 1 : P::split - 1) * P::tileM * P::tileN *
                      4);
}
template <class P> unsigned blocksOf() {
  return unsigned((frit::IntegerOperands<P>::kPixels + P::tileM - 1) /
                  P::tileM) *
         ((P::k + P::tileN - 1) / P::tileN);
}

template <class P> struct Tensors {
  Buffer<uint8_t> x{P::n * P::h * P::w * P::c}, w{P::k * P::r * P::s * P::c};
  Buffer<uint8_t> xZero{1}, wZero{1};
  Buffer<int32_t> y{size_t(P::n) * P::p * P::q * P::k};

  Tensors(int zeroX, int zeroW) {
    fill(x, 1);
    fill(w, 2);
    set(xZero, zeroX);
    set(wZero, zeroW);
  }
  /// Calls `launch` with the kernel's arguments.
  template <class Launch> void run(const Launch &launch) {
    launch(x.get(), w.get(), xZero.get(), wZero.get(), y.get());
  }
};

/// Returns the sums of a convolution of numbers that are exact in f64.
template <class P, class XAt, class WAt>
std::vector<double> convolve(const XAt &xAt, const WAt &wAt) {
  std::vector<double> sums(size_t(P::n) * P::p * P::q * P::k);
  for (size_t to = 0; to < sums.size(); ++to) {
    int filter = to % P::k, q = to / P::k % P::q, p = to / P::k / P::q % P::p;
    int n = to / P::k / P::q / P::p;
    double sum = 0;
    for (int i = 0; i < P::r * P::s; ++i) {
      int h = p * P::strideH - P::padTop + i / P::s * P::dilationH;
      int v = q * P::strideW - P::padLeft + i % P::s * P::dilationW;
      if (h < 0 || h >= P::h || v < 0 || v >= P::w)
        continue;
      for (int c = 0; c < P::c; ++c)
        sum += xAt(((n * P::h + h) * P::w + v) * P::c + c) *
               wAt((filter * P::r * P::s + i) * P::c + c);
    }
    sums[to] = sum;
  }
  return sums;
}

/// Compares what `launch` computes with exact sums.
template <class P, class Launch>
void checkSums(int zeroX, int zeroW, const Launch &launch) {
  Tensors<P> tensors(zeroX, zeroW);
  auto &[x, w, xZero, wZero, y] = tensors;
  std::vector<double> want = convolve<P>(
      [&](int i) { return double(valueOf(x[i], P::signedX) - zeroX); },
      [&](int i) { return double(valueOf(w[i], P::signedW) - zeroW); });
  tensors.run(launch);
  expect("integer_gemm " + std::to_string(P::r) + "x" + std::to_string(P::s) +
             " of " + std::to_string(P::c) + " channels, zero points " +
             std::to_string(zeroX) + ", " + std::to_string(zeroW),
         y, want, 0);
}

#endif

#endif // FRIT_TEST_CODEGEN_SKELETONS_INTEGER_GEMM_H
