//===- wgmma_gemm_pair.cu - Checks products with two matrices B -----------===//

#include "wgmma_gemm.h"

/// Multiplies what the first matrix gives by the SiLU of the residual.
struct GatedByOther {
  __device__ float operator()(float sum, float, float residual) const {
    return sum * frit::Silu()(residual);
  }
};

/// A problem with two matrices; tiles and launch are those of all columns.
template <class Of, int TileM, int TileN, int Stages, int Cluster = 1,
          int Split = 1>
struct Pair : Of {
  using Epilogue = GatedByOther;
  static constexpr bool isPair = true;
  static constexpr frit::WgmmaLayout layout = {TileM,   TileN, Stages,
                                               Cluster, Split, 1};
  static constexpr int threads = layout.threads();
  static constexpr int tileM = TileM, tileN = TileN, stages = Stages;
  static constexpr int cluster = Cluster, split = Split, blocks = 1;
  static constexpr int sms = 132;
  static constexpr int raster = layout.rasterRows(sms);
  static constexpr bool pingPong = layout.pingPongs(Of::m, 2 * Of::n, 1, sms);
};

using GateUp = Pair<Matrices<512, 8192, 2048>, 128, 256, 4>;

template <class P>
__global__ void __launch_bounds__(P::threads, 1)
    pair(const typename P::A *a, const typename P::B *b,
         const typename P::B *paired, typename P::D *d,
         const __grid_constant__ frit::TensorMap mapA,
         const __grid_constant__ frit::TensorMap mapB,
         const __grid_constant__ frit::TensorMap mapPaired,
         const __grid_constant__ frit::TensorMap mapD) {
#ifdef FRIT_HAS_WGMMA
  frit::wgmmaGemmPair<P>(&mapA, &mapB, &mapPaired, &mapD, nullptr, nullptr,
                         nullptr, d);
#else
  frit::gemmPairFloor<P>(a, b, paired, nullptr, nullptr, d);
#endif
}

#ifdef __CUDACC_RTC__
template <class P> __device__ auto compiled = &pair<P>;
template __device__ auto compiled<GateUp>;
#else
using namespace harness;

template <class P> static void checkPair() {
  Buffer<typename P::A> a(P::lda * (P::transposeA ? P::k : P::m));
  const int64_t size = P::ldb * (P::transposeB ? P::n : P::k);
  Buffer<typename P::B> b(size), paired(size);
  Buffer<typename P::D> d(P::m * P::ldd);
  a.randomize(1);
  b.randomize(2);
  paired.randomize(3);
  d.randomize(4);
  const std::vector<float> x = elementsOf<float>(a),
                           first = elementsOf<float>(b),
                           other = elementsOf<float>(paired);
  std::vector<double> want = elementsOf<double>(d); // padding stays
  for (int64_t i = 0; i < P::m; ++i)
    for (int64_t j = 0; j < P::n; ++j) {
      float sums[2] = {};
      for (int64_t k = 0; k < P::k; ++k) {
        float of = x[P::transposeA ? k * P::lda + i : i * P::lda + k];
        int64_t at = P::transposeB ? j * P::ldb + k : k * P::ldb + j;
        sums[0] += of * first[at];
        sums[1] += of * other[at];
      }
      want[i * P::ldd + j] =
          sums[0] *
          activate(frit::Silu(), frit::roundTo<typename P::D>(sums[1]));
    }
  auto map = [](auto *at, int64_t inner, int64_t outer, int64_t line,
                int boxOuter) {
    return tiledMap(at, {inner, outer, 1}, {line, 0}, {64, boxOuter, 1});
  };
  const int64_t inner = P::transposeB ? P::k : P::n,
                outer = P::transposeB ? P::n : P::k;
  frit::TensorMap mapA = P::transposeA
                             ? map(a.get(), P::m, P::k, P::lda, 64)
                             : map(a.get(), P::k, P::m, P::lda, P::tileM),
                  mapB = map(b.get(), inner, outer, P::ldb, 64),
                  mapPaired = map(paired.get(), inner, outer, P::ldb, 64),
                  mapD = map(d.get(), P::n, P::m, P::ldd, 16);
  constexpr frit::WgmmaLayout layout = P::layout;
  static_assert(layout.fits());
  // Run twice: the second run must not depend on state that the first left.
  const typename P::A *at = a.get();
  const typename P::B *firstAt = b.get(), *otherAt = paired.get();
  for (int run = 0; run < 2; ++run)
    launchClusters(
        &pair<P>, int(layout.gridOf(P::m, 2 * P::n, 1, processorCount())),
        layout.threads(), layout.blocksPerCluster(), layout.sharedBytes(), at,
        firstAt, otherAt, d.get(), mapA, mapB, mapPaired, mapD);
  waitForDevice();
  char name[160];
  snprintf(name, sizeof name,
           "wgmma gemm %dx2x%dx%d, tile %dx%d, %d stages, cluster %d, split "
           "%d, %s%s",
           int(P::m), int(P::n), int(P::k), P::tileM, P::tileN, P::stages,
           P::cluster, P::split, P::transposeA ? "T" : "N",
           P::transposeB ? "T" : "N");
  expect(name, d, want, epsilonOf<typename P::D>());
}

static void checks() {
  // Both layouts of the matrices; a last box that is half empty, or that one of
  // the boxes of a tile lies beyond; several tiles of a block.
  checkPair<Pair<Matrices<131, 136, 200>, 64, 128, 2>>();
  checkPair<Pair<Matrices<131, 200, 72, 1, false, false>, 128, 256, 3>>();
#ifdef FRIT_HAS_WGMMA
  checkPair<Pair<Matrices<331, 72, 136>, 64, 128, 3, 2>>();
#endif
#ifndef FRIT_FEW_CHECKS
  checkPair<
      Pair<Matrices<328, 264, 200, 1, true, true, frit::bf16>, 128, 256, 4>>();
  checkPair<Pair<Matrices<1231, 520, 136>, 128, 128, 3>>(); // ping-pong
  checkPair<Pair<Matrices<70, 64, 72, 1, false, true, frit::bf16, frit::bf16,
                          frit::bf16, frit::Identity, 8, 8>,
                 64, 128, 2>>();
#ifdef FRIT_HAS_WGMMA
  // The emulator gives blocks of a cluster one array of static shared memory,
  // which the other code has.
  checkPair<Pair<Matrices<331, 264, 200, 1, false, false>, 64, 256, 3, 2>>();
  checkPair<Pair<Matrices<331, 72, 136>, 192, 128, 3, 2>>();
  checkPair<Pair<Matrices<130, 136, 520>, 64, 128, 2, 1, 4>>();
  checkPair<
      Pair<Matrices<130, 200, 520, 1, false, false>, 128, 256, 3, 2, 2>>();
#endif
#endif
}

int main(int argc, char **argv) {
  return runOnHopper(argc, argv, checks, [] {});
}
#endif
