//===- code_lanes.cuh - Codes that a lane has -----------------------------===//
//
// The matrix B of code_rows.cuh, in the order of Quantized.h, which rows and
// columns fill. P has
//
//   using Scale = frit::f16;       // of scales and offsets
//   static constexpr Code code;
//   static constexpr int block;    // columns of B that share a scale
//   static constexpr bool hasOffsets;
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_CODE_LANES_CUH
#define FRIT_CODEGEN_CUDA_ROWS_CODE_LANES_CUH

#include "frit/codes.cuh"
#include "frit/few_rows.cuh"
#include "frit/integer_mma.cuh"

namespace frit {

/// Whether an instruction converts e4m3 to f16.
#if !defined(FRIT_EMULATE) && __CUDA_ARCH__ >= 890
inline constexpr bool kConvertsE4m3 = true;
#else
inline constexpr bool kConvertsE4m3 = false;
#endif

/// Returns codes 2 i and 2 i + 1 of e4m3 of a word as f16, if it does.
__device__ inline uint32_t convertE4m3(uint32_t word, int i) {
  uint32_t pair = 0;
#if !defined(FRIT_EMULATE) && __CUDA_ARCH__ >= 890
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;"
      : "=r"(pair)
      : "h"(uint16_t(word >> 16 * i)));
#endif
  return pair;
}

/// Columns that the codes of a step have, of which tensor cores multiply bytes
/// at once.
inline constexpr int kUnit = 32;

/// How the warps of a block share a matrix B of codes.
template <class P> struct CodeShares {
  static constexpr int warps = P::threads / 32, groups = warps / P::split;
  /// Columns of a tile, tiles along k of the matrix and of a warp, and those of
  /// a warp for which A is in shared memory at a time.
  static constexpr int depth = 8 * kWordCodes<P::code>;
  static constexpr int chunks = int(P::k / depth);
  static constexpr int parts = (chunks + P::split - 1) / P::split;
  static constexpr int slab = parts < 256 / depth ? parts : 256 / depth;
  static constexpr int slabs = (parts + slab - 1) / slab;
  static constexpr int width = slab * depth; ///< of a slab, elements
};

/// A matrix of codes in tiles.
template <class P> struct CodeMatrix {
  const void *codes;
  const typename P::Scale *scales, *offsets; ///< offsets are null without any
};

/// The codes of a tile that a lane has, with their scales.
template <class P> struct LaneCodes {
  static constexpr int depth = CodeShares<P>::depth, units = depth / kUnit;
  /// Columns that share a scale within a tile, and such groups of it.
  static constexpr int scaled = P::block % kUnit   ? 16
                                : P::block % depth ? kUnit
                                                   : depth;
  static constexpr int groups = depth / scaled;
  using Scales = Pack<typename P::Scale, 2>; ///< of rows g and g + 8
  Pack<uint32_t, 4> words;
  Scales scales[groups], offsets[P::hasOffsets ? groups : 1];

  __device__ void read(const CodeMatrix<P> &b, int64_t tile, int64_t chunk) {
    constexpr int64_t chunks = P::k / depth, blocks = P::k / P::block;
    const int lane = threadIdx.x % 32;
    words = loadOnce(reinterpret_cast<const uint32_t *>(b.codes) +
                     (tile * chunks + chunk) * 128 + lane * 4);
#pragma unroll
    for (int i = 0; i < groups; ++i) {
      int64_t block = (chunk * depth + i * scaled) / P::block;
      int64_t at = (tile * blocks + block) * 8 + lane / 4;
      scales[i] = reinterpret_cast<const Scales *>(b.scales)[at];
      if constexpr (P::hasOffsets)
        offsets[i] = reinterpret_cast<const Scales *>(b.offsets)[at];
    }
  }

  /// What products are multiplied by beside the scale.
  static constexpr bool converts = P::code == Code::e4m3 && kConvertsE4m3;
  static constexpr float kFactor = P::code == Code::int4 ? 1.f / 16
                                   : kHasIntegers<P::code> || converts
                                       ? 1.f
                                       : kCodeFactor<f16, P::code>;

  /// Returns the first fragment of unit `unit` in bytes.
  __device__ void bytes(uint32_t (&a)[4], int unit) const {
    constexpr uint32_t high = 0xf0f0f0f0, sign = 0x80808080;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (P::code == Code::int4) {
        uint32_t word = words.at[i % 2 * 2 + unit];
        a[i] = ((i < 2 ? word << 4 : word) ^ sign) & high;
      } else {
        a[i] = words.at[i % 2 * 2 + i / 2] ^ sign;
      }
    }
  }
  /// Returns that of its half `half` in f16.
  __device__ void halves(uint32_t (&a)[4], int unit, int half) const {
    constexpr bool isFine = kCodeBits<P::code> == 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t word = words.at[i % 2 * 2 + (isFine ? unit : half)];
      const int pair = (isFine ? 2 * half : 0) + i / 2;
      a[i] = converts ? convertE4m3(word, pair)
                      : decodePair<f16, P::code>(word, pair);
    }
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_CODE_LANES_CUH
