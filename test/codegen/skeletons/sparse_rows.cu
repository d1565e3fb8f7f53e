//===- sparse_rows.cu - Checks products of few rows by sparse matrices ----===//

#include "frit/gemv.cuh"
#include "frit/sparse_tiles.cuh"

/// Leading dimensions exceed the rows by `Pad` elements.
template <class T, int M, int N, int K, int Tiles, int Stages, int Split,
          int Threads = 256, int Pad = 0>
struct Problem {
  using A = T;
  using D = T;
  using Bias = T;
  using Epilogue = frit::Identity;
  static constexpr int64_t m = M, n = N, k = K, lda = K + Pad, ldd = N + Pad;
  static constexpr int64_t ldb = K;
  static constexpr bool early = true;
  static constexpr int tiles = Tiles, stages = Stages, split = Split;
  static constexpr int threads = Threads, sharedBytes = 1 << 18;
};
/// Has codes of 8 bits.
template <class P, frit::Code Format, class Factor = frit::f16>
struct Coded : P {
  using Scale = Factor;
  static constexpr frit::Code code = Format;
};
/// Normalizes rows of A.
template <class P> struct Normed : P {
  static constexpr float epsilon = 1e-5f;
};
/// Multiplies by two matrices.
template <class P> struct Paired : P {
  static constexpr bool isPair = true;
};

/// The second of a pair of matrices comes after the first.
template <class P>
__global__ void __launch_bounds__(P::threads)
    sparse(const typename P::A *a, const typename P::A *scale,
           const void *values, const void *places,
           const typename frit::SparseScale<P>::Type *scales,
           const typename P::Bias *bias, const typename P::D *r,
           typename P::D *d) {
  using Tiles = frit::SparseTiles<P>;
  frit::SparseMatrix<P> b[frit::kMatrices<P>];
#pragma unroll
  for (int i = 0; i < frit::kMatrices<P>; ++i) {
    const int64_t tiles = i * (P::n / 16) * (P::k / Tiles::depth);
    b[i] = {static_cast<const char *>(values) + tiles * Tiles::valueBytes,
            static_cast<const char *>(places) + tiles * Tiles::placeBytes,
            Tiles::hasCodes ? scales + i * P::n : nullptr};
  }
  frit::sparseRows<P>(a, scale, b, bias, r, d);
}
/// The same product by the dense matrix.
template <class P>
__global__ void __launch_bounds__(P::threads)
    dense(const typename P::A *a, const typename P::A *scale,
          const typename P::A *b, const typename P::Bias *bias,
          const typename P::D *r, typename P::D *d) {
  if constexpr (frit::kMatrices<P> == 2)
    frit::rowsGemm<P>(a, scale, {b, b + P::n * P::ldb}, bias, r, d);
  else
    frit::rowsGemm<P>(a, scale, {b}, bias, r, d);
}

/// Likewise by gemv.cuh, the dense kernel for up to 4 rows.
template <class P, int Columns, int Split> struct Vectors : P {
  using B = typename P::A;
  static constexpr int columns = Columns, split = Split;
  static constexpr bool transposeB = true;
};
template <class P>
__global__ void __launch_bounds__(P::threads)
    vectors(const typename P::A *a, const typename P::A *b, typename P::D *d) {
  frit::gemv<P>(a, b, (const typename P::Bias *)nullptr,
                (const typename P::D *)nullptr, d);
}

// Products of a language model of 1 billion weights; also for NVRTC.
using frit::Code;
using Down = Problem<frit::bf16, 1, 2048, 8192, 1, 4, 8>;
using Down8 = Problem<frit::f16, 8, 2048, 8192, 1, 4, 8>;
using GateUp = Normed<Paired<Problem<frit::bf16, 1, 8192, 2048, 1, 2, 8>>>;
using GateUp16 = Normed<Paired<Problem<frit::bf16, 16, 8192, 2048, 1, 1, 8>>>;
using DownBytes = Coded<Down, Code::int8>;
using DownFloats = Coded<Down8, Code::e4m3>;
using GateUpBytes = Coded<GateUp, Code::int8>;
#if FRIT_EMULATE >= 80 || __CUDA_ARCH__ >= 800
#define SPARSE(P)                                                              \
  template __global__ void sparse<P>(const P::A *, const P::A *, const void *, \
                                     const void *,                             \
                                     const frit::SparseScale<P>::Type *,       \
                                     const P::Bias *, const P::D *, P::D *)
SPARSE(Down);
SPARSE(Down8);
SPARSE(GateUp);
SPARSE(GateUp16);
SPARSE(DownBytes);
SPARSE(DownFloats);
SPARSE(GateUpBytes);
#endif

#ifndef __CUDACC_RTC__
#include "few_rows.h"
#include "sparse_matrix.h"

using namespace harness;

/// Checks a product against sums on the host.
template <class P> static void check(bool isFull) {
  SparseBuffers<P> b;
  checkProduct<P, true>(
      "sparse_rows", isFull,
      [&](int64_t row, int64_t k) { return b.numbers[row * P::k + k]; },
      [&](auto *a, auto *scale, auto *bias, auto *r, auto *d) {
        launchShared(sparse<P>, b.grid(), P::threads,
                     frit::sparseRowsShared<P>(), a, scale, b.values.get(),
                     b.places.get(), b.scales.get(), bias, r, d);
      });
}

/// Checks that a product has the bits of that by the dense matrix: all sums of
/// these elements are exact, in whatever order.
template <class P> static void checkExact() {
  SparseBuffers<P> b;
  Buffer<typename P::A> a(P::k * P::m);
  Buffer<typename P::D> d(P::n * P::m), same(P::n * P::m);
  a.randomize(1);
  typename P::A *none = nullptr;
  launchShared(sparse<P>, b.grid(), P::threads, frit::sparseRowsShared<P>(),
               a.get(), none, b.values.get(), b.places.get(), b.scales.get(),
               none, none, d.get());
  launchShared(dense<P>, b.grid(), P::threads, frit::rowsGemmShared<P>(),
               a.get(), none, b.whole.get(), none, none, same.get());
  d.download();
  same.download();
  for (int64_t i = 0; i < P::n * P::m; ++i)
    if (d[i].bits != same[i].bits) {
      printf("FAIL sparse_rows: element %d is %g, and %g by the dense matrix\n",
             int(i), toDouble(d[i]), toDouble(same[i]));
      ++failures;
      return;
    }
}

static void checks() {
  check<Problem<bf16, 1, 64, 512, 1, 2, 4>>(true);
  check<Problem<f16, 5, 48, 256, 2, 2, 2, 128>>(false);
  check<Problem<bf16, 16, 96, 384, 4, 1, 1, 64, 8>>(true);
  check<Problem<f16, 9, 16, 128, 1, 4, 8>>(true);
  check<Normed<Problem<bf16, 3, 64, 512, 1, 2, 4>>>(true);
  check<Normed<Problem<bf16, 16, 48, 256, 2, 2, 2, 128, 8>>>(false);
  check<Paired<Problem<f16, 9, 80, 384, 1, 2, 2>>>(true);
  check<Normed<Paired<Problem<bf16, 1, 96, 640, 1, 4, 4>>>>(false);
  check<Coded<Problem<bf16, 1, 64, 512, 1, 2, 4>, Code::int8>>(true);
  check<Coded<Problem<f16, 7, 48, 256, 2, 1, 2, 128>, Code::int8, bf16>>(false);
  check<Coded<Problem<bf16, 16, 32, 384, 1, 2, 1, 64>, Code::e4m3>>(true);
  check<Coded<Problem<f16, 2, 64, 256, 1, 2, 2>, Code::e4m3>>(true);
  check<Coded<Normed<Paired<Problem<bf16, 4, 64, 256, 1, 2, 2>>>, Code::int8>>(
      false);
  checkExact<Problem<bf16, 1, 64, 512, 1, 2, 4>>();
  checkExact<Problem<bf16, 16, 96, 384, 2, 2, 1, 128>>();
  checkExact<Problem<f16, 6, 32, 1024, 1, 4, 8>>();
}

#include "sparse_rows_bench.h"

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
