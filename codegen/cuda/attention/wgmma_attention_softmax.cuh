//===- wgmma_attention_softmax.cuh - A softmax that seldom looks back -----===//
//
// The softmax of attention_rows.cuh in fewer instructions. Weights need not be
// relative to the maximum, only to something near it that they all share: the
// base. While no score is far above it the base stays, and with it all that was
// summed, as in FlashAttention-4 (Zadouri et al., 2026). Where no mask hides
// the first keys, the next ones are not even compared: weights that came out
// too large are made again.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DEVICE_WGMMA_ATTENTION_SOFTMAX_CUH
#define FRIT_DEVICE_WGMMA_ATTENTION_SOFTMAX_CUH

#include "frit/wgmma_attention_tile.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// `top` is what the weights are relative to.
template <class P> struct LazySoftmax : AttentionSoftmax<P> {
  using Scores = AttentionScores<P>;
  using AttentionSoftmax<P>::top;
  using AttentionSoftmax<P>::total;
  using AttentionSoftmax<P>::baseOf;

  /// Whether every row has a base after the first keys. Then no maximum is
  /// looked for as long as weights are good.
  static constexpr bool kGuesses = !kHasMask<P>;
  /// How far scores may be above the base where maxima are known, and what a
  /// thread's weights of a row may add up to where not: the largest f16 is
  /// 65504.
  static constexpr float kSlack = 8 / Scores::kLate;
  static constexpr float kMostSum = 32768;

  /// The rows' maxima, or `best` where that is larger.
  template <int Keys>
  __device__ static void findMaxima(float (&best)[2],
                                    const float (&scores)[Keys][4]) {
    // Chains of their own make the way to the result short.
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

  /// Makes weights of scores and adds them to `sums`.
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

  /// Weighs the first keys.
  template <int Keys> __device__ void weighFirst(float (&scores)[Keys][4]) {
    findMaxima(top, scores);
    exponentiate(scores, total);
  }

  /// Weighs more keys. Returns whether the base went up: then what was summed
  /// before is to be multiplied with `rest`.
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

  /// The same, with the base that there is if that will do; `again(scores)`
  /// makes the scores anew.
  template <int Keys, class Again>
  __device__ bool guessMore(float (&scores)[Keys][4], float (&rest)[2],
                            const Again &again) {
    float sums[2] = {};
    exponentiate(scores, sums);
    // True of what is no number as well.
    bool bad = !(sums[0] < kMostSum && sums[1] < kMostSum);
    if (__any_sync(~0u, bad)) {
      again(scores);
      return weighMore(scores, rest);
    }
    total[0] += sums[0];
    total[1] += sums[1];
    return false;
  }

  /// What makes means of weighted sums.
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
      scales[half] = scales[half] == 0 ? 0 : __fdividef(1, scales[half]);
  }
};

} // namespace frit

#endif

#endif // FRIT_DEVICE_WGMMA_ATTENTION_SOFTMAX_CUH
