//===- wgmma_gemm.cuh - Matrix products on sm_90a -------------------------===//
//
// D[b] = epilogue(A[b] · B[b] + bias + R[b]) for A and B of f16 or bf16,
// accumulated in f32, D and R of f16, bf16 or f32. The problem is a struct of
// constants, gemm.cuh's with a few more:
//
//   struct P {
//     using A = frit::f16, B = frit::f16;       // the same
//     using D = frit::f16, Bias = frit::f16;    // Bias f16, bf16 or f32
//     static constexpr int64_t m, n, k, batch;
//     static constexpr int64_t ldd;             // of D and R, in elements
//     static constexpr int64_t strideA, strideB, strideD;  // 0: no batch
//     static constexpr bool transposeA;         // A is stored k × m
//     static constexpr bool transposeB;         // B is stored n × k
//     using Epilogue = frit::Identity;          // see tile.cuh
//     static constexpr int tileM;               // 64, 128 or 192
//     static constexpr int tileN;               // 64, 128, 192 or 256
//     static constexpr int stages;              // 2 or more
//     static constexpr int cluster;             // blocks along m that share B
//     static constexpr int split;               // split-K: 1, 2, 4, 8
//     static constexpr int blocks;              // per SM: 1, 2
//     static constexpr bool constantB;          // no kernel writes B
//   };
//
// and end_stages.cuh's, which need batch 1 and ldd = n. With P::Gate, n and ldd
// are those of the sums, and D has half as many columns; the unit of a block
// (wgmma_layout.cuh) must have a multiple of 128.
//
// wgmmaGemmPair takes a second matrix B, of the same shape, if P has
//
//   static constexpr bool isPair = true;
//
// Its product with A, rounded to D, is R; D is f16 or bf16, there is one batch
// and no bias. A tile has 64 columns of each matrix in turn, so `tileN` counts
// both, as does n in `tiles` below, and a unit has a multiple of 128 columns.
//
// `cluster` times `split` is at most 8. `split` is at most ceil(k / 64), and
// divides tileM / 16 or is 8 for a tile of 64 × 128 or 64 × 256.
//
// Kernels are declared
//
//   extern "C" __global__ void __cluster_dims__(cluster * split, 1, 1)
//       __launch_bounds__(threads, blocks)
//
// and launched with these threads, dynamic shared memory and grid:
//
//   threads = 384 for 128 rows and one block, else 2 * tileM + 32 or more
//   stage  = (tileM + tileN) * 128
//   boxes  = tileM * 128 / split, or 2048 if that is more
//   slots  = 4 where tileM is 128 and split is 1, else 2
//   parts  = (split - 1) * tileM * tileN * 4 / split, or 0 where that and the
//            stages are more than `most`: then they share memory
//   most   = maxSharedBytes(blocks)
//   shared = stages * stage + parts + 512 + slots * boxes, with slots halved
//            while that is more than `most`, and not 1
//   tiles  = ceil(m / (tileM * cluster)) * ceil(n / tileN) * batch
//   grid.x = split > 1 ? tiles * cluster * split
//                      : a multiple of cluster, at most tiles * cluster;
//                        one wave of blocks is enough
//
// `shared` is at most `most`. A thread has up to 240 registers with one block
// of 128 rows per SM, 96 with two, 128 with one block of 192 rows or two of 64,
// and 255 with one of 64. It needs about tileN / 2 + 40, somewhat fewer if
// `blocks` is 2. With 2 blocks per SM, the next kernel's first blocks can run
// concurrently with the last of this one and prefetch their weights.
//
// Tensor maps, all of rank 3, innermost first, swizzled by 128 bytes, zeros
// outside. The batch dimension has size 1 (and any stride) if the operand's
// stride is 0, else P::batch:
//
//   A, transposeA  dims m, k, batch   box 64, 64, 1
//      else        dims k, m, batch   box 64, tileM, 1
//   B, transposeB  dims k, n, batch   box 64, tileN / cluster, 1
//      else        dims n, k, batch   box 64, 64, 1
//   of a pair, each as B but          box 64, 64, 1
//   D              dims n, m, batch   box 128 / sizeof(D), 16, 1
//   R              as D; the sum's map instead if P stores the sum
//
// so addresses, leading dimensions and strides of A and B must be multiples of
// 16 bytes. D and R have maps only if ldd and strideD are multiples of 16 bytes
// (kWgmmaStoresBoxes); otherwise they need no alignment.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_GEMM_CUH
#define FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_GEMM_CUH

#include "frit/wgmma_tile.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// Whether D and R are accessed by TMA.
template <class P>
inline constexpr bool kWgmmaStoresBoxes = WgmmaPlan<P>::kBoxes;

/// Operands of a product, in units of 64 steps of k.
template <class P> struct WgmmaMatrices {
  static constexpr int steps = wgmmaCeil(P::k, kWgmmaDepth);
  static constexpr int lineBytesA = 128;
  const TensorMap *mapA, *mapB;

  __device__ void loadA(unsigned char *to, Barrier &barrier,
                        const WgmmaTile &tile, int step) const {
    const int k = step * kWgmmaDepth, batch = P::strideA ? tile.batch : 0;
    if constexpr (P::transposeA)
#pragma unroll
      for (int i = 0; i < P::tileM; i += 64)
        loadBox(to + i * 128, mapA, barrier, tile.m + i, k, batch);
    else
      loadBox(to, mapA, barrier, k, tile.m, batch);
  }

  /// Loads B. Blocks that share it each multicast a part of it to all of them.
  __device__ void loadB(unsigned char *to, Barrier &barrier,
                        const WgmmaTile &tile, int step, int rank) const {
    const int k = step * kWgmmaDepth, batch = P::strideB ? tile.batch : 0;
    auto load = [&](unsigned char *to, int x, int y) {
      if constexpr (P::cluster > 1)
        loadBoxInto(sharersOfBlock<P>(rank), to, mapB, barrier, x, y, batch);
      else
        loadBox(to, mapB, barrier, x, y, batch);
    };
    if constexpr (P::transposeB) {
      const int first =
          P::cluster > 1 ? rowsOfBlock<P>(rank) * (P::tileN / P::cluster) : 0;
      load(to + first * 128, k, tile.n + first);
    } else {
      // Round-robin over the boxes; some blocks may have one box fewer.
#pragma unroll
      for (int i = 0; i < P::tileN; i += 64)
        if (P::cluster == 1 || i / 64 % P::cluster == rowsOfBlock<P>(rank))
          load(to + i * 128, tile.n + i, k);
    }
  }
};

/// Computes the whole product; pass null for an absent bias, residual or map.
template <class P>
__device__ inline void
wgmmaGemm(const TensorMap *mapA, const TensorMap *mapB, const TensorMap *mapD,
          const TensorMap *mapR, const typename P::Bias *bias,
          const typename P::D *r, typename P::D *d, EndOperands end = {}) {
  WgmmaMatrices<P> operands = {mapA, mapB};
  if (threadIdx.x == 0)
    prefetchMap(mapB);
  if (threadIdx.x == 32)
    prefetchMap(mapA);
  wgmmaProduct<P>(operands, mapD, mapR, bias, r, d, end);
}

/// Operands of a product with two matrices B.
template <class P> struct WgmmaPairMatrices : WgmmaMatrices<P> {
  static_assert(kIsPair<P> && P::batch == 1 && P::tileN % 128 == 0);
  const TensorMap *mapPaired;

  /// Loads B: 64 columns of each matrix in turn. Blocks that share it each
  /// multicast every other box.
  __device__ void loadB(unsigned char *to, Barrier &barrier,
                        const WgmmaTile &tile, int step, int rank) const {
    const int k = step * kWgmmaDepth;
#pragma unroll
    for (int i = 0; i < P::tileN; i += 64) {
      if (P::cluster > 1 && i / 64 % P::cluster != rowsOfBlock<P>(rank))
        continue;
      const TensorMap *map = i % 128 ? mapPaired : this->mapB;
      const int n = tile.n / 2 + i / 128 * 64;
      const int x = P::transposeB ? k : n, y = P::transposeB ? n : k;
      if constexpr (P::cluster > 1)
        loadBoxInto(sharersOfBlock<P>(rank), to + i * 128, map, barrier, x, y,
                    0);
      else
        loadBox(to + i * 128, map, barrier, x, y, 0);
    }
  }
};

/// Computes two products and what combines them; `bias` and `r` are null.
template <class P>
__device__ inline void
wgmmaGemmPair(const TensorMap *mapA, const TensorMap *mapB,
              const TensorMap *mapPaired, const TensorMap *mapD,
              const TensorMap *mapR, const typename P::Bias *bias,
              const typename P::D *r, typename P::D *d) {
  WgmmaPairMatrices<P> operands = {{mapA, mapB}, mapPaired};
  if (threadIdx.x == 0) {
    prefetchMap(mapB);
    prefetchMap(mapPaired);
  }
  if (threadIdx.x == 32)
    prefetchMap(mapA);
  wgmmaProduct<P>(operands, mapD, mapR, bias, r, d);
}

} // namespace frit

#else

// Without WGMMA, gemmFloor computes the same problems.
#include "frit/gemm.cuh"

#endif

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_GEMM_CUH
