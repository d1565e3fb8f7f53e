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
#include "frit/copy.cuh"
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

/// Returns the bits of `kept`, of which those of `flipped` are inverted: one
/// instruction, which compilers make two with a constant each.
__device__ inline uint32_t flipBits(uint32_t word, uint32_t flipped,
                                    uint32_t kept) {
#ifdef FRIT_EMULATE
  return (word ^ flipped) & kept;
#else
  uint32_t bits;
  asm("lop3.b32 %0, %1, %2, %3, 0x28;"
      : "=r"(bits)
      : "r"(word), "r"(flipped), "r"(kept));
  return bits;
#endif
}

/// Whether codes become numbers of A's type, by which its rows are multiplied
/// as they are. Else A becomes bytes or f16, which codes need few instructions
/// for.
template <class P> __device__ constexpr bool widensCodes() {
  if constexpr (requires { P::widens; })
    return P::widens;
  return false;
}
template <class P> inline constexpr bool kWidens = widensCodes<P>();
template <class P>
inline constexpr bool kMakesBytes = kHasIntegers<P::code> && !kWidens<P>;
/// The numbers that are multiplied if they are no bytes.
template <class P, bool widens = kWidens<P>> struct CodeNumbers {
  using Type = f16;
  static constexpr float bias = 0;
};
template <class P> struct CodeNumbers<P, true> {
  using Type = typename P::A;
  /// What they exceed codes by.
  static constexpr float bias = codeBias<Type, P::code>(0);
  static_assert(kSame<Type, bf16>);
};

/// Sums of products: integers of bytes, else floats.
template <class P, bool isInteger = kMakesBytes<P>> struct ProductSum {
  using Type = int;
};
template <class P> struct ProductSum<P, false> {
  using Type = float;
};

/// Columns that the codes of a step have, of which tensor cores multiply bytes
/// at once.
inline constexpr int kUnit = 32;

/// How the warps of a block share a matrix B of codes.
template <class P> struct CodeShares {
  static constexpr int warps = P::threads / 32, groups = warps / P::split;
  /// Columns of a tile, tiles along k of the matrix and of a warp, and those of
  /// a warp for which a row of A has one factor.
  static constexpr int depth = 8 * kWordCodes<P::code>;
  static constexpr int chunks = int(P::k / depth);
  static constexpr int parts = (chunks + P::split - 1) / P::split;
  static constexpr int slab = parts < 256 / depth ? parts : 256 / depth;
  static constexpr int slabs = (parts + slab - 1) / slab;
  static constexpr int width = slab * depth; ///< of a slab, elements
  /// Whether shares of k and slabs consist of so many tiles.
  static __device__ constexpr bool consistOf(int tiles) {
    return chunks % tiles == 0 && parts % tiles == 0 && slab % tiles == 0;
  }
};

/// Tiles along k that a warp copies together.
template <class P> __device__ constexpr int countTogether() {
  if constexpr (requires { P::together; })
    return P::together;
  return 1;
}
template <class P> inline constexpr int kTilesTogether = countTogether<P>();

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
  /// Whether a row of B has one scale.
  static constexpr bool isOfRow = P::block == P::k;
  using Scales = Pack<typename P::Scale, 2>; ///< of rows g and g + 8
  Pack<uint32_t, 4> words;
  Scales scales[groups], offsets[P::hasOffsets ? groups : 1];

  /// Returns where the scales of group `group` are, of rows g and g + 8 = 8 of
  /// a tile: `place` is the tile's number in the matrix.
  static __device__ int64_t placeOf(int64_t place, int group) {
    if constexpr (P::block % depth)
      return (place * groups + group) * 8;
    else
      return place / (P::block / depth) * 8;
  }

  /// Reads the scales of a row of tiles, if they are those of whole rows.
  __device__ void readOfRow(const CodeMatrix<P> &b, int64_t row) {
    const int64_t at = row * 8 + int(threadIdx.x) % 32 / 4;
    scales[0] = reinterpret_cast<const Scales *>(b.scales)[at];
    if constexpr (P::hasOffsets)
      offsets[0] = reinterpret_cast<const Scales *>(b.offsets)[at];
  }

  /// What products are multiplied by beside the scale.
  using Number = typename CodeNumbers<P>::Type;
  static constexpr bool converts =
      P::code == Code::e4m3 && kConvertsE4m3 && !kWidens<P>;
  static constexpr float kFactor =
      kMakesBytes<P> ? (P::code == Code::int4 ? 1.f / 16 : 1.f)
      : converts     ? 1.f
                     : kCodeFactor<Number, P::code>;

  /// Returns the first fragment of unit `unit` in bytes.
  __device__ void bytes(uint32_t (&a)[4], int unit) const {
    constexpr uint32_t high = 0xf0f0f0f0, sign = 0x80808080;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (P::code == Code::int4) {
        uint32_t word = words.at[i % 2 * 2 + unit];
        a[i] = flipBits(i < 2 ? word << 4 : word, sign, high);
      } else {
        a[i] = words.at[i % 2 * 2 + i / 2] ^ sign;
      }
    }
  }
  /// Returns that of its half `half` in numbers.
  __device__ void halves(uint32_t (&a)[4], int unit, int half) const {
    constexpr bool isFine = kCodeBits<P::code> == 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t word = words.at[i % 2 * 2 + (isFine ? unit : half)];
      const int pair = (isFine ? 2 * half : 0) + i / 2;
      a[i] = converts ? convertE4m3(word, pair)
                      : decodePair<Number, P::code>(word, pair);
    }
  }
};

/// Tiles of codes on their way from memory to a warp: a ring of stages in
/// shared memory. A lane copies the codes that it reads itself; scales, unless
/// they are those of rows, are copied for the whole warp.
template <class P> struct CodeRing {
  using Codes = LaneCodes<P>;
  using Scales = typename Codes::Scales;
  /// Tiles along k of a stage, and all of it.
  static constexpr int depth = kTilesTogether<P>;
  static_assert(CodeShares<P>::consistOf(depth));
  static constexpr int tiles = kWarpTiles<P> * depth;
  static constexpr int tileBytes = 16 * 32, laneBytes = 16;
  /// Scales of a tile, and offsets likewise.
  static constexpr int factors = Codes::isOfRow ? 0 : 8 * Codes::groups;
  static constexpr int factorBytes =
      factors * (P::hasOffsets ? 2 : 1) * int(sizeof(Scales));
  static constexpr int bytes = P::stages * tiles * (tileBytes + factorBytes);

  char *shared; ///< of `bytes` bytes, of the warp

  __device__ char *codesOf(int stage) const {
    return shared + stage * (tiles * tileBytes) +
           int(threadIdx.x) % 32 * laneBytes;
  }
  /// Returns the scales of `depth` tiles along k, after which are their
  /// offsets.
  __device__ Scales *factorsOf(int stage, int t) const {
    return reinterpret_cast<Scales *>(shared + P::stages * tiles * tileBytes +
                                      (stage * tiles + t * depth) *
                                          factorBytes);
  }

  /// Starts copying tiles for tile `t` of the warp: those from number `place`
  /// of the matrix on.
  __device__ void fetch(int stage, int t, const CodeMatrix<P> &b,
                        int64_t place) const {
    const char *from = static_cast<const char *>(b.codes) + place * tileBytes +
                       int(threadIdx.x) % 32 * laneBytes;
    char *to = codesOf(stage) + t * depth * tileBytes;
#pragma unroll
    for (int c = 0; c < depth; ++c)
      copyAsync(to + c * tileBytes, from + c * tileBytes);
    fetchFactors(factorsOf(stage, t), b.scales, place);
    if constexpr (P::hasOffsets)
      fetchFactors(factorsOf(stage, t) + depth * factors, b.offsets, place);
  }
  static __device__ void fetchFactors(Scales *to, const typename P::Scale *of,
                                      int64_t place) {
    constexpr int count = depth * factors;
    const int lane = int(threadIdx.x) % 32;
    const Scales *from = reinterpret_cast<const Scales *>(of);
#pragma unroll
    for (int i = 0; i < count; i += 32) {
      const int at = i + lane;
      if (count % 32 != 0 && at >= count)
        break;
      // Scales of neighbours are neighbours unless tiles share them.
      int64_t place8 = P::block % Codes::depth || P::block == Codes::depth
                           ? Codes::placeOf(place, 0) + at
                           : Codes::placeOf(place + at / 8, 0) + at % 8;
      copyAsync<sizeof(Scales)>(to + at, from + place8);
    }
  }

  /// Reads a tile that has been copied, number `c` along k; `to` keeps the
  /// scales of rows.
  __device__ void read(Codes &to, int stage, int t, int c) const {
    to.words = *reinterpret_cast<const Pack<uint32_t, 4> *>(
        codesOf(stage) + (t * depth + c) * tileBytes);
    if constexpr (!Codes::isOfRow) {
      const Scales *from =
          factorsOf(stage, t) + c * factors + int(threadIdx.x) % 32 / 4;
#pragma unroll
      for (int i = 0; i < Codes::groups; ++i) {
        to.scales[i] = from[8 * i];
        if constexpr (P::hasOffsets)
          to.offsets[i] = from[depth * factors + 8 * i];
      }
    }
  }

  /// Makes the scales that lanes copied visible to the others, or lets them
  /// copy again.
  static __device__ void join() {
    if constexpr (factors > 0)
      __syncwarp();
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ROWS_CODE_LANES_CUH
