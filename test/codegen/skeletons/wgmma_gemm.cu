//===- wgmma_gemm.cu - Checks wgmma_gemm.cuh on sm_90a --------------------===//

#include "frit/tile.cuh"
#include "frit/wgmma_gemm.cuh"

/// The problem: matrices, padded rows, and types.
template <int M, int N, int K, int Batch = 1, bool TransposeA = false,
          bool TransposeB = true, class T = frit::f16, class Out = T,
          class BiasType = T, class Activation = frit::Identity, int Pad = 0,
          int PadD = 0>
struct Matrices {
  using A = T;
  using B = T;
  using D = Out;
  using Bias = BiasType;
  using Epilogue = Activation;
  static constexpr int64_t m = M, n = N, k = K, batch = Batch;
  static constexpr bool transposeA = TransposeA, transposeB = TransposeB;
  static constexpr int64_t lda = (TransposeA ? M : K) + Pad;
  static constexpr int64_t ldb = (TransposeB ? K : N) + Pad;
  static constexpr int64_t ldd = N + PadD;
  static constexpr int64_t strideA = lda * (TransposeA ? K : M);
  // A batch shares B, unless it is 3.
  static constexpr int64_t strideB =
      Batch == 3 ? ldb * (TransposeB ? N : K) : 0;
  static constexpr int64_t strideD = ldd * M;
  static constexpr bool constantB = true;
};

/// Adds a norm by moments of `Parts` parts per row, or computes moments of the
/// result.
template <class Of, frit::Norm Kind, int Parts, bool Gives> struct Normed : Of {
  static constexpr frit::Norm norm = Kind;
  static constexpr int parts = Parts;
  static constexpr int partWidth = frit::kMomentWidth;
  static constexpr float epsilon = 0.01f;
  static constexpr bool resultMoments = Gives;
};

/// Takes the moments of the result's columns.
template <class Of> struct Columns : Of {
  static constexpr bool columnMoments = true;
};

/// Sums the result's columns.
template <class Of> struct Summed : Of {
  static constexpr bool columnSums = true;
};

/// Multiplies the result's rows by those of R, which is not added.
template <class Of> struct Dotted : Of {
  static constexpr bool rowDots = true;
};

/// Stores the argument of the epilogue.
template <class Of> struct Both : Of {
  static constexpr bool storesSum = true;
};

/// The problem with its tiling.
template <class Of, int TileM, int TileN, int Stages, int Cluster = 1,
          int Split = 1, int Blocks = 1>
struct Problem : Of {
  static constexpr frit::WgmmaLayout layout = {TileM,
                                               TileN,
                                               Stages,
                                               Cluster,
                                               Split,
                                               Blocks,
                                               frit::takesColumnMoments<Of>()};
  static constexpr int threads = layout.threads();
  static constexpr int tileM = TileM, tileN = TileN, stages = Stages;
  static constexpr int cluster = Cluster, split = Split, blocks = Blocks;
  static constexpr int sms = 132; // of the H200 that tiles are scheduled for
  static constexpr int raster = layout.rasterRows(sms);
  static constexpr bool pingPong =
      layout.pingPongs(Of::m, Of::n, Of::batch, sms);
};

template <class P, bool Full>
__global__ void __launch_bounds__(P::threads, P::blocks)
    product(const typename P::Bias *bias, const typename P::D *r,
            typename P::D *d, frit::NormOperands norm,
            const __grid_constant__ frit::TensorMap mapA,
            const __grid_constant__ frit::TensorMap mapB,
            const __grid_constant__ frit::TensorMap mapD,
            const __grid_constant__ frit::TensorMap mapR) {
#ifdef FRIT_HAS_WGMMA
  constexpr bool boxes = frit::kWgmmaStoresBoxes<P>;
  constexpr bool sum = frit::storesSum<P>();
  frit::wgmmaGemm<P>(&mapA, &mapB, boxes ? &mapD : nullptr,
                     boxes && (Full || sum) ? &mapR : nullptr,
                     Full ? bias : nullptr, Full && !sum ? r : nullptr, d,
                     norm);
#endif
}

using Large = Problem<Matrices<8192, 8192, 8192>, 128, 256, 4, 2>;
using Out = Problem<Normed<Matrices<12288, 1024, 1024, 1, false, false>,
                           frit::Norm::residual, 16, true>,
                    128, 128, 6, 2>;
using Bert = Problem<Matrices<384, 1024, 4096, 1, false, true, frit::f16,
                              frit::f16, frit::f16, frit::GeluTo16Bits>,
                     64, 128, 6, 1, 8>;
using UpBoth =
    Problem<Both<Matrices<16384, 4096, 1024, 1, false, true, frit::bf16,
                          frit::bf16, frit::bf16, frit::GeluTo16Bits>>,
            128, 192, 4>;
using UpSummed =
    Problem<Summed<Matrices<16384, 4096, 1024, 1, false, false, frit::bf16>>,
            128, 192, 4>;
using OutDotted =
    Problem<Dotted<Matrices<16384, 1024, 1024, 1, false, false, frit::bf16>>,
            128, 128, 6, 2>;

#ifdef __CUDACC_RTC__
template <class P, bool Full> __device__ auto compiled = &product<P, Full>;
template __device__ auto compiled<Large, false>;
template __device__ auto compiled<Out, true>;
template __device__ auto compiled<Bert, true>;
template __device__ auto compiled<UpBoth, true>;
template __device__ auto compiled<UpSummed, true>;
template __device__ auto compiled<OutDotted, true>;
#else
#include "hopper.h"
#include "moments.h"

using namespace harness;

static double activate(frit::Identity, double x) { return x; }
static double activate(frit::Relu, double x) { return x > 0 ? x : 0; }
static double activate(frit::Gelu, double x) {
  return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}
static double activate(frit::GeluTo16Bits, double x) {
  return activate(frit::Gelu(), x);
}

template <class P> static constexpr Cut kCut = P::layout;

/// Returns whether a launch consists of one or more whole clusters on every
/// GPU, MIG instances included.
static constexpr bool launchesAnywhere() {
  for (long sms = 1; sms <= 160; ++sms)
    for (long cluster : {1, 2, 4})
      for (long split : {1, 8})
        for (long blocks : {1, 2})
          for (long m : {1, 130, 5000}) {
            Cut cut = {128, 64, 3, split > 1 ? 1 : cluster, split, blocks};
            long grid = cut.gridOf(m, 200, 3, sms);
            if (grid < 1 || grid % cut.blocksPerCluster())
              return false;
          }
  return true;
}
static_assert(launchesAnywhere());

/// The kernel with its arguments.
template <class P, bool Full> struct Launch {
  const typename P::Bias *bias;
  const typename P::D *r;
  typename P::D *d;
  frit::NormOperands norm;
  frit::TensorMap mapA, mapB, mapD = {}, mapR = {};

  Launch(const typename P::A *a, const typename P::B *b,
         const typename P::Bias *bias, const typename P::D *r, typename P::D *d,
         frit::NormOperands norm = {})
      : bias(bias), r(r), d(d), norm(norm) {
    auto map = [](auto *at, int64_t inner, int64_t outer, int64_t line,
                  int64_t stride, int boxInner, int boxOuter) {
      return tiledMap(at, {inner, outer, stride ? P::batch : 1}, {line, stride},
                      {boxInner, boxOuter, 1});
    };
    mapA = P::transposeA ? map(a, P::m, P::k, P::lda, P::strideA, 64, 64)
                         : map(a, P::k, P::m, P::lda, P::strideA, 64, P::tileM);
    mapB = P::transposeB ? map(b, P::k, P::n, P::ldb, P::strideB, 64,
                               P::tileN / P::cluster)
                         : map(b, P::n, P::k, P::ldb, P::strideB, 64, 64);
    constexpr int size = sizeof(typename P::D);
    if (P::ldd * size % 16 || P::strideD * size % 16)
      return;
    mapD = map(d, P::n, P::m, P::ldd, P::strideD, 128 / size, 16);
    if (frit::storesSum<P>())
      mapR = map(static_cast<typename P::D *>(norm.sum), P::n, P::m, P::ldd,
                 P::strideD, 128 / size, 16);
    else if (Full)
      mapR = map(r, P::n, P::m, P::ldd, P::strideD, 128 / size, 16);
  }

  void operator()() {
    constexpr Cut cut = kCut<P>;
    static_assert(cut.fits());
    launchCut(&product<P, Full>, cut, P::m, P::n, P::batch, bias, r, d, norm,
              mapA, mapB, mapD, mapR);
  }
};

template <class T> static std::vector<float> toFloats(Buffer<T> &from) {
  std::vector<float> result;
  for (size_t i = 0; i < from.size(); ++i)
    result.push_back(float(toDouble(from[i])));
  return result;
}

template <class P, bool Full = true> static void check() {
  int64_t sizeB = P::ldb * (P::transposeB ? P::n : P::k);
  Buffer<typename P::A> a(P::strideA * P::batch);
  Buffer<typename P::B> b(P::strideB ? sizeB * P::batch : sizeB);
  Buffer<typename P::D> r(P::strideD * P::batch), d(P::strideD * P::batch);
  Buffer<typename P::Bias> bias(P::n);
  a.randomize(1);
  b.randomize(2);
  bias.randomize(3);
  r.randomize(4);
  d.randomize(5);
  Norms<P> norms;
  Buffer<typename P::D> sums(frit::storesSum<P>() ? d.size() : 1);
  sums.randomize(9);
  std::vector<float> x = toFloats(a), y = toFloats(b);
  constexpr bool addsResidual =
      !frit::storesSum<P>() && !frit::takesRowDots<P>();
  std::vector<double> want, wantSums(d.size());
  for (size_t i = 0; i < d.size(); ++i)
    want.push_back(toDouble(d[i])); // padding between rows stays
  for (int64_t batch = 0; batch < P::batch; ++batch)
    for (int64_t i = 0; i < P::m; ++i)
      for (int64_t j = 0; j < P::n; ++j) {
        const float *from = &x[batch * P::strideA];
        const float *with = &y[batch * P::strideB];
        float sum = 0;
        for (int64_t k = 0; k < P::k; ++k)
          sum += from[P::transposeA ? k * P::lda + i : i * P::lda + k] *
                 with[P::transposeB ? j * P::ldb + k : k * P::ldb + j];
        int64_t at = batch * P::strideD + i * P::ldd + j;
        double value = sum;
        if (frit::kNormalises<P>)
          value = norms.apply(i, j, sum, Full ? toDouble(bias[j]) : 0,
                              Full ? toDouble(r[at]) : 0);
        else if (Full)
          value += toDouble(bias[j]) + (addsResidual ? toDouble(r[at]) : 0);
        wantSums[at] = value;
        want[at] = activate(typename P::Epilogue(), value);
      }
  // Run twice: the second run must not depend on state that the first left.
  frit::NormOperands operands = norms.operands();
  operands.sum = sums.get();
  Launch<P, Full> launch(a.get(), b.get(), bias.get(), r.get(), d.get(),
                         operands);
  launch();
  launch();
  waitForDevice();
  char name[160];
  snprintf(name, sizeof name,
           "wgmma gemm %dx%dx%dx%d, tile %dx%d, %d stages, cluster %d, split "
           "%d, %s%s%s",
           int(P::batch), int(P::m), int(P::n), int(P::k), P::tileM, P::tileN,
           P::stages, P::cluster, P::split, P::transposeA ? "T" : "N",
           P::transposeB ? "T" : "N", frit::kNormalises<P> ? ", norm" : "");
  expect(name, d, want, epsilonOf<typename P::D>());
  if (frit::storesSum<P>())
    expect(strcat(name, ", sum"), sums, wantSums, epsilonOf<typename P::D>());
  if (frit::takesMoments<P>())
    expect(strcat(name, ", moments"), norms.given, momentsOf(want), 2e-3);
  std::vector<double> stored;
  for (size_t i = 0; i < d.size(); ++i)
    stored.push_back(toDouble(d[i]));
  if (frit::takesColumnMoments<P>())
    expect(strcat(name, ", moments of columns"), norms.given,
           columnMomentsOf(stored, P::m, P::n), 1e-5);
  if (frit::sumsColumns<P>())
    expect(strcat(name, ", sums of columns"), norms.given,
           columnSumsOf(stored, P::m, P::n), 1e-5);
  std::vector<double> factors;
  for (size_t i = 0; i < r.size(); ++i)
    factors.push_back(toDouble(r[i]));
  if (frit::takesRowDots<P>())
    expect(strcat(name, ", dot products of rows"), norms.given,
           rowDotsOf(stored, factors), 1e-5);
}

#ifdef FRIT_FEW_CHECKS
/// Has ping-pong warpgroups also for few tiles.
template <class Of> struct PingPong : Of {
  static_assert(Of::layout.canPingPong());
  static constexpr bool pingPong = true;
};

/// The checks for planted.py: both operand layouts, two boxes of columns,
/// several tiles per block; a cluster, split-K and ping-pong.
static void checks() {
  using Few = Matrices<331, 264, 200, 1, false, false>;
  check<Problem<Few, 64, 128, 3>>();
  using Small = Matrices<130, 136, 200>;
  check<Problem<Small, 64, 64, 2, 2>, false>();
  check<Problem<Small, 64, 64, 2, 1, 2>, false>();
  check<PingPong<Problem<Matrices<520, 264, 136>, 128, 64, 3>>, false>();
  check<Problem<Dotted<Matrices<70, 192, 72>>, 64, 128, 2>>();
}
#else
static void checks() {
  using frit::Gelu, frit::GeluTo16Bits, frit::Identity, frit::Norm, frit::Relu;
  // Every tile, with tails in every direction.
  using Odd = Matrices<331, 520, 200>;
  check<Problem<Odd, 64, 64, 3>>();
  check<Problem<Odd, 64, 256, 3>>();
  check<Problem<Odd, 128, 128, 6>>();
  check<Problem<Odd, 128, 256, 4>>();
  check<Problem<Odd, 192, 192, 4>>();
  check<Problem<Odd, 128, 128, 3, 1, 1, 2>>();
  // Enough tiles for ping-pong.
  check<Problem<Matrices<1200, 900, 136>, 128, 64, 3>>();
  // Both layouts of either operand.
  using TN = Matrices<264, 392, 200, 3, true, true, bf16>;
  using NN = Matrices<264, 392, 200, 3, false, false, bf16>;
  using TT = Matrices<264, 392, 200, 2, true, false>;
  check<Problem<TN, 64, 192, 4>>();
  check<Problem<NN, 128, 128, 4>>();
  check<Problem<TT, 128, 192, 4>>();
  check<Problem<TT, 192, 64, 4, 1>, false>();
  // Clusters that multicast B, the last one half empty.
  check<Problem<Matrices<330, 520, 328>, 128, 256, 4, 2>>();
  check<Problem<Matrices<330, 520, 328, 3, false, false>, 64, 128, 4, 2>>();
  check<Problem<Matrices<120, 520, 328>, 128, 128, 4, 4>, false>();
  // Split-K clusters.
  using Deep =
      Matrices<197, 328, 1096, 1, false, true, f16, f16, f16, GeluTo16Bits>;
  check<Problem<Deep, 64, 192, 2, 1, 4, 2>>();
  check<Problem<Deep, 64, 128, 4, 1, 8>>();
  check<Problem<Deep, 192, 128, 3, 1, 4>>();
  // Partial sums of other blocks that overlay the stages.
  using Wide = Matrices<200, 392, 392, 1, true, false, bf16, float>;
  check<Problem<Wide, 192, 192, 4, 1, 2>, false>();
  check<Problem<
      Matrices<131, 129, 320, 2, false, true, bf16, bf16, bf16, Relu, 8, 5>, 64,
      64, 4, 1, 4>>();
  // Norms by moments, and moments of the result, with every epilogue.
  using Rows = Matrices<331, 576, 200, 1, false, false>;
  check<Problem<Normed<Rows, Norm::product, 16, true>, 128, 192, 4>, false>();
  check<Problem<Normed<Rows, Norm::residual, 32, true>, 128, 256, 3, 2>>();
  check<Problem<Normed<Rows, Norm::residual, 8, true>, 64, 128, 4, 1, 4>>();
  // Moments of columns: cooperative and ping-pong warpgroups, a last tile that
  // is half empty, a residual, few columns and odd ones.
  using High = Columns<Matrices<320, 264, 200, 1, false, true, bf16>>;
  check<Problem<High, 64, 64, 3>, false>();
  check<Problem<High, 128, 128, 4, 2>>();
  check<Problem<High, 192, 192, 3>, false>();
  check<Problem<High, 128, 128, 2, 1, 1, 2>>();
  check<Problem<
      Columns<Matrices<1216, 899, 136, 1, false, true, f16, f16, f16, Relu>>,
      128, 64, 3>>();
  check<Problem<Columns<Matrices<1216, 904, 72, 1, false, true, bf16>>, 128,
                192, 3>>();
  // Sums of columns, also with split-K and for rows that TMA does not store.
  using Low = Summed<Matrices<336, 264, 200, 1, false, true, bf16>>;
  check<Problem<Low, 64, 64, 3>, false>();
  check<Problem<Low, 128, 128, 4, 2>>();
  check<Problem<Low, 192, 192, 3>>();
  check<Problem<Low, 64, 128, 3, 1, 2>>();
  check<Problem<
      Summed<Matrices<1232, 902, 136, 1, false, true, f16, f16, f16, Relu>>,
      128, 64, 3>>();
  check<Problem<Summed<Matrices<1232, 904, 72, 1, false, true, bf16>>, 128, 192,
                3>>();
  // Dot products of rows, also with tails of rows, a last tile that is half
  // empty, split-K and several tiles per block.
  using Heads = Dotted<Matrices<331, 576, 200, 1, false, false, bf16>>;
  check<Problem<Heads, 64, 64, 3>>();
  check<Problem<Heads, 128, 128, 4, 2>>();
  check<Problem<Heads, 192, 192, 3>>();
  check<Problem<Heads, 128, 256, 3>>();
  check<Problem<Heads, 64, 128, 3, 1, 2>>();
  check<Problem<
      Dotted<Matrices<1231, 896, 136, 1, false, true, f16, f16, float, Relu>>,
      128, 64, 3>>();
  check<Problem<Dotted<Matrices<1231, 896, 72, 1, false, true, bf16>>, 128, 128,
                4, 2>>();
  // The result of GELU, together with its argument.
  using Act =
      Both<Matrices<331, 264, 200, 1, false, true, f16, f16, f16, Gelu>>;
  check<Problem<Act, 64, 64, 3>>();
  check<Problem<Act, 128, 128, 4, 2>>();
  check<Problem<Act, 128, 256, 4>, false>();
  check<Problem<Act, 64, 128, 3, 1, 2>>();
  check<Problem<Both<Matrices<1231, 904, 136, 1, false, true, bf16, bf16, bf16,
                              GeluTo16Bits>>,
                128, 192, 4>>();
  // Types, padded lines, and lines that are not a multiple of 16 bytes.
  check<Problem<Matrices<100, 203, 72, 2, false, true, f16, float, float>, 64,
                128, 3>>();
  check<Problem<
      Matrices<100, 131, 72, 3, false, true, bf16, bf16, float, Relu, 8, 2>,
      128, 128, 3>>();
  check<Problem<Matrices<100, 72, 8, 2, false, true, bf16, f16>, 64, 64, 2>>();
#ifndef FRIT_EMULATE
  check<Problem<Odd, 64, 128, 4>>();
  check<Problem<Odd, 128, 64, 2>>();
  check<Problem<Odd, 128, 192, 4>>();
  check<Problem<Odd, 192, 128, 4>>();
  // Many tiles per block: pipeline stages and output boxes wrap around.
  check<Problem<Matrices<1700, 1608, 136>, 64, 64, 3>>();
  check<Problem<Matrices<1700, 1608, 136>, 64, 64, 3>, false>();
  check<Problem<Matrices<3001, 1608, 72>, 128, 192, 3>>();
  check<Problem<Matrices<1700, 3080, 456>, 128, 192, 4>>();
  check<Problem<Matrices<1700, 3080, 200>, 128, 192, 4, 2>>();
  check<Problem<Matrices<1700, 1800, 456>, 128, 128, 5>>();
  check<Problem<Matrices<3001, 1608, 72>, 128, 64, 3>, false>();
  check<Problem<Matrices<3001, 1604, 72>, 128, 128, 4>>();
  check<Problem<Matrices<3001, 1608, 72, 1, false, true, f16, float, f16, Gelu>,
                128, 192, 3>>();
  check<Problem<Matrices<1704, 1608, 200, 2, true, false>, 128, 128, 4, 2>>();
  check<Problem<Matrices<3001, 2056, 72>, 128, 256, 4, 2>>();
  check<Problem<TN, 128, 128, 4>>();
  check<Problem<NN, 64, 256, 4>>();
  check<Problem<Deep, 64, 64, 4, 1, 2>>();
  check<Problem<Deep, 128, 128, 4, 1, 4>>();
  check<Problem<Deep, 128, 256, 3, 1, 2>, false>();
  check<Problem<Deep, 128, 128, 3, 1, 8>>();
  check<Problem<Deep, 192, 192, 4, 1, 2>>();
  check<Problem<Deep, 192, 128, 5, 1, 4>>();
  check<Problem<Deep, 128, 256, 4, 1, 2>>();
  check<Problem<Matrices<100, 200, 520, 2, false, true, f16, float, f16, Gelu>,
                64, 256, 3, 1, 8>>();
  using Tall = Matrices<3001, 1600, 136, 1, false, true, bf16>;
  check<Problem<Normed<Rows, Norm::product, 4, false>, 64, 64, 3>>();
  check<Problem<Normed<Rows, Norm::residual, 16, true>, 128, 128, 6>>();
  check<Problem<Normed<Rows, Norm::residual, 12, true>, 192, 192, 4>>();
  check<Problem<Normed<Rows, Norm::none, 4, true>, 64, 128, 4, 1, 2>>();
  check<Problem<Normed<Rows, Norm::residual, 4, true>, 128, 64, 2, 1, 2>>();
  check<Problem<Normed<Tall, Norm::product, 16, true>, 128, 192, 4, 2>>();
  check<Problem<Normed<Tall, Norm::product, 1, false>, 128, 192, 4, 2>>();
  check<Problem<Normed<Rows, Norm::residual, 1, true>, 128, 256, 3>>();
  check<Problem<Normed<Tall, Norm::residual, 16, true>, 128, 128, 5, 2>>();
  check<Problem<Normed<Matrices<130, 1000, 264, 1, false, true, f16, float,
                                float, Gelu>,
                       Norm::product, 16, false>,
                128, 192, 3>,
        false>();
  check<Problem<Matrices<100, 200, 72, 2, false, true, f16, float, f16, Gelu>,
                128, 128, 3>>();
  check<Problem<
      Matrices<1, 1000, 2048, 1, false, true, f16, f16, f16, Identity, 16, 24>,
      64, 64, 6>>();
#endif
}
#endif

#ifdef FRIT_EMULATE
static void benches() {}
#else
template <class P, bool Full = false> static void benchOne(const char *name) {
  Buffer<typename P::A> a(P::m * P::k);
  Buffer<typename P::B> b(P::k * P::n);
  Buffer<typename P::D> d(P::m * P::n);
  Buffer<typename P::Bias> bias(P::n);
  Buffer<typename P::D> r(P::m * P::n);
  Norms<P> norms;
  a.randomize(1);
  b.randomize(2);
  Launch<P, Full> launch(a.get(), b.get(), bias.get(), r.get(), d.get(),
                         norms.operands());
  bench(name, 2e-12 * P::m * P::n * P::k, "TFLOP/s", [&] { launch(); });
}

/// Times a product alone, with a residual, and with norms.
template <int K, int TileM, int TileN, int Stages, int Cluster>
static void benchNorms(const std::string &name) {
  using frit::Norm;
  using M = Matrices<12288, 1024, K, 1, false, false>;
  using Plain = Normed<M, Norm::none, 16, false>;
  using Given = Normed<M, Norm::none, 16, true>;
  using Row = Normed<M, Norm::residual, 16, false>;
  using Both = Normed<M, Norm::residual, 16, true>;
  benchOne<Problem<M, TileM, TileN, Stages, Cluster>>(name.c_str());
  benchOne<Problem<Plain, TileM, TileN, Stages, Cluster>, true>(
      (name + ", residual").c_str());
  benchOne<Problem<Given, TileM, TileN, Stages, Cluster>, true>(
      (name + ", residual, moments").c_str());
  benchOne<Problem<Row, TileM, TileN, Stages, Cluster>, true>(
      (name + ", residual normalised").c_str());
  benchOne<Problem<Both, TileM, TileN, Stages, Cluster>, true>(
      (name + ", both").c_str());
}

static void benches() {
  benchOne<Large>("wgmma gemm f16 8192^3, clusters of 2");
  benchOne<Problem<Matrices<8192, 8192, 8192>, 128, 256, 4>>(
      "wgmma gemm f16 8192^3");
  benchOne<Problem<Matrices<4096, 4096, 4096>, 128, 256, 4, 2>>(
      "wgmma gemm f16 4096^3, clusters of 2");
  using Up = Matrices<12288, 4096, 1024>;
  benchOne<Problem<Up, 128, 128, 6, 2>>("wgmma gemm f16 12288x4096x1024");
  benchOne<Problem<Matrices<12288, 4096, 1024, 1, false, true, frit::f16,
                            frit::f16, frit::f16, frit::GeluTo16Bits>,
                   128, 128, 6, 2>>("wgmma gemm f16 12288x4096x1024, gelu");
  benchNorms<1024, 128, 128, 6, 2>("wgmma gemm f16 12288x1024x1024");
  benchNorms<1024, 128, 256, 4, 1>("wgmma gemm f16 12288x1024x1024, wide");
  benchNorms<4096, 128, 256, 4, 1>("wgmma gemm f16 12288x1024x4096");
  benchNorms<4096, 128, 128, 6, 2>("wgmma gemm f16 12288x1024x4096, ping-pong");
  benchOne<Bert>("wgmma gemm f16 384x1024x4096, split by 8");
}
#endif

int main(int argc, char **argv) {
  return runOnHopper(argc, argv, checks, benches);
}
#endif
