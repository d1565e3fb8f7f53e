//===- wgmma_attention.cu - Checks wgmma_attention.cuh --------------------===//

#include "frit/wgmma_attention.cuh"

#include "attention.h"

/// Tiles of wgmma_attention.cuh.
template <class Base, int TileM, int TileN, int Stages, int Blocks,
          int Splits = 1>
struct Hopper : Base {
  static constexpr int tileM = TileM, tileN = TileN, stages = Stages;
  static constexpr int blocks = Blocks, splits = Splits;
};

template <class P>
__global__ void __launch_bounds__(frit::WgmmaAttentionShape<P>::kThreads,
                                  P::blocks)
    hopper(const typename P::T *q, const typename P::T *k,
           const typename P::T *v, const typename P::Mask *mask,
           typename P::T *o, float *stats,
           const __grid_constant__ frit::TensorMap mapQ,
           const __grid_constant__ frit::TensorMap mapK,
           const __grid_constant__ frit::TensorMap mapV,
           const __grid_constant__ frit::TensorMap mapO) {
#ifdef FRIT_HAS_WGMMA
  frit::wgmmaAttention<P>(&mapQ, &mapK, &mapV, &mapO, mask, stats);
#else
  frit::attentionFloor<P>(q, k, v, mask, o, stats);
#endif
}

#ifdef __CUDACC_RTC__
template <class P> __device__ auto compiled = &hopper<P>;
template __device__ auto compiled<Hopper<Bert, 192, 96, 5, 1>>;
template __device__ auto compiled<Hopper<Vit, 256, 64, 4, 1>>;
template __device__ auto compiled<Hopper<Causal<Long>, 128, 128, 2, 1>>;
template __device__ auto compiled<
    Hopper<Masked<Bert, frit::boolean, true, false, false>, 192, 96, 5, 1>>;
#else
#include "hopper.h"

using namespace harness;

/// The maps of wgmma_attention.cuh.
template <class P> struct Maps {
  frit::TensorMap q = {}, k = {}, v = {}, o = {};

  Maps(typename P::T *q, typename P::T *k, typename P::T *v, typename P::T *o) {
    auto map = []<class Strides>(Strides, typename P::T *at, int size, int rows,
                                 int heads, int lines) {
      return tiledMap(at, {size, rows, heads, P::batch},
                      {Strides::row, Strides::head, Strides::batch},
                      {64, lines, 1, 1});
    };
    this->q = map(typename P::Q(), q, P::size, P::queries, P::heads, P::tileM);
    this->k = map(typename P::K(), k, P::size, P::keys, P::groups, P::tileN);
    this->v =
        map(typename P::V(), v, P::valueSize, P::keys, P::groups, P::tileN);
    this->o = map(typename P::O(), o, P::valueSize, P::queries, P::heads, 16);
  }
};

/// Runs the kernel in `blocks` blocks, or as many as fit.
template <class P>
static void launchAttention(typename P::T *q, typename P::T *k,
                            typename P::T *v, const typename P::Mask *mask,
                            typename P::T *o, float *stats,
                            int64_t blocks = 0) {
  using Shape = frit::WgmmaAttentionShape<P>;
  Maps<P> maps(q, k, v, o);
  if (!blocks)
    blocks = std::min<int64_t>(Shape::kBlocks, 132 * P::blocks);
  launchShared(hopper<P>, dim3(blocks), Shape::kThreads, Shape::kShared, q, k,
               v, mask, o, stats, maps.q, maps.k, maps.v, maps.o);
}

template <class P> static void check(Fill fill = Fill::large, int blocks = 0) {
  checkAttention<P>(
      fill, [&](auto... pointers) { launchAttention<P>(pointers..., blocks); });
}

#ifdef FRIT_FEW_CHECKS
/// The checks for planted.py: two warpgroups, two boxes of values.
static void checks() {
  check<Hopper<Problem<f16, 1, 2, 2, 200, 200, 128>, 128, 64, 2, 1>>();
}
#else
static void checks() {
  using Small = Problem<f16, 2, 2, 2, 71, 71, 32>;
  using Even = Problem<bf16, 2, 2, 2, 70, 70, 32>;
  // Whole tiles and tails, several tiles per block, both sizes, warpgroups
  // without rows, keys that only part of a block's rows see.
  check<Hopper<Problem<f16, 1, 2, 2, 17, 17, 64>, 64, 64, 2, 1>>();
  check<Hopper<Problem<bf16, 1, 4, 2, 40, 197, 64>, 128, 80, 3, 1>>(Fill::large,
                                                                    3);
  check<Hopper<Problem<f16, 2, 2, 2, 130, 130, 128>, 128, 64, 2, 1>>();
  check<Hopper<Problem<f16, 1, 2, 2, 70, 70, 80>, 64, 32, 2, 1>>();
  // Sizes whose padding is not multiplied: half a step of k, an odd number of
  // groups of columns, a second or third box that is partly used.
  check<Hopper<Problem<f16, 1, 2, 2, 130, 90, 40>, 128, 64, 2, 1>>();
  check<Hopper<Problem<bf16, 1, 2, 2, 70, 70, 48>, 64, 48, 2, 1>>();
  check<Hopper<Problem<f16, 1, 2, 2, 130, 197, 72>, 64, 64, 4, 1, 2>>(
      Fill::large, 3);
  check<Hopper<Problem<f16, 1, 2, 2, 90, 77, 160>, 64, 80, 2, 1>>();
  check<Hopper<Problem<bf16, 1, 1, 1, 64, 130, 160>, 64, 64, 2, 1, 2>>();
  check<Hopper<Causal<Problem<f16, 1, 1, 1, 90, 90, 176>>, 64, 64, 2, 1>>();
  check<Hopper<Causal<Problem<f16, 1, 3, 3, 250, 250, 64>>, 192, 64, 2, 1>>(
      Fill::large, 2);
  check<Hopper<Causal<Problem<f16, 1, 1, 1, 90, 40, 64>>, 64, 32, 2, 1>>();
  check<Hopper<Problem<f16, 1, 3, 3, 130, 197, 64>, 64, 80, 3, 1, 3>>(
      Fill::large, 2);
  check<Hopper<Causal<Problem<f16, 1, 5, 5, 250, 250, 128>>, 64, 32, 4, 1, 2>>(
      Fill::large, 3);
  check<Hopper<Masked<Small, boolean, true, false, false>, 64, 32, 2, 1>>();
  check<Hopper<Masked<Even, boolean, true, true, true>, 128, 64, 2, 1>>();
  check<Hopper<Masked<Small, float, true, false, true>, 64, 64, 2, 1>>(
      Fill::lowest);
  // Rows whose keys are all hidden are zero or NaN.
  check<Hopper<Masked<Small, float, true, false, true>, 64, 64, 2, 1>>(
      Fill::infinite);
  check<Hopper<Unguarded<Masked<Small, f16, true, false, true>>, 64, 32, 2, 1>>(
      Fill::infinite);
  check<Hopper<Unguarded<Masked<Even, boolean, true, true, true>>, 128, 64, 2,
               1>>();
  // Ranges of keys: warpgroups of a block that begin with different tiles of
  // keys, tiles that only some of them read, warpgroups that share rows.
  using Many = Problem<f16, 2, 2, 1, 300, 300, 64>;
  check<Hopper<Ranged<Many, 70, false, true>, 64, 32, 2, 1>>(Fill::large, 3);
  check<Hopper<Ranged<Many, 20>, 192, 32, 3, 1>>(Fill::large, 2);
  check<Hopper<Ranged<Many, 90, true>, 256, 16, 4, 1>>(Fill::large, 1);
  check<Hopper<Ranged<Many, 110, true, true>, 64, 16, 4, 1, 2>>(Fill::large, 2);
  check<Hopper<Ranged<Problem<bf16, 1, 1, 1, 150, 90, 128>, 40>, 128, 32, 2,
               1>>();
  check<Hopper<Narrow<Small>, 64, 32, 2, 1>>();
  check<Hopper<Backward<Small>, 64, 32, 2, 1>>();
  // A partially used last stage, masked and not.
  check<Hopper<Problem<f16, 1, 2, 2, 197, 197, 64>, 256, 64, 4, 1>>();
  check<Hopper<Problem<bf16, 1, 1, 1, 40, 142, 128>, 64, 96, 2, 1>>();
  check<Hopper<Masked<Problem<f16, 1, 2, 2, 99, 99, 64>, f16, true, true, true>,
               128, 64, 3, 1>>(Fill::lowest);
  check<Hopper<Steep<Problem<f16, 1, 2, 2, 70, 207, 64>>, 64, 64, 2, 1>>();
  // Keys that dominate all before them.
  check<Hopper<Steep<Problem<f16, 1, 2, 2, 200, 300, 64>>, 192, 64, 3, 1>>();
  check<Hopper<Steep<Problem<bf16, 1, 1, 1, 64, 500, 128>>, 64, 32, 2, 1, 2>>();
  check<Hopper<Causal<Steep<Problem<f16, 1, 2, 2, 200, 200, 80>>>, 128, 80, 2,
               1>>();
  check<Hopper<Steep<Problem<f16, 1, 2, 2, 130, 300, 40>>, 128, 80, 2, 1>>();
#ifndef FRIT_EMULATE
  check<Hopper<Square<1, 3, 384, 64>, 192, 96, 5, 1>>(Fill::large, 2);
  check<Hopper<Square<1, 2, 600, 128>, 128, 128, 2, 1>>(Fill::large, 7);
  check<Hopper<Causal<Square<1, 2, 1000, 64>>, 64, 128, 4, 1, 2>>();
  check<Hopper<Masked<Square<2, 2, 384, 64>, boolean, true, false, false>, 192,
               96, 5, 1>>();
#endif
}
#endif

#ifndef FRIT_EMULATE
template <class P> static void benchOne(const char *name) {
  std::string text = nameOf<P>(name) + ", stages " + std::to_string(P::stages) +
                     ", blocks " + std::to_string(P::blocks);
  benchAttention<P>(text, [](auto q, auto k, auto v, auto o) {
    launchAttention<P>(q, k, v, nullptr, o, nullptr);
  });
}
#endif

static void benches() {
#ifndef FRIT_EMULATE
#define HOPPER(name, ...) benchOne<Hopper<__VA_ARGS__>>(name)
  HOPPER("bert b1", Bert1, 64, 96, 4, 1, 2);
  HOPPER("vit b1", Vit1, 64, 128, 2, 1, 2);
  HOPPER("gpt b1", Gpt1, 64, 128, 4, 1, 2);
  HOPPER("bert b32", Bert, 64, 96, 2, 3);
  HOPPER("bert b32", Bert, 192, 96, 5, 1);
  HOPPER("vit b32", Vit, 64, 80, 2, 3);
  HOPPER("vit b32", Vit, 256, 64, 4, 1);
  HOPPER("u-net 64x64", Square<2, 8, 4096, 40>, 256, 80, 4, 1);
  HOPPER("u-net 32x32", Square<2, 8, 1024, 80>, 128, 128, 2, 1);
  HOPPER("u-net 16x16", Square<2, 8, 256, 160>, 64, 64, 2, 1);
  HOPPER("dit b2", Square<2, 16, 256, 72>, 128, 96, 3, 1);
  HOPPER("long", Long, 128, 128, 2, 1);
  HOPPER("long causal", Causal<Long>, 128, 128, 2, 1);
#undef HOPPER
#endif
}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
