//===- wgmma_attention_products.cuh - Products of attention on sm_90a -----===//
//
// The two products of wgmma_attention.cuh for a warpgroup's 64 rows of queries:
// queries by keys, and weights by values. Operands are stages of
// AttentionMemory; weights are in registers.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_PRODUCTS_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_PRODUCTS_CUH

#include "frit/attention_products.cuh"
#include "frit/wgmma_attention_tile.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// Products of a warpgroup. Each function but multiplyKeysSync() starts a group
/// of WGMMAs that all four warps must enter.
template <class P> struct WgmmaAttentionProducts {
  using T = typename P::T;
  using Shape = WgmmaAttentionShape<P>;
  static constexpr int kValues = Shape::kValueColumns / 8;
  using Sums = float[kValues][4];

  /// Scores and weights of 8 · Keys keys.
  template <int Keys> struct KeyTile {
    float scores[Keys][4];
    uint32_t weights[Keys / 2][4];
  };

  /// Starts scores = q · k, for the warpgroup's queries and a stage's keys.
  template <int Keys>
  __device__ static void multiplyKeys(float (&scores)[Keys][4],
                                      const unsigned char *q,
                                      const unsigned char *k) {
    fenceProducts();
#pragma unroll
    for (int step = 0; step < Shape::kSizeSteps; ++step) {
      int box = step / 4, by = step % 4 * kNextSteps<true>;
      Wgmma<Keys * 8>::template multiply<T, true, true>(
          reinterpret_cast<float (&)[Keys * 4]>(scores),
          advanceOperand(describeOperand<true>(q + box * P::tileM * 128), by),
          advanceOperand(describeOperand<true>(k + box * P::tileN * 128), by),
          step > 0);
    }
    commitProducts();
  }

  /// Computes the same scores synchronously by mma.sync, for rows 16 · `warp`
  /// to 16 · `warp` + 15 of the block's queries.
  template <int Keys>
  __device__ static void multiplyKeysSync(float (&scores)[Keys][4],
                                          unsigned char *queries,
                                          unsigned char *keys, int warp) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int key = 0; key < Keys; ++key)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scores[key][i] = 0;
#pragma unroll 1
    for (int step = 0; step < Shape::kSizeSteps; ++step) {
      unsigned char *q = queries + step / 4 * P::tileM * 128;
      unsigned char *k = keys + step / 4 * P::tileN * 128;
      const int piece = step % 4 * 2;
      uint32_t a[4];
      loadMatrices<false>(
          a, swizzledPiece(q, warp * 16 + lane % 16, piece + lane / 16));
#pragma unroll
      for (int key = 0; key < Keys; key += 2) {
        uint32_t b[4];
        loadMatrices<false>(b,
                            swizzledPiece(k, key * 8 + lane / 16 * 8 + lane % 8,
                                          piece + lane / 8 % 2));
        mma<T>(scores[key], a, {b[0], b[1]});
        mma<T>(scores[key + 1], a, {b[2], b[3]});
      }
    }
  }

  /// Starts sums += weights · values, for a stage's values.
  template <int Steps>
  __device__ static void addValues(Sums &sums,
                                   const uint32_t (&weights)[Steps][4],
                                   const unsigned char *values) {
    uint64_t v = describeOperand<false>(values, P::tileN);
    fenceProducts();
#pragma unroll
    for (int step = 0; step < Steps; ++step)
      Wgmma<Shape::kValueColumns>::template multiply<T, false>(
          reinterpret_cast<float (&)[kValues * 4]>(sums), weights[step],
          advanceOperand(v, step * kNextSteps<false>), true);
    commitProducts();
  }

  /// Rounds a tile's scores, which are weights by now, to the operand of
  /// addValues().
  template <int Keys> __device__ static void pack(KeyTile<Keys> &tile) {
#pragma unroll
    for (int step = 0; step < Keys / 2; ++step)
      packWeights<T>(tile.weights[step], tile.scores, step * 2);
  }
};

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_ATTENTION_WGMMA_ATTENTION_PRODUCTS_CUH
