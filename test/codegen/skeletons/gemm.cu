//===- gemm.cu - Checks gemm.cuh ------------------------------------------===//

#include "frit/gemm.cuh"

/// Leading dimensions exceed the rows by `Pad` elements.
template <class T, int M, int N, int K, int Batch, bool TransposeA,
          bool TransposeB, int Tile, int Pad = 0, class Out = T,
          class Activation = frit::Identity>
struct Problem {
  using A = T;
  using B = T;
  using D = Out;
  using Bias = Out;
  using Epilogue = Activation;
  static constexpr int64_t m = M, n = N, k = K, batch = Batch;
  static constexpr bool transposeA = TransposeA, transposeB = TransposeB;
  static constexpr int64_t lda = (TransposeA ? M : K) + Pad;
  static constexpr int64_t ldb = (TransposeB ? K : N) + Pad;
  static constexpr int64_t ldd = N + Pad;
  static constexpr int64_t strideA = lda * (TransposeA ? K : M);
  static constexpr int64_t strideB =
      Batch == 1 ? 0 : ldb * (TransposeB ? N : K);
  static constexpr int64_t strideD = ldd * M;
  static constexpr int tileM = Tile, tileN = Tile;
};

template <class P, int Blocks = 1>
__global__ void __launch_bounds__(256, Blocks)
    plain(const typename P::A *a, const typename P::B *b, typename P::D *d) {
  frit::gemm<P>(a, b, nullptr, nullptr, d);
}
template <class P>
__global__ void __launch_bounds__(256)
    full(const typename P::A *a, const typename P::B *b,
         const typename P::Bias *bias, const typename P::D *r,
         typename P::D *d) {
  frit::gemm<P>(a, b, bias, r, d);
}

// Sizes of the benchmark, also for NVRTC.
using Large = Problem<frit::f16, 8192, 8192, 8192, 1, false, false, 128>;
using LargeNT = Problem<frit::bf16, 8192, 8192, 8192, 1, false, true, 128>;
using LargeF32 = Problem<float, 4096, 4096, 4096, 1, false, false, 128>;
using Bert = Problem<frit::f16, 384, 4096, 1024, 1, false, false, 64, 0,
                     frit::f16, frit::GeluTo16Bits>;
using Classify = Problem<float, 1, 1000, 2048, 1, false, true, 64>;

template __global__ void plain<Large>(const frit::f16 *, const frit::f16 *,
                                      frit::f16 *);
template __global__ void plain<LargeNT>(const frit::bf16 *, const frit::bf16 *,
                                        frit::bf16 *);
template __global__ void plain<LargeF32>(const float *, const float *, float *);
template __global__ void full<Bert>(const frit::f16 *, const frit::f16 *,
                                    const frit::f16 *, const frit::f16 *,
                                    frit::f16 *);
template __global__ void plain<Classify>(const float *, const float *, float *);

#ifndef __CUDACC_RTC__
#include "activations.h"
#include "harness.h"

using namespace harness;

template <class P> static dim3 gridOf() {
  return dim3((P::n + P::tileN - 1) / P::tileN,
              (P::m + P::tileM - 1) / P::tileM, P::batch);
}

template <class P> static void check(bool isFull, dim3 grid = gridOf<P>()) {
  Buffer<typename P::A> a(P::strideA * P::batch);
  Buffer<typename P::B> b(P::ldb * (P::transposeB ? P::n : P::k) * P::batch);
  Buffer<typename P::D> r(P::strideD * P::batch), d(P::strideD * P::batch);
  Buffer<typename P::Bias> bias(P::n);
  a.randomize(1);
  b.randomize(2);
  bias.randomize(3);
  r.randomize(4);
  d.randomize(5);
  // Padding between rows stays.
  std::vector<double> want = elementsOf<double>(d);
  for (int64_t batch = 0; batch < P::batch; ++batch)
    for (int64_t i = 0; i < P::m; ++i)
      for (int64_t j = 0; j < P::n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < P::k; ++k)
          sum +=
              toDouble(a[batch * P::strideA +
                         (P::transposeA ? k * P::lda + i : i * P::lda + k)]) *
              toDouble(b[batch * P::strideB +
                         (P::transposeB ? j * P::ldb + k : k * P::ldb + j)]);
        int64_t at = batch * P::strideD + i * P::ldd + j;
        if (isFull)
          sum += toDouble(bias[j]) + toDouble(r[at]);
        want[at] = activate(typename P::Epilogue(), sum);
      }
  if (isFull)
    launch(full<P>, grid, 256, a.get(), b.get(), bias.get(), r.get(), d.get());
  else
    launch(plain<P>, grid, 256, a.get(), b.get(), d.get());
  expect("gemm " + std::to_string(P::m) + "x" + std::to_string(P::n) + "x" +
             std::to_string(P::k),
         d, want, epsilonOf<typename P::D>());
}

static void checks() {
  // CUDA cores: primes, transposes, batches, padding, types.
  check<Problem<float, 37, 29, 53, 1, false, false, 64>>(false);
  check<Problem<float, 67, 71, 19, 2, true, false, 64, 3>>(false);
  check<Problem<float, 131, 5, 7, 1, false, true, 128>>(true);
  check<Problem<double, 13, 70, 33, 2, true, true, 64>>(true);
  check<Problem<f16, 33, 65, 47, 1, false, false, 64, 0, f16, frit::Relu>>(
      true);
  check<Problem<int8_t, 17, 19, 23, 1, false, true, 64, 0, int32_t>>(false);
  check<Problem<int64_t, 5, 6, 7, 1, false, false, 64>>(false);
  // The tensor cores: every pair of transposes, tails in every direction.
  check<Problem<f16, 72, 88, 104, 1, false, false, 64>>(true);
  check<Problem<f16, 40, 136, 64, 2, false, true, 64>>(false);
  check<Problem<bf16, 88, 72, 40, 1, true, false, 64>>(false);
  check<Problem<bf16, 136, 56, 96, 1, true, true, 64, 8, float>>(true);
  using frit::GeluTanh, frit::GeluTo16Bits, frit::Silu;
  check<
      Problem<f16, 136, 264, 168, 1, false, false, 128, 0, f16, GeluTo16Bits>>(
      true);
  check<Problem<f16, 72, 88, 104, 1, false, false, 64, 0, f16, GeluTanh>>(true);
  check<Problem<bf16, 72, 88, 104, 1, false, false, 64, 0, bf16, Silu>>(true);
  check<Problem<bf16, 131, 101, 35, 1, false, true, 128, 5>>(true);
  // A grid smaller than the tiles.
  check<Problem<f16, 200, 136, 72, 3, false, true, 64>>(true, dim3(1, 2, 2));
}

#ifndef FRIT_EMULATE
template <class P, int Blocks = 1> static void benchOne(const char *name) {
  Buffer<typename P::A> a(P::m * P::k);
  Buffer<typename P::B> b(P::k * P::n);
  Buffer<typename P::D> d(P::m * P::n);
  a.randomize(1);
  b.randomize(2);
  bench(name, 2e-12 * P::m * P::n * P::k, "TFLOP/s",
        [&] { launch(plain<P>, gridOf<P>(), 256, a.get(), b.get(), d.get()); });
}
#endif

static void benches() {
#ifndef FRIT_EMULATE
  benchOne<Large>("gemm f16 8192^3");
  benchOne<Large, 2>("gemm f16 8192^3, two blocks at a time");
  benchOne<LargeNT>("gemm bf16 8192^3, B transposed");
  benchOne<Problem<f16, 8192, 8192, 8192, 1, false, false, 64>>(
      "gemm f16 8192^3, tiles of 64");
  benchOne<LargeF32>("gemm f32 4096^3");
  benchOne<Bert>("gemm f16 384x4096x1024, gelu");
  benchOne<Problem<f16, 12288, 4096, 1024, 1, false, false, 128>>(
      "gemm f16 12288x4096x1024");
  benchOne<Classify>("gemm f32 1x1000x2048");
#endif
}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
