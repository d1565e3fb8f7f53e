//===- rows_gemm.cu - Checks rows_gemm, code_rows and dequantize ----------===//

#include "frit/dequantize.cuh"
#include "frit/rows_gemm.cuh"

#include "code_rows.h"

/// As Problem, of numbers.
template <class T, int M, int N, int K, int Tiles, int Stages, int Split,
          int Threads = 256, int Pad = 0>
struct PlainProblem {
  using A = T;
  using D = T;
  using Bias = T;
  using Epilogue = frit::Identity;
  static constexpr int64_t m = M, n = N, k = K, lda = K + Pad, ldd = N + Pad;
  static constexpr int64_t ldb = K + Pad;
  static constexpr bool early = true;
  static constexpr int tiles = Tiles, stages = Stages, split = Split;
  static constexpr int threads = Threads, sharedBytes = 1 << 18;
};

/// Has so many rows of A in a block.
template <class P, int Rows> struct Blocks : P {
  static constexpr int rows = Rows;
};

template <class P>
__global__ void __launch_bounds__(P::threads)
    plain(const typename P::A *a, const typename P::A *scale,
          const typename P::A *b, const typename P::Bias *bias,
          const typename P::D *r, typename P::D *d) {
  if constexpr (frit::kMatrices<P> == 2)
    frit::rowsGemm<P>(a, scale, {b, b + P::n * P::ldb}, bias, r, d);
  else
    frit::rowsGemm<P>(a, scale, {b}, bias, r, d);
}
template <class P>
__global__ void __launch_bounds__(P::threads)
    numbers(const void *b, const typename P::Scale *scales,
            const typename P::Scale *offsets, typename P::D *y) {
  frit::dequantizeTiles<P>(b, scales, offsets, y);
}

// Products of a language model of 1 and of 8 billion weights, for one sequence
// and for eight; also for NVRTC.
using Output =
    Problem<frit::bf16, Code::int4, 1, 2048, 2048, 64, false, 1, 4, 8>;
using Up = Problem<frit::bf16, Code::int4, 1, 16384, 2048, 64, false, 4, 1, 8>;
using Down = Problem<frit::bf16, Code::int4, 1, 2048, 8192, 64, false, 1, 4, 8>;
using Up8 = Problem<frit::bf16, Code::int4, 8, 16384, 2048, 64, false, 4, 1, 8>;
using Head =
    Problem<frit::bf16, Code::int8, 1, 128256, 2048, 2048, false, 4, 1, 1>;
using Large = Problem<frit::f16, Code::int4, 1, 28672, 4096, 32, true, 4, 1, 2>;
using Large8 =
    Problem<frit::bf16, Code::e4m3, 16, 14336, 4096, 4096, false, 2, 2, 4>;
using LargeMx = Problem<frit::bf16, Code::e2m1, 1, 14336, 4096, 32, false, 4, 1,
                        4, 256, frit::bf16>;

#define PRODUCT(P)                                                             \
  template __global__ void product<P>(                                         \
      const P::A *, const P::A *, const void *, const P::Scale *,              \
      const P::Scale *, const P::Bias *, const P::D *, P::D *)
PRODUCT(Output);
PRODUCT(Up8);
PRODUCT(Large);
PRODUCT(Large8);
PRODUCT(LargeMx);
using Down16 = PlainProblem<frit::bf16, 8, 2048, 8192, 1, 4, 8>;
using Up16 = PlainProblem<frit::bf16, 16, 8192, 2048, 2, 2, 8>;
using GateUp = Normed<Paired<PlainProblem<frit::bf16, 1, 8192, 2048, 1, 4, 4>>>;
using GateUp4 = Normed<
    Paired<Problem<frit::bf16, Code::int4, 1, 8192, 2048, 64, false, 1, 2, 8>>>;
PRODUCT(GateUp4);
#define PLAIN(P)                                                               \
  template __global__ void plain<P>(const frit::bf16 *, const frit::bf16 *,    \
                                    const frit::bf16 *, const frit::bf16 *,    \
                                    const frit::bf16 *, frit::bf16 *)
PLAIN(Down16);
PLAIN(Up16);
PLAIN(GateUp);

#ifndef __CUDACC_RTC__

template <class P> static dim3 gridOf() {
  int columns = 16 * P::tiles * frit::kRounds<P> * (P::threads / 32 / P::split);
  int rows = frit::kBlockRows<P>;
  return dim3((P::n + columns - 1) / columns * ((P::m + rows - 1) / rows));
}

template <class P> static void check(bool isFull) {
  Matrix<P> b;
  auto *offsets = P::hasOffsets ? b.offsets.get() : nullptr;
  std::string kind = "code " + std::to_string(int(P::code));
  checkProduct<P, frit::kWidens<P>>(
      "rows_gemm " + kind, isFull,
      [&](int64_t row, int64_t k) { return b.numbers[row * P::k + k]; },
      [&](auto *a, auto *scale, auto *bias, auto *r, auto *d) {
        launchShared(product<P>, gridOf<P>(), P::threads,
                     frit::codeRowsShared<P>(), a, scale, b.codes.get(),
                     b.scales.get(), offsets, bias, r, d);
      });
  if (frit::kMatrices<P> == 2)
    return;
  Buffer<typename P::D> y(P::n * P::k);
  int64_t tiles = b.codes.size() / 512, warps = P::threads / 32;
  launch(numbers<P>, dim3((tiles + warps - 1) / warps), P::threads,
         b.codes.get(), b.scales.get(), offsets, y.get());
  expect("dequantize " + kind, y, b.numbers, epsilonOf<typename P::D>());
}

/// An element that is no finite number makes sums of its row no numbers, and
/// leaves those of others.
template <class P> static void checkInfinite(uint16_t bits) {
  static_assert(P::m == 2);
  Matrix<P> b;
  Buffer<typename P::A> a(P::lda * P::m);
  Buffer<typename P::D> d(P::ldd * P::m);
  a.randomize(1);
  a[P::k / 3].bits = bits;
  a.upload();
  launchShared(product<P>, gridOf<P>(), P::threads, frit::codeRowsShared<P>(),
               a.get(), a.get(), b.codes.get(), b.scales.get(), b.offsets.get(),
               (const typename P::Bias *)nullptr,
               (const typename P::D *)nullptr, d.get());
  d.download();
  for (int64_t i = 0; i < P::n; ++i)
    if (!std::isnan(toDouble(d[i])) ||
        !std::isfinite(toDouble(d[P::ldd + i]))) {
      printf("FAIL rows_gemm: column %d by an element of bits %x\n", int(i),
             bits);
      ++failures;
      return;
    }
}

/// 16-bit numbers.
template <class P> static void checkPlain(bool isFull) {
  Buffer<typename P::A> b(P::ldb * P::n * frit::kMatrices<P>);
  b.randomize(2);
  checkProduct<P, true>(
      "rows_gemm plain", isFull,
      [&](int64_t row, int64_t k) { return toDouble(b[row * P::ldb + k]); },
      [&](auto *a, auto *scale, auto *bias, auto *r, auto *d) {
        launchShared(plain<P>, gridOf<P>(), P::threads,
                     frit::rowsGemmShared<P>(), a, scale, b.get(), bias, r, d);
      });
}

static void checks() {
  // 16 bits: whole and partial tiles and steps, padded rows.
  checkPlain<PlainProblem<bf16, 8, 64, 512, 1, 2, 8>>(true);
  checkPlain<PlainProblem<f16, 5, 40, 200, 2, 2, 2, 128>>(false);
  checkPlain<PlainProblem<bf16, 16, 96, 320, 4, 1, 1, 64, 8>>(true);
  checkPlain<PlainProblem<f16, 1, 17, 72, 1, 4, 8>>(true);
  // Each code in both types, with scales of blocks and of rows, with offsets.
  check<Problem<f16, Code::int4, 1, 64, 256, 32, true, 1, 2, 8>>(true);
  check<Problem<bf16, Code::int4, 5, 96, 512, 64, false, 2, 2, 2>>(true);
  check<Problem<f16, Code::int8, 9, 48, 96, 16, true, 2, 1, 4, 128>>(false);
  check<Problem<bf16, Code::int8, 16, 80, 128, 128, false, 1, 4, 1>>(true);
  check<Problem<f16, Code::e2m1, 2, 32, 192, 32, false, 1, 1, 2, 64, bf16>>(
      false);
  check<Problem<bf16, Code::e2m1, 8, 32, 128, 64, true, 4, 1, 1, 64>>(false);
  check<Problem<f16, Code::e4m3, 3, 64, 160, 32, false, 2, 2, 8, 256, float>>(
      true);
  check<Problem<bf16, Code::e4m3, 1, 112, 64, 64, true, 4, 2, 2>>(false);
  // Normalized rows, two matrices, and both.
  checkPlain<Normed<PlainProblem<bf16, 3, 64, 512, 1, 2, 8>>>(true);
  checkPlain<Normed<PlainProblem<bf16, 16, 40, 200, 2, 2, 2, 128, 8>>>(false);
  checkPlain<Paired<PlainProblem<f16, 9, 72, 320, 1, 2, 4>>>(true);
  checkPlain<Normed<Paired<PlainProblem<bf16, 1, 96, 448, 1, 4, 4>>>>(false);
  check<Normed<Problem<bf16, Code::int4, 1, 64, 256, 64, true, 1, 2, 8>>>(true);
  check<Normed<Problem<bf16, Code::int8, 12, 48, 96, 32, false, 1, 2, 1, 64>>>(
      false);
  check<Paired<Problem<f16, Code::e2m1, 2, 32, 192, 32, false, 1, 1, 2, 64>>>(
      true);
  check<Normed<
      Paired<Problem<bf16, Code::int4, 8, 64, 512, 64, false, 2, 2, 4>>>>(true);
  // Codes: several slabs of A, the last one partial, in one buffer
  // and in two; shares of k of different sizes; blocks of many sizes.
  check<Problem<bf16, Code::int4, 3, 32, 896, 128, true, 1, 4, 1, 64>>(true);
  check<Problem<f16, Code::int4, 2, 64, 1408, 32, false, 2, 2, 2, 128>>(false);
  check<Problem<bf16, Code::int8, 16, 32, 2080, 32, true, 1, 4, 8>>(false);
  check<Problem<bf16, Code::int8, 1, 64, 2048, 2048, false, 4, 4, 1, 64>>(true);
  check<Problem<f16, Code::int8, 8, 32, 4096, 512, false, 1, 2, 4, 128>>(true);
  check<Normed<
      Paired<Problem<f16, Code::int8, 5, 64, 1120, 16, true, 2, 1, 4, 256>>>>(
      false);
  check<Normed<Problem<f16, Code::int4, 16, 48, 1600, 64, false, 1, 2, 8>>>(
      true);
  check<Problem<bf16, Code::e4m3, 8, 32, 2080, 16, true, 1, 4, 8>>(false);
  check<Normed<
      Problem<f16, Code::e2m1, 9, 64, 1408, 32, false, 2, 2, 2, 128, bf16>>>(
      true);
  using Finite = Problem<bf16, Code::int8, 2, 32, 512, 64, false, 1, 2, 4>;
  checkInfinite<Finite>(0xff80);
  checkInfinite<Finite>(0x7fc0);
  checkInfinite<Problem<f16, Code::e4m3, 2, 32, 512, 64, false, 1, 2, 4>>(
      0x7c00);
  // Several blocks of rows, the last of which is partial.
  checkPlain<Blocks<PlainProblem<bf16, 48, 40, 200, 1, 2, 2, 128>, 16>>(true);
  checkPlain<
      Blocks<Normed<Paired<PlainProblem<bf16, 17, 72, 128, 1, 2, 2>>>, 16>>(
      false);
  check<Blocks<Problem<f16, Code::int4, 37, 64, 256, 64, true, 2, 2, 4>, 16>>(
      true);
  check<Blocks<Normed<Problem<bf16, Code::int8, 9, 48, 96, 32, false, 1, 2, 1>>,
               4>>(false);
  // Several rounds, the last of which some blocks or warps lack; sums of more
  // than fit at a time; rounds of slabs that do not fit.
  check<InRounds<Problem<bf16, Code::int4, 1, 160, 1024, 64, false, 1, 2, 4>, 3,
                 4>>(true);
  check<InRounds<Normed<Paired<Problem<bf16, Code::int8, 3, 208, 512, 512, true,
                                       2, 2, 2>>>,
                 2, 2>>(false);
  check<InRounds<Problem<f16, Code::e2m1, 16, 112, 512, 32, true, 1, 4, 4>, 5,
                 2>>(true);
  check<InRounds<
      Normed<Problem<bf16, Code::e4m3, 16, 96, 4096, 128, false, 1, 2, 8>>, 3,
      4>>(false);
  check<Sums<
      InRounds<Problem<bf16, Code::int8, 1, 144, 512, 512, false, 1, 2, 4>, 5>,
      1>>(true);
  // Codes that become numbers: of all formats, with offsets, norms, two
  // matrices, rounds, several slabs.
  check<Widened<Problem<bf16, Code::int4, 8, 64, 512, 64, false, 1, 2, 8>>>(
      true);
  check<
      Widened<Problem<bf16, Code::int4, 13, 48, 896, 128, true, 1, 4, 2, 64>>>(
      false);
  check<Widened<Normed<
      Paired<Problem<bf16, Code::int4, 8, 96, 512, 64, false, 1, 1, 4>>>>>(
      false);
  check<Widened<InRounds<
      Normed<Problem<bf16, Code::int4, 5, 160, 1024, 64, true, 1, 2, 4>>, 3,
      4>>>(true);
  check<Widened<
      Problem<bf16, Code::int4, 8, 32, 8192, 64, false, 1, 1, 16, 512>>>(true);
  check<Widened<
      Problem<bf16, Code::int4, 16, 32, 8192, 64, false, 1, 1, 16, 512>>>(
      false);
  check<Widened<
      Problem<bf16, Code::int4, 3, 64, 1408, 32, true, 2, 2, 2, 128, f16, 8>>>(
      true);
  check<Widened<
      Problem<bf16, Code::e2m1, 8, 48, 1408, 32, false, 2, 2, 2, 128, bf16>>>(
      true);
  check<Widened<Problem<bf16, Code::int8, 3, 64, 512, 128, true, 1, 2, 4>>>(
      false);
  check<Widened<Problem<bf16, Code::e4m3, 9, 64, 512, 512, false, 2, 2, 4>>>(
      true);
  // Rows with padding, an activation.
  check<Problem<f16, Code::int4, 4, 64, 320, 32, false, 1, 4, 4, 256, f16, 8,
                frit::Silu>>(true);
}

#include "rows_gemm_bench.h"

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
