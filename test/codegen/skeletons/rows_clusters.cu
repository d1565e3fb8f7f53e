//===- rows_clusters.cu - Checks code_rows.cuh on sm_90a ------------------===//
//
// Products of a few rows by codes that become numbers: the blocks of a cluster
// copy the rows for each other.
//
//===----------------------------------------------------------------------===//

#include "code_rows.h"

/// Has clusters of so many blocks.
template <class P, int Blocks> struct Sharing : P {
  static constexpr int sharing = Blocks;
};

// Of a language model of a billion weights, for eight sequences; for NVRTC.
using Down8 = Sharing<Widened<InRounds<Problem<frit::bf16, Code::int4, 8, 2048,
                                               8192, 64, false, 1, 1, 16, 512>,
                                       1, 4>>,
                      2>;
template __global__ void product<Down8>(const frit::bf16 *, const frit::bf16 *,
                                        const void *, const frit::f16 *,
                                        const frit::f16 *, const frit::bf16 *,
                                        const frit::bf16 *, frit::bf16 *);

#ifndef __CUDACC_RTC__
#include "hopper.h"

template <class P> static void check(bool isFull) {
  Matrix<P> b;
  const typename P::Scale *offsets = P::hasOffsets ? b.offsets.get() : nullptr;
  constexpr int columns =
      16 * P::tiles * frit::kRounds<P> * (P::threads / 32 / P::split);
  static_assert(P::n % (columns * P::sharing) == 0);
  checkProduct<P, true>(
      "rows that " + std::to_string(P::sharing) + " blocks share", isFull,
      [&](int64_t row, int64_t k) { return b.numbers[row * P::k + k]; },
      [&](auto *a, auto *scale, auto *bias, auto *r, auto *d) {
        launchClusters(product<P>, int(P::n / columns), P::threads, P::sharing,
                       frit::codeRowsShared<P>(),
                       static_cast<const typename P::A *>(a),
                       static_cast<const typename P::A *>(scale),
                       static_cast<const void *>(b.codes.get()),
                       static_cast<const typename P::Scale *>(b.scales.get()),
                       offsets, static_cast<const typename P::Bias *>(bias),
                       static_cast<const typename P::D *>(r),
                       static_cast<typename P::D *>(d));
      });
}

static void checks() {
  // Warps that share k, and groups of them; several slabs; other rows than 8.
  check<Sharing<
      Widened<Problem<bf16, Code::int4, 8, 64, 2048, 64, false, 1, 1, 16, 512>>,
      2>>(true);
  check<Sharing<Widened<InRounds<Problem<bf16, Code::int4, 8, 64, 8192, 64,
                                         false, 1, 1, 16, 512>,
                                 1, 4>>,
                4>>(false);
  check<Sharing<Widened<InRounds<Problem<bf16, Code::int4, 5, 64, 1024, 32,
                                         true, 1, 2, 4, 256>,
                                 1, 2>>,
                2>>(true);
  check<Sharing<Widened<InRounds<Problem<bf16, Code::int4, 16, 128, 512, 64,
                                         false, 1, 1, 2, 64, frit::f16, 8>,
                                 2>>,
                4>>(false);
}

static void benches() {}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
