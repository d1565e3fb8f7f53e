//===- attention.cu - Checks attention.cuh --------------------------------===//

#include "attention.h"

template <class P>
__global__ void __launch_bounds__(frit::AttentionShape<P>::kThreads)
    plain(const typename P::T *q, const typename P::T *k,
          const typename P::T *v, typename P::T *o, float *stats) {
  frit::attention<P>(q, k, v, nullptr, o, stats);
}
template <class P>
__global__ void __launch_bounds__(frit::AttentionShape<P>::kThreads)
    masked(const typename P::T *q, const typename P::T *k,
           const typename P::T *v, const typename P::Mask *mask,
           typename P::T *o, float *stats) {
  frit::attention<P>(q, k, v, mask, o, stats);
}

template __global__ void
plain<Tiled<Bert, 64, 16, 64, 1>>(const frit::f16 *, const frit::f16 *,
                                  const frit::f16 *, frit::f16 *, float *);
template __global__ void
plain<Tiled<Gpt1, 64, 16, 64, 2>>(const frit::f16 *, const frit::f16 *,
                                  const frit::f16 *, frit::f16 *, float *);
template __global__ void
plain<Tiled<Long, 128, 32, 64, 1>>(const frit::f16 *, const frit::f16 *,
                                   const frit::f16 *, frit::f16 *, float *);
template __global__ void plain<Tiled<Single<Bert, false>, 128, 32, 64, 1>>(
    const float *, const float *, const float *, float *, float *);
template __global__ void plain<Tiled<Single<Gpt1, true>, 64, 16, 32, 2>>(
    const float *, const float *, const float *, float *, float *);
template __global__ void plain<Tiled<Single<Long, true>, 64, 16, 32, 1>>(
    const float *, const float *, const float *, float *, float *);
template __global__ void
masked<Masked<Bert, frit::boolean, true, false, false>>(const frit::f16 *,
                                                        const frit::f16 *,
                                                        const frit::f16 *,
                                                        const frit::boolean *,
                                                        frit::f16 *, float *);

#ifndef __CUDACC_RTC__

using namespace harness;

/// Runs the kernel in `blocks` blocks, or in the default number.
template <class P>
static void launchAttention(typename P::T *q, typename P::T *k,
                            typename P::T *v, const typename P::Mask *mask,
                            typename P::T *o, float *stats,
                            int64_t blocks = 0) {
  using Shape = frit::AttentionShape<P>;
  dim3 grid(blocks ? blocks : Shape::kBlocks);
  if constexpr (!std::is_void_v<typename P::Mask>)
    launchShared(masked<P>, grid, Shape::kThreads, Shape::kShared, q, k, v,
                 mask, o, stats);
  else
    launchShared(plain<P>, grid, Shape::kThreads, Shape::kShared, q, k, v, o,
                 stats);
}

template <class P> static void check(Fill fill = Fill::large, int blocks = 0) {
  checkAttention<P>(
      fill, [&](auto... pointers) { launchAttention<P>(pointers..., blocks); });
}

static void checks() {
  // All tail lengths, one key, one query, sizes that fill no fragment.
  check<Problem<f16, 1, 2, 2, 17, 17, 64>>();
  check<Problem<f16, 2, 3, 3, 1, 1, 32>>();
  check<Problem<bf16, 1, 2, 2, 70, 70, 80>>();
  check<Problem<f16, 1, 2, 2, 5, 131, 128>>();
  check<Problem<f16, 1, 1, 1, 33, 40, 24>>();
  // Heads that share keys, more rows per warp, several warp sets, small grids.
  check<Tiled<Problem<f16, 2, 6, 2, 77, 150, 32>, 64, 32, 32, 1>>();
  check<Tiled<Problem<bf16, 1, 4, 1, 40, 197, 64>, 32, 16, 48, 2>>();
  check<Tiled<Problem<f16, 1, 2, 2, 197, 197, 64>, 32, 16, 64, 4>>(Fill::large,
                                                                   3);
  check<Tiled<Problem<f16, 1, 1, 1, 40, 100, 256>, 32, 16, 32, 1>>();
  // The causal rule, on its own and with tails, sets and rows without keys.
  check<Causal<Problem<f16, 1, 2, 2, 150, 150, 32>>>();
  check<Causal<Tiled<Problem<f16, 1, 2, 2, 150, 150, 64>, 64, 32, 32, 2>>>();
  check<Causal<Problem<f16, 1, 1, 1, 90, 40, 32>>>();
  check<Causal<Problem<f16, 1, 2, 1, 9, 85, 32>, 76>>();
  check<Causal<Problem<f16, 1, 2, 1, 85, 85, 32>, -20>>();
  // Masks of every type and shape.
  using Small = Problem<f16, 2, 2, 2, 71, 71, 32>;
  using Even = Problem<bf16, 2, 2, 2, 70, 70, 32>;
  check<Masked<Small, boolean, true, false, false>>();
  check<Masked<Small, boolean, false, false, true>>();
  check<Masked<Even, boolean, true, true, true>>();
  check<Masked<Even, boolean, true, false, true, false>>();
  check<Masked<Small, float, true, true, true>>();
  check<Masked<Small, f16, false, false, true>>();
  check<Masked<Even, bf16, false, true, false>>();
  check<Masked<Causal<Even>, float, true, false, false>>();
  check<Masked<Small, float, true, false, true>>(Fill::lowest);
  // Rows whose keys are all hidden: by -inf or the causal rule; zero or NaN.
  check<Masked<Tiled<Even, 32, 16, 16, 2>, float, true, false, true>>(
      Fill::infinite);
  check<Masked<Small, f16, false, false, true>>(Fill::infinite);
  check<Masked<Causal<Even>, bf16, true, true, true>>(Fill::infinite);
  check<Unguarded<Masked<Small, float, true, false, true>>>(Fill::infinite);
  check<Unguarded<Masked<Small, float, true, false, true>>>(Fill::lowest);
  check<Unguarded<
      Masked<Tiled<Even, 32, 16, 16, 2>, boolean, true, true, true>>>();
  // Ranges of keys, narrower and wider than tiles, with warp sets and batches.
  using Many = Problem<f16, 2, 2, 1, 200, 200, 32>;
  check<Ranged<Many, 40>>();
  check<Ranged<Many, 1>>();
  check<Ranged<Tiled<Many, 64, 32, 32, 2>, 90, false, true>>(Fill::large, 3);
  check<Ranged<Tiled<Many, 64, 16, 16, 1>, 70, true>>();
  check<Ranged<Problem<bf16, 1, 2, 2, 30, 170, 64>, 300>>();
  check<Ranged<Problem<f16, 2, 2, 2, 170, 90, 64>, 50, true, true>>();
  check<Ranged<Single<Many, true>, 33>>();
  check<Backward<Ranged<Many, 40>>>();
  check<Backward<Small>>();
  check<Narrow<Small>>();
  // The same in f32: by one TF32 product, and by three.
  check<Problem<float, 1, 2, 2, 17, 17, 64>>();
  check<Problem<float, 2, 3, 3, 1, 1, 32>>();
  check<Single<Problem<float, 1, 2, 2, 70, 70, 80>, true>>();
  check<Tiled<Problem<float, 1, 1, 1, 33, 40, 28>, 32, 16, 32, 1>>();
  check<Tiled<Problem<float, 1, 2, 2, 5, 131, 128>, 64, 16, 32, 1>>();
  check<Tiled<Problem<float, 2, 6, 2, 77, 150, 64>, 64, 32, 32, 1>>();
  check<Tiled<Single<Problem<float, 1, 4, 1, 40, 197, 64>, true>, 32, 16, 48,
              2>>();
  check<Tiled<Problem<float, 1, 2, 2, 197, 197, 64>, 32, 16, 32, 4>>(
      Fill::large, 3);
  check<Causal<Tiled<Problem<float, 1, 2, 2, 150, 150, 64>, 64, 32, 32, 2>>>();
  check<Causal<Single<Problem<float, 1, 2, 1, 85, 85, 32>, true>, -20>>();
  check<Masked<Single<Small, false>, boolean, true, false, true>>();
  check<Masked<Single<Even, true>, float, true, true, true>>();
  check<Masked<Single<Small, false>, float, true, false, true>>(Fill::lowest);
  check<Backward<Single<Small, false>>>();
  check<Narrow<Single<Small, false>>>();
#ifndef FRIT_EMULATE
  check<Tiled<Square<1, 2, 384, 64>, 64, 16, 96, 2>>();
  check<Tiled<Square<1, 1, 1000, 128>, 128, 32, 64, 1>>();
  check<Tiled<Causal<Square<1, 1, 1000, 64>>, 128, 16, 128, 1>>();
  check<Masked<Square<2, 2, 384, 64>, boolean, true, false, false>>();
  check<Tiled<Single<Square<1, 2, 384, 64>, false>, 128, 32, 64, 1>>();
  check<Tiled<Single<Square<1, 1, 1000, 128>, false>, 64, 16, 32, 1>>();
  check<Tiled<Causal<Single<Square<1, 1, 1000, 64>, true>>, 64, 32, 64, 1>>();
#endif
}

#ifndef FRIT_EMULATE
template <class P> static void benchOne(const char *name) {
  std::string text = nameOf<P>(name);
  if constexpr (sizeof(typename P::T) == 4)
    text += P::tf32 ? ", tf32" : ", f32";
  text += ", rows " + std::to_string(P::rowsPerWarp);
  benchAttention<P>(text, [](auto q, auto k, auto v, auto o) {
    launchAttention<P>(q, k, v, nullptr, o, nullptr);
  });
}
#endif

static void benches() {
#ifndef FRIT_EMULATE
#define BENCH(name, ...) benchOne<Tiled<__VA_ARGS__>>(name)
  BENCH("bert b1", Bert1, 64, 16, 64, 1);
  BENCH("bert b1", Bert1, 64, 16, 96, 2);
  BENCH("vit b1", Vit1, 32, 16, 112, 2);
  BENCH("gpt b1", Gpt1, 64, 16, 64, 1);
  BENCH("gpt b1", Gpt1, 64, 16, 64, 2);
  BENCH("bert b32", Bert, 64, 16, 64, 1);
  BENCH("bert b32", Bert, 128, 32, 64, 1);
  BENCH("vit b32", Vit, 64, 16, 64, 1);
  BENCH("vit b32", Vit, 128, 32, 64, 1);
  BENCH("long", Long, 128, 32, 64, 1);
  BENCH("long causal", Causal<Long>, 128, 32, 64, 1);
#define SINGLE(name, base, ...)                                                \
  benchOne<Tiled<Single<base, true>, __VA_ARGS__>>(name);                      \
  benchOne<Tiled<Single<base, false>, __VA_ARGS__>>(name)
  SINGLE("bert b1", Bert1, 64, 16, 96, 2);
  SINGLE("vit b1", Vit1, 32, 16, 64, 2);
  SINGLE("gpt b1", Gpt1, 64, 16, 64, 2);
  SINGLE("bert b32", Bert, 128, 32, 64, 1);
  SINGLE("bert b32", Bert, 128, 32, 32, 1);
  SINGLE("vit b32", Vit, 128, 32, 64, 1);
  SINGLE("vit b32", Vit, 128, 32, 32, 1);
  SINGLE("long", Long, 64, 16, 32, 1);
  SINGLE("long causal", Causal<Long>, 64, 16, 32, 1);
#undef SINGLE
#undef BENCH
#endif
}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
