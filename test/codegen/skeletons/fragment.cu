//===- fragment.cu - Checks ends of products over any fragment ------------===//
//
// WgmmaStore ends a fragment that lies in memory, as one in tensor memory does,
// and one in registers, to the same elements of D.
//
//===----------------------------------------------------------------------===//

#include "wgmma_gemm.h"

#ifdef FRIT_HAS_WGMMA
/// A warp's sums in a matrix of P's shape, from `sums` on; beyond it they are
/// 0, as those of a main loop.
template <class P> struct MemoryFragment {
  using Sum = float;
  static constexpr int kBlocks = 1, kGroups = P::tileN / 8;
  const float *sums;
  int row, col;

  __device__ frit::PairOf<float> pair(int block, int group, int half) const {
    const int lane = threadIdx.x % 32;
    const int i = row + half * 8 + lane / 4, j = col + group * 8 + lane % 4 * 2;
    auto at = [&](int j) {
      return i < P::m && j < P::n ? sums[i * P::n + j] : 0;
    };
    return {{at(j), at(j + 1)}};
  }
};
static_assert(!frit::Fragment<int>);
#endif

/// Ends one tile of 64 rows by a block.
template <class P, bool InRegisters>
__global__ void __launch_bounds__(128, 1)
    endSums(const float *sums, const typename P::Bias *bias,
            const typename P::D *r, typename P::D *d,
            const __grid_constant__ frit::TensorMap mapD,
            const __grid_constant__ frit::TensorMap mapR) {
#ifdef FRIT_HAS_WGMMA
  using Plan = frit::WgmmaPlan<P>;
  unsigned char *shared = frit::tensorShared();
  auto *filled = reinterpret_cast<frit::Barrier *>(shared + Plan::kShared -
                                                   frit::kBarrierBytes);
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4 * Plan::kSlots; ++i)
      filled[i].init(1);
    frit::fenceBarrierInit();
  }
  __syncthreads();
  const frit::WgmmaTile tile = Plan::tileAt(blockIdx.x, 0);
  const MemoryFragment<P> inMemory = {sums, tile.m + warp * 16, tile.n};
  frit::WgmmaStore<P> store = {Plan::kBoxes ? &mapD : nullptr,
                               Plan::kBoxes ? &mapR : nullptr,
                               bias,
                               r,
                               d,
                               {},
                               shared + warp * Plan::kSlots * frit::kBoxBytes,
                               filled + warp * Plan::kSlots};
  store.begin({inMemory.row, inMemory.col, tile.batch});
  if constexpr (InRegisters) {
    frit::RegisterFragment<float, 1, P::tileN / 8> copy;
#pragma unroll
    for (int i = 0; i < P::tileN / 4; ++i)
#pragma unroll
      for (int c = 0; c < 2; ++c)
        copy.blocks[0][i * 2 + c] = inMemory.pair(0, i / 2, i % 2)[c];
    store.end(copy);
  } else {
    store.end(inMemory);
  }
  store.drain();
#endif
}

#ifdef __CUDACC_RTC__
template <class P> __device__ auto compiled = &endSums<P, false>;
template __device__ auto compiled<Problem<Matrices<130, 136, 64>, 64, 128, 2>>;
#else
using namespace harness;

template <class P, bool InRegisters> static void checkEnd() {
  Buffer<float> sums(P::m * P::n);
  Buffer<typename P::D> r(P::strideD), d(P::strideD);
  Buffer<typename P::Bias> bias(P::n);
  sums.randomize(1);
  bias.randomize(2);
  r.randomize(3);
  d.randomize(4);
  std::vector<double> want = elementsOf<double>(d); // padding stays
  for (int64_t i = 0; i < P::m; ++i)
    for (int64_t j = 0; j < P::n; ++j)
      want[i * P::ldd + j] =
          activate(typename P::Epilogue(), toDouble(sums[i * P::n + j]) +
                                               toDouble(bias[j]) +
                                               toDouble(r[i * P::ldd + j]));
  constexpr int size = sizeof(typename P::D);
  frit::TensorMap mapD = {}, mapR = {};
  if (P::ldd * size % 16 == 0) {
    auto map = [](typename P::D *at) {
      return tiledMap(at, {P::n, P::m, 1}, {P::ldd, 0}, {128 / size, 16, 1});
    };
    mapD = map(d.get());
    mapR = map(r.get());
  }
  constexpr int tiles =
      int((P::m + 63) / 64 * ((P::n + P::tileN - 1) / P::tileN));
  const float *from = sums.get();
  const typename P::Bias *biasAt = bias.get();
  const typename P::D *residual = r.get();
  launchClusters(&endSums<P, InRegisters>, tiles, 128, 1,
                 P::layout.sharedBytes(), from, biasAt, residual, d.get(), mapD,
                 mapR);
  waitForDevice();
  char name[96];
  snprintf(name, sizeof name, "end of %dx%d, rows of %d, fragment in %s",
           int(P::m), int(P::n), int(P::ldd),
           InRegisters ? "registers" : "memory");
  expect(name, d, want, epsilonOf<typename P::D>());
}

template <class P> static void checkEnds() {
  checkEnd<P, true>();
  checkEnd<P, false>();
}

static void checks() {
  using frit::f16, frit::bf16, frit::Relu;
  // Whole boxes by TMA, boxes that end in the middle, and rows that are not
  // aligned for it.
  checkEnds<Problem<Matrices<64, 128, 64>, 64, 128, 2>>();
  checkEnds<Problem<Matrices<130, 136, 64, 1, false, true, f16, f16, f16, Relu>,
                    64, 128, 2>>();
  checkEnds<Problem<Matrices<70, 200, 64, 1, false, true, bf16, float>, 64, 256,
                    2>>();
  checkEnds<
      Problem<Matrices<67, 77, 64, 1, false, true, f16, f16, f16, Relu, 0, 6>,
              64, 64, 2>>();
}

int main(int argc, char **argv) {
  return runOnHopper(argc, argv, checks, [] {});
}
#endif
