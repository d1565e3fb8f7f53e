//===- gemv.cu - Checks gemv.cuh and gemv_turns.cuh -----------------------===//

#include "frit/gemv_turns.cuh"

/// Leading dimensions exceed the rows by `Pad` elements.
template <class T, int M, int N, int K, bool TransposeB, int Columns,
          int Split = 1, int Threads = 256, int Pad = 0, class Out = T,
          class Activation = frit::Identity>
struct Problem {
  using A = T;
  using B = T;
  using D = Out;
  using Bias = Out;
  using Epilogue = Activation;
  static constexpr int64_t m = M, n = N, k = K, batch = 1;
  static constexpr bool transposeA = false, transposeB = TransposeB;
  static constexpr int64_t lda = K + Pad, ldb = (TransposeB ? K : N) + Pad;
  static constexpr int64_t ldd = N + Pad;
  static constexpr int64_t strideA = 0, strideB = 0, strideD = 0;
  static constexpr int columns = Columns, split = Split, threads = Threads;
  static constexpr bool early = true;
};

/// Whose columns few blocks compute in turns.
template <class P> struct Turns : P {
  static constexpr bool inTurns = true;
};

/// Likewise, by rings of stages.
template <class P, int Stages> struct Rings : P {
  static constexpr int stages = Stages, sharedBytes = 1 << 18;
};

template <class P>
__device__ void product(const typename P::A *a, const typename P::B *b,
                        const typename P::Bias *bias, const typename P::D *r,
                        typename P::D *d) {
  if constexpr (requires { P::stages; })
    frit::gemvTurns<P>(a, b, bias, r, d);
  else
    frit::gemv<P>(a, b, bias, r, d);
}

template <class P>
__global__ void __launch_bounds__(P::threads)
    plain(const typename P::A *a, const typename P::B *b, typename P::D *d) {
  product<P>(a, b, nullptr, nullptr, d);
}
template <class P>
__global__ void __launch_bounds__(P::threads)
    full(const typename P::A *a, const typename P::B *b,
         const typename P::Bias *bias, const typename P::D *r,
         typename P::D *d) {
  product<P>(a, b, bias, r, d);
}

// Products of a language model of 1 and of 8 billion weights, for one and for
// four sequences; also for NVRTC.
using Output = Problem<frit::bf16, 1, 2048, 2048, true, 4, 8>;
using Up = Problem<frit::bf16, 1, 8192, 2048, true, 32>;
using Down4 = Problem<frit::bf16, 4, 2048, 8192, true, 4, 8>;
using Head = Problem<frit::bf16, 1, 128256, 2048, true, 32>;
using Large = Problem<frit::bf16, 1, 14336, 4096, true, 32>;
using Single = Problem<float, 2, 2048, 2048, true, 4, 8>;
using LargePlain = Problem<frit::bf16, 1, 14336, 4096, false, 64>;
using Modulations =
    Rings<Problem<frit::f16, 2, 27648, 1152, true, 256, 1, 512>, 6>;
using OutputPlain = Problem<frit::bf16, 1, 2048, 2048, false, 16>;

template __global__ void full<Output>(const frit::bf16 *, const frit::bf16 *,
                                      const frit::bf16 *, const frit::bf16 *,
                                      frit::bf16 *);
template __global__ void full<Modulations>(const frit::f16 *, const frit::f16 *,
                                           const frit::f16 *, const frit::f16 *,
                                           frit::f16 *);
template __global__ void plain<Single>(const float *, const float *, float *);
template __global__ void plain<Down4>(const frit::bf16 *, const frit::bf16 *,
                                      frit::bf16 *);
template __global__ void plain<OutputPlain>(const frit::bf16 *,
                                            const frit::bf16 *, frit::bf16 *);

#ifndef __CUDACC_RTC__
#include "activations.h"
#include "harness.h"

using namespace harness;

template <class P> static dim3 gridOf() {
  if constexpr (requires { P::inTurns; })
    return dim3(22);
  if constexpr (requires { P::stages; })
    return dim3(12);
  return dim3((P::n + P::columns - 1) / P::columns);
}

template <class P> static int sharedOf() {
  if constexpr (requires { P::stages; })
    return frit::gemvTurnsShared<P>();
  return 0;
}

template <class P> static void check(bool isFull) {
  Buffer<typename P::A> a(P::lda * P::m);
  Buffer<typename P::B> b(P::ldb * (P::transposeB ? P::n : P::k));
  Buffer<typename P::D> r(P::ldd * P::m), d(P::ldd * P::m);
  Buffer<typename P::Bias> bias(P::n);
  a.randomize(1);
  b.randomize(2);
  bias.randomize(3);
  r.randomize(4);
  d.randomize(5);
  // Padding between rows stays.
  std::vector<double> want = elementsOf<double>(d);
  for (int64_t i = 0; i < P::m; ++i)
    for (int64_t j = 0; j < P::n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < P::k; ++k)
        sum += toDouble(a[i * P::lda + k]) *
               toDouble(b[P::transposeB ? j * P::ldb + k : k * P::ldb + j]);
      int64_t at = i * P::ldd + j;
      if (isFull)
        sum += toDouble(bias[j]) + toDouble(r[at]);
      want[at] = activate(typename P::Epilogue(), sum);
    }
  if (isFull)
    launchShared(full<P>, gridOf<P>(), P::threads, sharedOf<P>(), a.get(),
                 b.get(), bias.get(), r.get(), d.get());
  else
    launchShared(plain<P>, gridOf<P>(), P::threads, sharedOf<P>(), a.get(),
                 b.get(), d.get());
  expect("gemv " + std::to_string(P::m) + "x" + std::to_string(P::n) + "x" +
             std::to_string(P::k),
         d, want, epsilonOf<typename P::D>());
}

static void checks() {
  // Along k: whole and partial steps, columns and parts of k; numbers of rows
  // that need other numbers of lanes.
  check<Problem<bf16, 1, 64, 512, true, 32>>(true);
  check<Problem<f16, 1, 37, 1032, true, 4, 8>>(false);
  check<Problem<f16, 3, 50, 264, true, 16, 2, 256, 8, f16, frit::Silu>>(true);
  check<Problem<float, 2, 19, 132, true, 16, 4, 128, 4>>(true);
  check<Problem<float, 1, 5, 4, true, 1, 8>>(false);
  check<Problem<float, 5, 33, 260, true, 8, 4>>(true);
  check<Problem<float, 8, 40, 516, true, 4, 8>>(false);
  // Few blocks: one or several turns, some without the last one; partial steps
  // and columns.
  check<Turns<Problem<f16, 2, 6272, 296, true, 128, 1, 512, 8>>>(true);
  check<Turns<Problem<f16, 3, 1500, 512, true, 32>>>(true);
  check<Turns<Problem<float, 1, 703, 132, true, 16, 1, 128, 4>>>(false);
  check<Turns<Problem<bf16, 4, 90, 1032, true, 16, 1, 64>>>(true);
  // Rings: warps without a tile, with one or several, the last of fewer
  // columns; partial steps, one step alone, and more steps than stages.
  check<Rings<Problem<f16, 2, 3104, 296, true, 128, 1, 256, 8>, 6>>(true);
  check<Rings<Problem<bf16, 4, 1003, 264, true, 32, 1, 64>, 2>>(true);
  check<Rings<Problem<f16, 1, 90, 1032, true, 64, 1, 128, 0, f16, frit::Silu>,
              3>>(false);
  check<Rings<Problem<bf16, 3, 800, 40, true, 32, 1, 64, 8>, 5>>(false);
  // Along n: parts of a warp's columns, more rows than threads read.
  check<Problem<bf16, 1, 64, 512, false, 64>>(true);
  check<Problem<f16, 3, 40, 77, false, 16, 1, 64, 8>>(false);
  check<
      Problem<bf16, 4, 264, 301, false, 256, 1, 256, 0, bf16, frit::GeluTanh>>(
      true);
  check<Problem<float, 2, 36, 19, false, 8, 1, 32>>(true);
  check<Problem<float, 3, 260, 1030, false, 128, 1, 128>>(false);
}

#ifndef FRIT_EMULATE
/// Times several matrices one after another, more than L2 holds.
template <class P> static void benchOne(const char *name) {
  constexpr int64_t bytes = P::ldb * (P::transposeB ? P::n : P::k) * 2;
  constexpr int copies = int(std::max<int64_t>(1, (256 << 20) / bytes));
  Buffer<typename P::A> a(P::m * P::k);
  Buffer<typename P::B> b(bytes / 2 * copies);
  Buffer<typename P::D> d(P::m * P::n);
  a.randomize(1);
  b.randomize(2);
  bench(name, 1e-9 * bytes * copies, "GB/s", [&] {
    for (int i = 0; i < copies; ++i)
      launchShared(plain<P>, gridOf<P>(), P::threads, sharedOf<P>(), a.get(),
                   b.get() + bytes / 2 * i, d.get());
  });
}
#endif

static void benches() {
#ifndef FRIT_EMULATE
  benchOne<Output>("gemv 1x2048x2048");
  benchOne<Up>("gemv 1x8192x2048");
  benchOne<Problem<bf16, 1, 8192, 2048, true, 16, 2>>("gemv 1x8192x2048, 16/2");
  benchOne<Problem<bf16, 1, 2048, 8192, true, 4, 8>>("gemv 1x2048x8192");
  benchOne<Head>("gemv 1x128256x2048");
  benchOne<Large>("gemv 1x14336x4096");
  benchOne<Problem<bf16, 1, 4096, 14336, true, 4, 8>>("gemv 1x4096x14336");
  benchOne<Problem<bf16, 4, 14336, 4096, true, 32>>("gemv 4x14336x4096");
  benchOne<Down4>("gemv 4x2048x8192");
  benchOne<Problem<f16, 2, 27648, 1152, true, 32>>("gemv 2x27648x1152");
  benchOne<Turns<Problem<f16, 2, 27648, 1152, true, 128, 1, 512>>>(
      "gemv 2x27648x1152, 22 blocks");
  benchOne<Modulations>("gemv 2x27648x1152, rings of 12 blocks");
  benchOne<OutputPlain>("gemv 1x2048x2048, along n");
  benchOne<LargePlain>("gemv 1x14336x4096, along n");
  benchOne<Problem<bf16, 4, 14336, 4096, false, 64>>(
      "gemv 4x14336x4096, along n");
#endif
}
int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
