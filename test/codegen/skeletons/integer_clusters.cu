//===- integer_clusters.cu - Checks integer_gemm.cuh on sm_90a ------------===//
//
// Few rows of a long product, whose steps the blocks of a cluster divide.
//
//===----------------------------------------------------------------------===//

#include "integer_gemm.h"

#ifndef __CUDACC_RTC__
#include "hopper.h"

template <class P> static void check(int zeroX, int zeroW) {
  checkSums<P>(zeroX, zeroW,
               [](const uint8_t *x, const uint8_t *w, const uint8_t *xZero,
                  const uint8_t *wZero, int32_t *y) {
                 launchClusters(sums<P>, int(blocksOf<P>()) * P::cluster,
                                frit::IntegerPlan<P>::kThreads, P::cluster,
                                sharedBytes<P>(), x, w, xZero, wZero, y);
               });
}

static void checks() {
  using Two = Tile<32, 32, 16, 32, 64, 3, 1, false, 2>;
  using Four = Tile<16, 32, 16, 32, 128, 3, 4, false, 4>;
  // Warps that share steps within a block as well, blocks without a step.
  check<Product<Two, false, true, 35, 72, 400>>(117, 0);
  check<Product<Four, true, true, 17, 40, 1100>>(-128, -3);
  check<Product<Four, true, false, 3, 24, 200>>(0, 200);
  check<Product<Tile<16, 16, 16, 16, 64, 2, 1, false, 8>, false, true, 5, 20,
                1000, 4>>(3, 0);
  check<Conv<Two, false, true, 1, 7, 7, 64, 40, 3, 3, 1, 1>>(3, 0);
  // Warpgroups, with more blocks than parts of a thread's sums.
  check<Product<Wide<64, 32, 3, 4>, true, true, 49, 40, 1552>>(5, 0);
  check<Conv<Wide<64, 64, 4, 8>, false, true, 1, 7, 7, 128, 72, 3, 3, 1, 1>>(9,
                                                                             1);
}

static void benches() {}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
