//===- wgmma_attention_softmax.cuh - Softmax with a lazily updated base ---===//
//
// The softmax of attention_rows.cuh in fewer instructions. Weights need not be
// relative to the maximum, only to a common base near it. While no score is far
// above the base, it stays, and earlier sums need no rescaling, as in
// FlashAttention-4 (Zadouri et al., 2026). If no mask can hide the first keys,
// later scores are not even compared with the base: weights that come out too
// large are recomputed.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_SOFTMAX_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_SOFTMAX_CUH

#include "frit/wgmma_attention_tile.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// Softmax with a lazily updated base, which is kept in `top`.
template <class P> struct LazySoftmax : AttentionSoftmax<P> {
  using Scores = AttentionScores<P>;
  using AttentionSoftmax<P>::top;
  using AttentionSoftmax<P>::total;
  using AttentionSoftmax<P>::baseOf;

  /// Whether every row has a base after the first keys. Then maxima are only
  /// computed if weights become too large.
  static constexpr bool kGuesses = !kHasMask<P> && !kHasRanges<P>;
  /// kSlack: how far scores may exceed the base if maxima are known. kMostSum:
  /// the limit of a thread's sum of weights per row if they are not; the
  /// largest f16 is 65504.
  static constexpr float kSlack = 8 / Scores::kLate;
  static constexpr float kMostSum = 32768;

  /// Updates `best` with the maxima of the rows.
  template <int Keys>
  __device__ static void findMaxima(float (&best)[2],
                                    const float (&scores)[Keys][4]) {
    // Independent chains shorten the critical path.
    float second[2] = {best[0], best[1]};
#pragma unroll
    for (int key = 0; key < Keys; ++key)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        best[half] = fmaxf(best[half], scores[key][half * 2]);
        second[half] = fmaxf(second[half], scores[key][half * 2 + 1]);
      }
#pragma unroll
    for (int half = 0; half < 2; ++half)
      best[half] = fmaxf(best[half], second[half]);
#pragma unroll
    for (int lanes = 1; lanes < 4; lanes *= 2)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        best[half] = fmaxf(best[half], __shfl_xor_sync(~0u, best[half], lanes));
  }

  /// Converts scores to weights and adds them to `sums`.
  template <int Keys>
  __device__ void exponentiate(float (&scores)[Keys][4],
                               float (&sums)[2]) const {
    const float base[2] = {baseOf(top[0]), baseOf(top[1])};
#pragma unroll
    for (int key = 0; key < Keys; ++key)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float &score = scores[key][i];
        score = fastExp2(fma(score, Scores::kLate, -base[i / 2]));
        sums[i / 2] += score;
      }
  }

  /// Computes the weights of the first keys.
  template <int Keys> __device__ void weighFirst(float (&scores)[Keys][4]) {
    findMaxima(top, scores);
    exponentiate(scores, total);
  }

  /// Computes the weights of more keys. Returns whether the base went up;
  /// earlier sums must then be multiplied by `rest`.
  template <int Keys>
  __device__ bool weighMore(float (&scores)[Keys][4], float (&rest)[2]) {
    float best[2] = {top[0], top[1]};
    findMaxima(best, scores);
    bool rises =
        __any_sync(~0u, best[0] > top[0] + kSlack || best[1] > top[1] + kSlack);
    if (rises)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        rest[half] =
            fastExp2(fma(top[half], Scores::kLate, -baseOf(best[half])));
        total[half] *= rest[half];
        top[half] = best[half];
      }
    exponentiate(scores, total);
    return rises;
  }

  /// Like weighMore(), but tries the present base first. If it fails,
  /// `again(scores)` recomputes the scores.
  template <int Keys, class Again>
  __device__ bool guessMore(float (&scores)[Keys][4], float (&rest)[2],
                            const Again &again) {
    float sums[2] = {};
    exponentiate(scores, sums);
    // Also true for NaN.
    bool bad = !(sums[0] < kMostSum && sums[1] < kMostSum);
    if (__any_sync(~0u, bad)) {
      again(scores);
      return weighMore(scores, rest);
    }
    total[0] += sums[0];
    total[1] += sums[1];
    return false;
  }

  /// Computes the factors that normalize weighted sums.
  __device__ void findScales(float (&scales)[2]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      scales[half] = total[half];
#pragma unroll
    for (int lanes = 1; lanes < 4; lanes *= 2)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        scales[half] += __shfl_xor_sync(~0u, scales[half], lanes);
#pragma unroll
    for (int half = 0; half < 2; ++half)
      scales[half] = scales[half] == 0 ? AttentionSoftmax<P>::hiddenScale()
                                       : __fdividef(1, scales[half]);
  }
};

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_SOFTMAX_CUH
