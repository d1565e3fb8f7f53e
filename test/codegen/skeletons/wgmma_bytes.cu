//===- wgmma_bytes.cu - Checks wgmma_bytes.cuh on sm_90a ------------------===//

#include "wgmma_bytes.h"

/// A product of m × k bytes and n × k bytes.
template <class T, int M, int N, int K, bool SignedX = true,
          bool SignedW = true, int Vector = 8, int PingPong = -1>
using Rows = Tiled<Product<T, SignedX, SignedW, M, N, K, Vector>, PingPong>;
/// A convolution of unsigned by signed bytes.
template <class T, int N, int H, int W, int C, int K, int R, int S,
          int Stride = 1, int Pad = 0, int Dilation = 1>
using Windows =
    Tiled<Conv<T, false, true, N, H, W, C, K, R, S, Stride, Pad, Dilation>>;

/// A convolution of every other row, without padding.
template <class T, int N, int H, int W, int C, int K, int R, int S>
struct Rowed : Conv<T, false, true, N, H, W, C, K, R, S> {
  static constexpr int strideH = 2, p = (H - R) / 2 + 1;
};
template <class T, int N, int H, int W, int C, int K, int R, int S>
using Halved = Tiled<Rowed<T, N, H, W, C, K, R, S>>;

inline constexpr frit::Float8 e4m3 = frit::Float8::e4m3,
                              e5m2 = frit::Float8::e5m2;
template <class P> using E4m3 = FloatTiled<P, e4m3, e4m3>;

// BERT's and ResNet-50's, also for NVRTC.
using Out = Rows<Staged<128, 256, 4>, 12288, 1024, 4096>;
using Up = Rows<Staged<128, 128, 6, 2>, 12288, 4096, 1024>;
using Float = E4m3<Rows<Staged<128, 128, 6>, 12288, 4096, 1024>>;
using Body = Windows<Staged<128, 128, 6>, 32, 28, 28, 128, 128, 3, 3, 1, 1>;
using First = Windows<Staged<128, 64, 8>, 32, 56, 56, 64, 64, 3, 3, 1, 1>;
using Deep = Windows<Staged<64, 64, 8, 1, 4>, 1, 7, 7, 512, 512, 3, 3, 1, 1>;

#ifdef __CUDACC_RTC__
template <class P> __device__ auto compiled = &stagedSums<P>;
template __device__ auto compiled<Out>;
template __device__ auto compiled<Up>;
template __device__ auto compiled<Float>;
template __device__ auto compiled<Body>;
template __device__ auto compiled<First>;
template __device__ auto compiled<Deep>;
#else
#include "float8_codes.h"

using namespace harness;

/// Compares exact sums. The second run must not depend on what the first left.
template <class P> static void check() {
  Buffer<uint8_t> x{P::n * P::h * P::w * P::c}, w{P::k * P::r * P::s * P::c};
  Buffer<uint8_t> zero{1};
  Buffer<typename frit::ByteSumOf<P>::Type> y{size_t(P::m) * P::k};
  std::vector<double> want;
  set(zero, 0);
  if constexpr (frit::kHasFloats<P>) {
    fill(x, 1, P::floatX, true);
    fill(w, 2, P::floatW, true);
    want = convolve<P>([&](int i) { return numberOf(x[i], P::floatX); },
                       [&](int i) { return numberOf(w[i], P::floatW); });
  } else {
    fill(x, 1);
    fill(w, 2);
    want =
        convolve<P>([&](int i) { return double(valueOf(x[i], P::signedX)); },
                    [&](int i) { return double(valueOf(w[i], P::signedW)); });
  }
  if constexpr (requires { P::columnBytes; })
    for (size_t i = 0; i < want.size(); ++i)
      want[i] += P::numberOf(i % P::k);
  for (int i = 0; i < 2; ++i)
    launchStaged<P>(x.get(), w.get(), zero.get(), y.get());
  waitForDevice();
  char name[200];
  snprintf(name, sizeof name,
           "wgmma bytes %dx%dx%dx%d by %dx%dx%d, stride %d, tile %dx%d, %d "
           "stages, cluster %d, split %d%s",
           P::n, P::h, P::w, P::c, P::k, P::r, P::s, P::strideH, P::tileM,
           P::tileN, P::stages, P::cluster, P::split,
           P::pingPong ? ", ping-pong" : "");
#ifdef FRIT_EMULATE
  const double rounding = 0;
#else
  // Tensor cores align the terms of a sum of floats.
  const double rounding = frit::kHasFloats<P> ? 2e-3 : 0;
#endif
  expect(name, y, want, rounding);
}

/// Compares sums to which elements are added, read and stored through boxes.
template <template <class, class, class> class Kind, class Of, class T, class D>
static void checkBoxes(const char *what) {
  using P = Kind<Of, T, D>;
  Buffer<uint8_t> x{P::n * P::h * P::w * P::c}, w{P::k * P::r * P::s * P::c};
  Buffer<T> added{size_t(P::m) * P::k};
  Buffer<D> y{size_t(P::m) * P::k};
  fill(x, 1);
  fill(w, 2);
  for (size_t i = 0; i < added.size(); ++i)
    added.host()[i] = T(i * 2654435761u >> 20);
  added.upload();
  std::vector<double> want =
      convolve<P>([&](int i) { return double(valueOf(x[i], P::signedX)); },
                  [&](int i) { return double(valueOf(w[i], P::signedW)); });
  for (size_t i = 0; i < want.size(); ++i)
    want[i] = D(int(want[i]) + added[i]);
  for (int i = 0; i < 2; ++i)
    launchCut(&addedSums<P, T, D>, P::layout, P::m, P::k, 1,
              (const T *)added.get(), y.get(), mapOfX<P>(x.get()),
              mapOfW<P>(w.get()), mapOfBoxes<P>(added.get(), sizeof(T)),
              mapOfBoxes<P>(y.get(), sizeof(D)));
  waitForDevice();
  expect("wgmma bytes, " + std::string(what) + " " + std::to_string(P::m) +
             " rows, of " + std::to_string(sizeof(T)) + " and " +
             std::to_string(sizeof(D)) + " bytes, tile " +
             std::to_string(P::tileM) + "x" + std::to_string(P::tileN),
         y, want, 0);
}
template <class Of, class T, class D = T> static void checkAdded() {
  checkBoxes<Added, Of, T, D>("boxes that are read,");
  checkBoxes<Unread, Of, T, D>("boxes that are stored,");
}

/// Compares sums of one product and codes of another, which are stored by
/// threads or through boxes.
template <class Of, class Added, template <class> class Kind = Summed>
static void checkPair() {
  using P = Kind<Tiled<Of, 0>>;
  using Q = FirstOf<P, Added>;
  constexpr bool isBoxed = std::is_same_v<P, SummedBoxes<Tiled<Of, 0>>>;
  using D = std::conditional_t<isBoxed, int8_t, int32_t>;
  Buffer<uint8_t> x{P::n * P::h * P::w * P::c}, w{P::k * P::r * P::s * P::c};
  Buffer<uint8_t> x0{Q::n * Q::h * Q::w * Q::c}, w0{Q::k * Q::r * Q::s * Q::c};
  Buffer<uint8_t> zero{1};
  Buffer<D> y{size_t(P::m) * P::k};
  set(zero, 0);
  fill(x, 1);
  fill(w, 2);
  fill(x0, 3);
  fill(w0, 4);
  auto sumsOf = [](auto *problem, auto &x, auto &w) {
    using R = std::remove_pointer_t<decltype(problem)>;
    return convolve<R>(
        [&](int i) { return double(valueOf(x[i], R::signedX)); },
        [&](int i) { return double(valueOf(w[i], R::signedW)); });
  };
  std::vector<double> want = sumsOf((P *)nullptr, x, w),
                      first = sumsOf((Q *)nullptr, x0, w0);
  for (size_t i = 0; i < want.size(); ++i)
    want[i] = D(int(want[i]) + 3 * int8_t(int(first[i]) >> 4));
  for (int i = 0; i < 2; ++i)
    launchCut(&pairedSums<P, Q>, P::layout, P::m, P::k, 1,
              (int32_t *)(void *)y.get(), (const uint8_t *)x0.get(),
              (const uint8_t *)w0.get(), (const uint8_t *)x.get(),
              (const uint8_t *)w.get(), (const uint8_t *)zero.get(),
              mapOfX<Q>(x0.get()), mapOfW<Q>(w0.get()), mapOfX<P>(x.get()),
              mapOfW<P>(w.get()), mapOfBoxes<P>(y.get(), 1));
  waitForDevice();
  char name[200];
  snprintf(name, sizeof name,
           "wgmma bytes, %dx%dx%dx%d by %dx%dx%d and %dx%dx%d by %dx%d, stride "
           "%d, of %zu bytes, tile %dx%d, %d stages",
           P::n, P::h, P::w, P::c, P::k, P::r, P::s, Q::h, Q::w, Q::c, Q::r,
           Q::s, Q::strideH, sizeof(D), P::tileM, P::tileN, P::stages);
  expect(name, y, want, 0);
}
template <int TileM, int TileN, int Stages, int Blocks = 1>
using Boxed = Staged<TileM, TileN, Stages, 1, 1, Blocks, true>;

#ifdef FRIT_FEW_CHECKS
/// The checks for planted.py.
static void checks() {
  check<Rows<Staged<64, 64, 3>, 331, 96, 400>>();
  check<Windows<Staged<64, 64, 3>, 1, 7, 6, 64, 64, 3, 3, 1, 1>>();
  check<Shifted<Rows<Staged<64, 64, 3>, 60, 128, 144>, 64>>();
  check<Shifted<Rows<Staged<64, 64, 3>, 331, 128, 144>, 128>>();
  checkAdded<Rows<Boxed<64, 128, 3>, 331, 128, 64>, int8_t>();
  checkPair<
      Conv<Staged<64, 64, 3>, false, true, 2, 6, 5, 64, 96, 1, 1>,
      Conv<Staged<64, 64, 3>, false, true, 2, 12, 10, 272, 96, 1, 1, 2>>();
}
#else
static void checks() {
  // Every tile, pairs of signs, tails in every direction.
  check<Rows<Staged<64, 64, 3>, 331, 96, 400>>();
  check<Rows<Staged<64, 256, 3>, 331, 288, 400, true, false>>();
  check<Rows<Staged<128, 128, 6>, 331, 160, 400, false, true>>();
  check<Rows<Staged<128, 256, 4>, 331, 288, 272, false, false>>();
  check<Rows<Staged<192, 192, 4>, 331, 224, 272>>();
  check<Rows<Staged<128, 192, 4>, 300, 224, 144>>();
  check<Rows<Staged<64, 128, 3, 1, 1, 2>, 331, 96, 16>>();
  check<Rows<Staged<64, 64, 3>, 70, 64, 128, true, true, 4>>();
  // Numbers of columns in shared memory, those of a tile or all.
  check<Shifted<Rows<Staged<64, 64, 3>, 60, 128, 144>, 64>>();
  check<Shifted<Rows<Staged<128, 64, 3>, 1200, 288, 144>, 288>>();
  // Ping-pong, with several tiles per block.
  check<Rows<Staged<128, 64, 3>, 1200, 288, 400, true, true, 8, true>>();
  check<Rows<Staged<128, 128, 5>, 1200, 288, 144, false, true, 8, true>>();
  // Clusters that multicast w, the last one half empty.
  check<Rows<Staged<128, 256, 4, 2>, 330, 288, 400>>();
  check<Rows<Staged<64, 64, 4, 2>, 330, 160, 400>>();
  check<Rows<Staged<128, 128, 5, 2>, 1200, 288, 272, true, true, 8, true>>();
  // What is added comes and leaves through boxes, for several tiles per block:
  // one to four boxes per warp and tile, with tails, and of several types.
  checkAdded<Rows<Boxed<128, 256, 3>, 1900, 256, 64>, int8_t>();
  checkAdded<Rows<Boxed<128, 256, 3>, 1100, 288, 128>, int16_t>();
  checkAdded<Rows<Boxed<128, 128, 4>, 2100, 160, 64, true, true, 8, true>,
             int8_t>();
  checkAdded<Rows<Boxed<128, 128, 4>, 1900, 128, 400, true, true, 8, true>,
             int16_t>();
  checkAdded<Rows<Boxed<192, 128, 3>, 1900, 128, 64>, int8_t>();
  checkAdded<Rows<Boxed<128, 192, 3>, 1900, 192, 64>, int8_t>();
  checkAdded<Rows<Boxed<128, 64, 3>, 1900, 64, 64>, int8_t, int32_t>();
  checkAdded<Rows<Boxed<128, 128, 3>, 1900, 128, 64>, int16_t, int8_t>();
  checkAdded<Rows<Boxed<128, 64, 5>, 1900, 64, 64, true, true, 8, true>,
             int8_t>();
  checkAdded<Rows<Boxed<64, 64, 3, 2>, 700, 64, 64>, int16_t>();
  checkAdded<Rows<Boxed<64, 64, 3, 2>, 700, 64, 64>, int8_t>();
  // Two products. Each has one step of k, so that stages keep w, or several, of
  // windows or with a stride; results leave through boxes or not.
  checkPair<Conv<Staged<128, 256, 4>, false, true, 3, 21, 20, 64, 256, 1, 1>,
            Conv<Staged<128, 256, 4>, false, true, 3, 21, 20, 64, 256, 1, 1>>();
  checkPair<
      Conv<Staged<192, 128, 5>, false, true, 2, 9, 14, 128, 160, 1, 1>,
      Conv<Staged<192, 128, 5>, false, true, 2, 18, 28, 256, 160, 1, 1, 2>>();
  checkPair<
      Conv<Staged<64, 64, 3, 2>, true, false, 2, 7, 7, 144, 96, 1, 1>,
      Conv<Staged<64, 64, 3, 2>, true, false, 2, 7, 7, 128, 96, 3, 3, 1, 1>>();
  checkPair<Conv<Boxed<128, 256, 4>, false, true, 5, 21, 20, 64, 256, 1, 1>,
            Conv<Boxed<128, 256, 4>, false, true, 5, 21, 20, 64, 256, 1, 1>,
            SummedBoxes>();
  checkPair<Conv<Boxed<128, 128, 4>, false, true, 4, 21, 20, 64, 128, 1, 1>,
            Conv<Boxed<128, 128, 4>, false, true, 4, 21, 20, 80, 128, 1, 1>,
            SummedBoxes>();
  // Every step of k has its stage, which keeps w.
  check<Windows<Staged<64, 64, 5>, 3, 9, 14, 64, 64, 3, 3, 1, 1>>();
  check<Rows<Staged<128, 64, 6>, 1200, 64, 304, true, true, 8, true>>();
  // Blocks that divide the steps.
  check<Rows<Staged<64, 192, 2, 1, 4, 2>, 197, 224, 1296>>();
  check<Rows<Staged<64, 128, 4, 1, 8>, 70, 160, 1296>>();
  check<Rows<Staged<192, 192, 4, 1, 2>, 200, 224, 528>>();
  // Floats.
  check<E4m3<Rows<Staged<64, 64, 3>, 140, 96, 400>>>();
  check<FloatTiled<Rows<Staged<128, 192, 4>, 140, 224, 272>, e4m3, e5m2>>();
  check<FloatTiled<Rows<Staged<64, 128, 4>, 140, 96, 272>, e5m2, e4m3>>();
  check<FloatTiled<Rows<Staged<64, 128, 4, 1, 2>, 70, 96, 400>, e5m2, e5m2>>();
  // Windows: strides, padding, dilation, channels that share steps, that fill
  // them, and that do not.
  using Small = Staged<64, 64, 4>;
  check<Windows<Small, 2, 9, 7, 16, 32, 3, 3, 1, 1>>();
  check<Windows<Small, 2, 9, 7, 32, 32, 3, 3, 1, 1>>();
  check<Windows<Small, 2, 9, 7, 64, 96, 3, 3, 1, 1>>();
  check<Windows<Staged<128, 64, 4>, 2, 11, 10, 128, 64, 3, 3, 2, 1>>();
  check<Windows<Small, 1, 11, 10, 144, 32, 3, 2, 2, 2>>();
  check<Windows<Small, 2, 8, 6, 256, 64, 1, 1, 2>>();
  check<Windows<Small, 1, 9, 9, 64, 32, 5, 5, 2, 2>>();
  check<Windows<Small, 1, 12, 9, 128, 32, 2, 2, 1, 1, 2>>();
  check<Windows<Staged<64, 128, 4, 1, 4>, 1, 7, 7, 64, 160, 3, 3, 1, 1>>();
  check<Windows<Staged<64, 64, 4, 2>, 2, 7, 7, 64, 160, 3, 3, 1, 1>>();
  check<E4m3<Windows<Small, 1, 9, 7, 128, 32, 3, 3, 1, 1>>>();
  // Rows of taps that are read as pixels, of 32, 64 and 128 bytes.
  check<Windows<Small, 2, 9, 12, 16, 32, 5, 2, 1, 0>>();
  check<Windows<Staged<128, 64, 4>, 2, 11, 12, 16, 64, 7, 4, 1, 0>>();
  check<Halved<Small, 2, 13, 12, 16, 32, 7, 4>>();
  check<Windows<Small, 1, 9, 12, 32, 32, 3, 4, 1, 0>>();
}
#endif

#ifndef FRIT_EMULATE
/// Times a product; codes are small, as those of a model are.
template <class P> static void benchOne(const char *name) {
  Buffer<uint8_t> x{P::n * P::h * P::w * P::c}, w{P::k * P::r * P::s * P::c};
  Buffer<uint8_t> zero{1};
  Buffer<typename frit::ByteSumOf<P>::Type> y{size_t(P::m) * P::k};
  fill(x, 1);
  fill(w, 2);
  bench(name, 2e-12 * double(P::m) * P::k * P::r * P::s * P::c, "TOP/s",
        [&] { launchStaged<P>(x.get(), w.get(), zero.get(), y.get()); });
}
#endif

static void benches() {
#ifndef FRIT_EMULATE
  benchOne<Rows<Staged<128, 256, 4, 2>, 8192, 8192, 8192>>(
      "wgmma bytes 8192^3, clusters of 2");
  benchOne<Up>("wgmma bytes 12288x4096x1024, sums");
  benchOne<Out>("wgmma bytes 12288x1024x4096, sums");
  benchOne<Float>("wgmma e4m3 12288x4096x1024, sums");
  benchOne<Body>("wgmma bytes 3x3 of 128 channels, sums");
  benchOne<First>("wgmma bytes 3x3 of 64 channels, sums");
  benchOne<Deep>("wgmma bytes 3x3 of 512 channels, split by 4");
#endif
}

int main(int argc, char **argv) {
  return runOnHopper(argc, argv, checks, benches);
}
#endif
