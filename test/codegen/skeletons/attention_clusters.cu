//===- attention_clusters.cu - Checks attention.cuh on sm_90a -------------===//
//
// A few queries of many keys, which the blocks of a cluster divide: a step of a
// language model.
//
//===----------------------------------------------------------------------===//

#include "attention.h"

template <class P>
__global__ void __launch_bounds__(frit::AttentionShape<P>::kThreads)
    ranged(const typename P::T *q, const typename P::T *k,
           const typename P::T *v, const typename P::Mask *mask,
           typename P::T *o, float *stats) {
  frit::attention<P>(q, k, v, mask, o, stats);
}

/// `Cluster` blocks of 16 queries, `TileN` keys per warp and `Splits` warps.
template <class Base, int Cluster, int TileN = 16, int Splits = 4>
struct Divided : Base {
  static constexpr int tileM = 16, rowsPerWarp = 16, tileN = TileN;
  static constexpr int splits = Splits, cluster = Cluster;
};

#ifndef __CUDACC_RTC__
#include "hopper.h"

using namespace harness;

template <class P> static void check() {
  using Shape = frit::AttentionShape<P>;
  using T = typename P::T;
  checkAttention<P>(Fill::large, [](const T *q, const T *k, const T *v,
                                    const typename P::Mask *mask, T *o,
                                    float *stats) {
    launchClusters(ranged<P>, int(Shape::kBlocks), Shape::kThreads, P::cluster,
                   Shape::kShared, q, k, v, mask, o, stats);
  });
}

static void checks() {
  // More blocks than there are tiles of keys, and fewer; ranges that leave out
  // the first keys; one query and several.
  check<Divided<Ranged<Problem<f16, 2, 2, 2, 1, 40, 64>, 300>, 8>>();
  check<Divided<Ranged<Problem<bf16, 1, 2, 2, 4, 700, 64>, 900>, 4>>();
  check<Divided<Ranged<Problem<f16, 3, 4, 2, 13, 500, 128>, 100, false, true>,
                8, 32>>();
  check<Divided<Ranged<Problem<f16, 1, 1, 1, 16, 300, 32>, 64, true>, 2, 16,
                1>>();
  check<Divided<Ranged<Problem<bf16, 1, 2, 1, 7, 333, 256>, 400>, 2, 16, 2>>();
  check<Divided<Ranged<Single<Problem<float, 1, 2, 2, 5, 260, 64>, false>, 90>,
                4, 16, 2>>();
}

static void benches() {}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
