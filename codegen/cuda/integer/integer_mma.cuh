//===- integer_mma.cuh - Tensor cores on bytes ----------------------------===//
//
// mma.sync of 8-bit integers, signed or not, with sums in i32, on sm_80 and
// later, and a host version for the emulator. Sums wrap around as on a GPU.
// Fragment layouts follow the PTX ISA: those of 16-bit elements with a pair of
// bytes for each.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_INTEGER_MMA_CUH
#define FRIT_CODEGEN_CUDA_INTEGER_INTEGER_MMA_CUH

#include "frit/mma.cuh"

namespace frit {

#ifdef FRIT_EMULATE

/// Returns byte `i` of a word.
template <bool IsSigned> inline int byteOf(uint32_t word, unsigned i) {
  uint8_t byte = uint8_t(word >> 8 * i);
  return IsSigned ? int8_t(byte) : int(byte);
}

template <bool SignedA, bool SignedB>
inline void mmaBytes(int (&c)[4], const uint32_t (&a)[4],
                     const uint32_t (&b)[2]) {
  multiplyWords<4, 32>(c, a, b, byteOf<SignedA>, byteOf<SignedB>);
}

template <bool IsSigned> inline int addBytes(uint32_t bytes, int sum) {
  for (unsigned i = 0; i < 4; ++i)
    sum += byteOf<IsSigned>(bytes, i);
  return sum;
}

#else

/// Adds a · b to c for a 16 × 32 matrix a and a 32 × 8 matrix b of bytes.
template <bool SignedA, bool SignedB>
__device__ inline void mmaBytes(int (&c)[4], const uint32_t (&a)[4],
                                const uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
#define FRIT_MMA_BYTES(TypeA, TypeB)                                           \
  asm("mma.sync.aligned.m16n8k32.row.col.s32." TypeA "." TypeB ".s32 "         \
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"        \
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                         \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#else
  // sm_75 has steps of 16 for 8 rows, with the same elements in each lane.
#define FRIT_MMA_BYTES(TypeA, TypeB)                                           \
  _Pragma("unroll") for (int i = 0; i < 4; ++i) asm(                           \
      "mma.sync.aligned.m8n8k16.row.col.s32." TypeA "." TypeB ".s32 "          \
      "{%0, %1}, {%2}, {%3}, {%0, %1};" : "+r"(c[i % 2 * 2]),                  \
      "+r"(c[i % 2 * 2 + 1]) : "r"(a[i]), "r"(b[i / 2]))
#endif
  if constexpr (SignedA && SignedB)
    FRIT_MMA_BYTES("s8", "s8");
  else if constexpr (SignedA)
    FRIT_MMA_BYTES("s8", "u8");
  else if constexpr (SignedB)
    FRIT_MMA_BYTES("u8", "s8");
  else
    FRIT_MMA_BYTES("u8", "u8");
#undef FRIT_MMA_BYTES
}

/// Adds four bytes to a sum.
template <bool IsSigned>
__device__ inline int addBytes(uint32_t bytes, int sum) {
  int result;
  if constexpr (IsSigned)
    asm("dp4a.s32.s32 %0, %1, %2, %3;"
        : "=r"(result)
        : "r"(bytes), "r"(0x01010101), "r"(sum));
  else
    asm("dp4a.u32.s32 %0, %1, %2, %3;"
        : "=r"(result)
        : "r"(bytes), "r"(0x01010101), "r"(sum));
  return result;
}

#endif

//===----------------------------------------------------------------------===//
// An operand's tile in shared memory
//===----------------------------------------------------------------------===//

/// The places of a tile of `Depth` bytes along k by any number of lines, in
/// pieces of 16 bytes. They are swizzled so that the pieces of 8 neighbouring
/// lines are in different banks: of 128 bytes as WGMMA reads them.
template <int Depth> struct ByteTile {
  static constexpr int kPieces = Depth / 16;
  static_assert(Depth == 64 || Depth == 128);

  __device__ static int offset(int line, int piece) {
    int swizzle = kPieces == 4 ? line / 2 & 3 : line & 7;
    return (line * kPieces + (piece ^ swizzle)) * 16;
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_INTEGER_INTEGER_MMA_CUH
