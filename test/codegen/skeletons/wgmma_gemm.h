//===- wgmma_gemm.h - Shared code of the check of wgmma_gemm.cuh ----------===//
//
// Problems for wgmma_gemm.cuh, and the check of a kernel against sums in f64.
// Kernels and problems are device code; `harness` is host code.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_WGMMA_GEMM_H
#define FRIT_TEST_CODEGEN_SKELETONS_WGMMA_GEMM_H

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
template <bool Gives> struct Given {
  using Reduce = frit::RowMoments;
};
template <> struct Given<false> {
  using Reduce = frit::NoReduce;
};
template <class Of, class Kind, int Parts, bool Gives> struct Normed : Of {
  using Norm = Kind;
  using Reduce = typename Given<Gives>::Reduce;
  static constexpr int parts = Parts;
  static constexpr int partWidth = frit::kMomentWidth;
  static constexpr float epsilon = 0.01f;
};

/// Takes the moments of the result's columns.
template <class Of> struct Columns : Of {
  using Reduce = frit::ColumnMoments;
};

/// Sums the result's columns.
template <class Of> struct Summed : Of {
  using Reduce = frit::ColumnSums;
};

/// Multiplies the result's rows by those of R, which is not added.
template <class Of> struct Dotted : Of {
  using Reduce = frit::RowDots;
};

/// Gates the sums' columns.
template <class Of, class Kind = frit::Silu> struct Gated : Of {
  using Gate = Kind;
};

/// Stores the argument of the epilogue, or its slope there.
template <class Of, class What = frit::StoredSum> struct Both : Of {
  using Second = What;
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
                                               frit::ReduceOf<Of>::kReadsBoxes};
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
            typename P::D *d, frit::EndOperands norm,
            const __grid_constant__ frit::TensorMap mapA,
            const __grid_constant__ frit::TensorMap mapB,
            const __grid_constant__ frit::TensorMap mapD,
            const __grid_constant__ frit::TensorMap mapR) {
#ifdef FRIT_HAS_WGMMA
  constexpr bool boxes = frit::kWgmmaStoresBoxes<P>;
  constexpr bool second = frit::kStoresSecond<P>;
  constexpr bool adds = Full && !second && !frit::kGates<P>;
  frit::wgmmaGemm<P>(&mapA, &mapB, boxes ? &mapD : nullptr,
                     boxes && (adds || second) ? &mapR : nullptr,
                     Full ? bias : nullptr, adds ? r : nullptr, d, norm);
#endif
}

#ifndef __CUDACC_RTC__
#include "activations.h"
#include "hopper.h"
#include "moments.h"

namespace harness {

/// Returns what P stores beside an element with the epilogue's argument `x`.
template <class P> double besideOf(double x) {
  if (frit::kSame<frit::SecondOf<P>, frit::StoredSum>)
    return x;
  constexpr double step = 1e-4;
  typename P::Epilogue epilogue;
  return (activate(epilogue, x + step) - activate(epilogue, x - step)) /
         (2 * step);
}

template <class P> inline constexpr Cut kCut = P::layout;

/// Returns whether a launch consists of one or more whole clusters on every
/// GPU, MIG instances included.
constexpr bool launchesAnywhere() {
  for (long sms = 1; sms <= 160; ++sms)
    for (long cluster : {1, 2, 4})
      for (long split : {1, 8})
        for (long blocks : {1, 2})
          for (long m : {1, 130, 5000}) {
            Cut cut = {128, 64, 3, cluster, split, blocks};
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
  frit::EndOperands norm;
  frit::TensorMap mapA, mapB, mapD = {}, mapR = {};

  Launch(const typename P::A *a, const typename P::B *b,
         const typename P::Bias *bias, const typename P::D *r, typename P::D *d,
         frit::EndOperands norm = {})
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
    constexpr int per = frit::kSumsPerResult<P>;
    mapD = map(d, P::n / per, P::m, P::ldd / per, P::strideD / per, 128 / size,
               16);
    if (frit::kStoresSecond<P>)
      mapR = map(static_cast<typename P::D *>(norm.second), P::n, P::m, P::ldd,
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

template <class P, bool Full = true> void check() {
  int64_t sizeB = P::ldb * (P::transposeB ? P::n : P::k);
  Buffer<typename P::A> a(P::strideA * P::batch);
  Buffer<typename P::B> b(P::strideB ? sizeB * P::batch : sizeB);
  constexpr int per = frit::kSumsPerResult<P>;
  Buffer<typename P::D> r(P::strideD * P::batch);
  Buffer<typename P::D> d(P::strideD * P::batch / per);
  Buffer<typename P::Bias> bias(P::n);
  a.randomize(1);
  b.randomize(2);
  bias.randomize(3);
  r.randomize(4);
  d.randomize(5);
  Norms<P> norms;
  Buffer<typename P::D> seconds(frit::kStoresSecond<P> ? d.size() : 1);
  seconds.randomize(9);
  std::vector<float> x = elementsOf<float>(a), y = elementsOf<float>(b);
  constexpr bool addsResidual = !frit::kStoresSecond<P> && !frit::kGates<P> &&
                                !frit::ReduceOf<P>::kReadsFactor;
  // Padding between rows stays.
  std::vector<double> want = elementsOf<double>(d), wantSeconds(d.size());
  double left = 0; // the column before, its value if that is gated
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
        if (frit::kNormalizes<P>)
          value = norms.apply(i, j, sum, Full ? toDouble(bias[j]) : 0,
                              Full && addsResidual ? toDouble(r[at]) : 0);
        else if (Full)
          value += toDouble(bias[j]) + (addsResidual ? toDouble(r[at]) : 0);
        if (frit::kStoresSecond<P>)
          wantSeconds[at] = besideOf<P>(value);
        if constexpr (frit::kGates<P>) {
          if (j % 2)
            want[i * (P::ldd / 2) + frit::gatedColumn(int(j - 1))] =
                left * activate(typename P::Gate(), value);
          left = value;
        } else {
          want[at] = activate(typename P::Epilogue(), value);
        }
      }
  // Run twice: the second run must not depend on state that the first left.
  frit::EndOperands operands = norms.operands();
  operands.second = seconds.get();
  Launch<P, Full> launch(a.get(), b.get(), bias.get(), r.get(), d.get(),
                         operands);
  launch();
  launch();
  waitForDevice();
  char name[160];
  snprintf(name, sizeof name,
           "wgmma gemm %dx%dx%dx%d, tile %dx%d, %d stages, cluster %d, split "
           "%d, %s%s%s%s",
           int(P::batch), int(P::m), int(P::n), int(P::k), P::tileM, P::tileN,
           P::stages, P::cluster, P::split, P::transposeA ? "T" : "N",
           P::transposeB ? "T" : "N", frit::kNormalizes<P> ? ", norm" : "",
           frit::kGates<P> ? ", gates" : "");
  expect(name, d, want, epsilonOf<typename P::D>());
  if (frit::kStoresSecond<P>)
    expect(strcat(name, ", beside it"), seconds, wantSeconds,
           epsilonOf<typename P::D>());
  if (reduces<P, frit::RowMoments>)
    expect(strcat(name, ", moments"), norms.given, momentsOf(want), 2e-3);
  std::vector<double> stored = elementsOf<double>(d);
  if (reduces<P, frit::ColumnMoments>)
    expect(strcat(name, ", moments of columns"), norms.given,
           columnMomentsOf(stored, P::m, P::n), 1e-5);
  if (reduces<P, frit::ColumnSums>)
    expect(strcat(name, ", sums of columns"), norms.given,
           columnSumsOf(stored, P::m, P::n), 1e-5);
  if (reduces<P, frit::RowDots>)
    expect(strcat(name, ", dot products of rows"), norms.given,
           rowDotsOf(stored, elementsOf<double>(r)), 1e-5);
}

} // namespace harness

#endif

#endif // FRIT_TEST_CODEGEN_SKELETONS_WGMMA_GEMM_H
