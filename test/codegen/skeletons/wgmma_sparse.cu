//===- wgmma_sparse.cu - Checks wgmma_sparse on sm_90a --------------------===//

#include "frit/wgmma_sparse.cuh"

/// Leading dimensions exceed the rows by `Pad` elements.
template <class T, int M, int N, int K, int TileN, int Stages, int Pad = 0,
          class Activation = frit::Identity>
struct Problem {
  using A = T;
  using D = T;
  using Bias = T;
  using Epilogue = Activation;
  static constexpr int64_t m = M, n = N, k = K, lda = K + Pad, ldd = N + Pad;
  static constexpr int tileN = TileN, stages = Stages;
  static constexpr bool early = true;
};
/// Has codes of 8 bits.
template <class P, frit::Code Format, class Factor = frit::f16>
struct Coded : P {
  using Scale = Factor;
  static constexpr frit::Code code = Format;
};

template <class P>
__global__ void __launch_bounds__(frit::WgmmaSparseLayout::threads)
    product(const __grid_constant__ frit::TensorMap mapA,
            const typename P::A *a, const void *values, const void *places,
            const typename frit::SparseScale<P>::Type *scales,
            const typename P::Bias *bias, const typename P::D *r,
            typename P::D *d) {
#ifdef FRIT_HAS_WGMMA
  frit::wgmmaSparse<P>(&mapA, {values, places, scales}, bias, r, d);
#else
  frit::sparseFloor<P>(a, {values, places, scales}, bias, r, d);
#endif
}

// Also for NVRTC.
using frit::Code;
using Up = Problem<frit::bf16, 2048, 14336, 4096, 256, 6>;
using Narrow = Problem<frit::f16, 128, 14336, 4096, 128, 8>;
using UpBytes = Coded<Up, Code::int8>;
#if FRIT_EMULATE >= 80 || __CUDA_ARCH__ >= 800
#define PRODUCT(P)                                                             \
  template __global__ void product<P>(                                         \
      const __grid_constant__ frit::TensorMap, const P::A *, const void *,     \
      const void *, const frit::SparseScale<P>::Type *, const P::Bias *,       \
      const P::D *, P::D *)
PRODUCT(Up);
PRODUCT(Narrow);
PRODUCT(UpBytes);
#endif

#ifndef __CUDACC_RTC__
#include "activations.h"
#include "hopper.h"
#include "sparse_matrix.h"

using namespace harness;

template <class P>
static void launchProduct(Buffer<typename P::A> &a, const void *values,
                          const void *places,
                          const typename frit::SparseScale<P>::Type *scales,
                          const typename P::Bias *bias, const typename P::D *r,
                          typename P::D *d) {
  constexpr frit::WgmmaSparseLayout plan = {P::tileN, P::stages};
  const typename P::A *rows = a.get();
  const auto mapA = tiledMap(rows, {P::k, P::m}, {P::lda}, {64, P::tileN});
  launchClusters(product<P>, int(plan.gridOf(P::m, P::n)), int(plan.threads), 1,
                 int(plan.sharedBytes()), mapA, rows, values, places, scales,
                 bias, r, d);
}

template <class P> static void check(bool isFull) {
  SparseBuffers<P> b;
  Buffer<typename P::A> a(P::lda * P::m);
  Buffer<typename P::D> r(P::ldd * P::m), d(P::ldd * P::m);
  Buffer<typename P::Bias> bias(P::n);
  a.randomize(1);
  bias.randomize(3);
  r.randomize(4);
  d.randomize(5);
  // Padding between rows stays.
  std::vector<double> want = elementsOf<double>(d);
  std::vector<float> x = elementsOf<float>(a);
  std::vector<float> w(b.numbers.begin(), b.numbers.end());
  for (int64_t i = 0; i < P::m; ++i)
    for (int64_t j = 0; j < P::n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < P::k; ++k)
        sum += x[i * P::lda + k] * w[j * P::k + k];
      int64_t at = i * P::ldd + j;
      if (isFull)
        sum += toDouble(bias[j]) + toDouble(r[at]);
      want[at] = activate(typename P::Epilogue(), sum);
    }
  launchProduct<P>(a, b.values.get(), b.places.get(), b.scales.get(),
                   isFull ? bias.get() : nullptr, isFull ? r.get() : nullptr,
                   d.get());
  waitForDevice();
  std::string name = std::to_string(P::m) + "x" + std::to_string(P::n) + "x" +
                     std::to_string(P::k);
  expect("wgmma_sparse " + name, d, want, epsilonOf<typename P::D>());
}

static void checks() {
  check<Problem<bf16, 256, 128, 256, 256, 2>>(true);
  check<Problem<f16, 300, 256, 384, 256, 3, 8>>(false);
  check<Problem<bf16, 100, 384, 128, 128, 4, 0, frit::Silu>>(true);
  check<Problem<f16, 130, 128, 640, 128, 3>>(true);
  check<Coded<Problem<bf16, 140, 128, 384, 128, 2>, Code::int8>>(true);
  check<Coded<Problem<f16, 64, 256, 256, 128, 2>, Code::int8, bf16>>(false);
  check<Coded<Problem<bf16, 70, 128, 256, 128, 3>, Code::e4m3>>(true);
}

#ifndef FRIT_EMULATE
template <class P> static void benchOne(const char *name) {
  using Format = frit::SparseFormat<P>;
  constexpr int64_t tiles = P::n / 16 * (P::k / Format::depth);
  Buffer<typename P::A> a(P::lda * P::m);
  Buffer<uint8_t> places(tiles * Format::placeBytes);
  Buffer<uint16_t> values(tiles * Format::valueBytes / 2);
  Buffer<typename frit::SparseScale<P>::Type> scales(P::n);
  Buffer<typename P::D> d(P::ldd * P::m);
  a.randomize(1);
  scales.randomize(2);
  // Numbers as those of a, whose bits decide how much power products take.
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = Format::hasCodes ? uint16_t(i * 2654435761u >> 16)
                                 : a[i % a.size()].bits;
  const uint8_t groups[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
  for (size_t i = 0; i < places.size(); ++i)
    places[i] =
        uint8_t(groups[i * 2654435761u % 6] | groups[i * 40503u / 7 % 6] << 4);
  values.upload();
  places.upload();
  typename P::A *none = nullptr;
  bench(name, 2e-12 * double(P::m) * P::n * P::k, "dense TFLOP/s", [&] {
    launchProduct<P>(a, values.get(), places.get(), scales.get(), none, none,
                     d.get());
  });
}
#endif

static void benches() {
#ifndef FRIT_EMULATE
  benchOne<Problem<bf16, 128, 14336, 4096, 128, 8>>("2:4 128x14336x4096 128");
  benchOne<Problem<bf16, 256, 14336, 4096, 128, 8>>("2:4 256x14336x4096 128");
  benchOne<Problem<bf16, 256, 14336, 4096, 256, 6>>("2:4 256x14336x4096 256");
  benchOne<Problem<bf16, 512, 14336, 4096, 256, 6>>("2:4 512x14336x4096 256");
  benchOne<Problem<bf16, 1024, 14336, 4096, 256, 6>>("2:4 1024x14336x4096 256");
  benchOne<Problem<bf16, 2048, 14336, 4096, 256, 6>>("2:4 2048x14336x4096 256");
  benchOne<Problem<bf16, 2048, 14336, 4096, 128, 8>>("2:4 2048x14336x4096 128");
  benchOne<Problem<bf16, 2048, 4096, 14336, 256, 6>>("2:4 2048x4096x14336 256");
  benchOne<Problem<bf16, 8192, 8192, 8192, 256, 6>>("2:4 8192x8192x8192 256");
  benchOne<Coded<Problem<bf16, 2048, 14336, 4096, 256, 6>, Code::int8>>(
      "2:4 int8 2048x14336x4096 256");
  benchOne<Coded<Problem<bf16, 256, 14336, 4096, 256, 6>, Code::int8>>(
      "2:4 int8 256x14336x4096 256");
#endif
}

int main(int argc, char **argv) {
  return runOnHopper(argc, argv, checks, benches);
}
#endif
