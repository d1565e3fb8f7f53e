//===- wgmma.cuh - WGMMA instructions of sm_90a ---------------------------===//
//
// WGMMA: four warps asynchronously multiply 64 rows by N columns, 16 steps of k
// at a time, from shared memory. See the PTX ISA, "Asynchronous Warpgroup Level
// Matrix Instructions".
//
// Operands are in shared memory as TMA writes them with the 128-byte swizzle:
// in boxes of 64 elements (128 bytes) by any number of lines, at addresses that
// are multiples of 1024:
//
//   along k   a line holds 64 steps of k of one row of a, or column of b
//   across k  a line holds, for one step of k, 64 rows of a, or columns of b;
//             64 more are in the next box
//
// Accumulators of thread t of the warpgroup: d[4 j + 2 h + i] is row t / 32 *
// 16 + h * 8 + t % 32 / 4 and column 8 j + t % 4 * 2 + i.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_DEVICE_WGMMA_CUH
#define FRIT_CODEGEN_CUDA_DEVICE_WGMMA_CUH

#include "frit/tma.cuh"

/// Whether the target has WGMMA. Without it the WGMMA skeletons are empty and
/// never chosen.
#if FRIT_EMULATE >= 90 || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define FRIT_HAS_WGMMA 1

#ifdef FRIT_EMULATE
#include "emulated_wgmma.h"
#endif

namespace frit {

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Returns the descriptor of an operand in shared memory. Across k, consecutive
/// boxes of 64 rows or columns are `lines` lines apart. Along k, lines may also
/// have 64 or 32 bytes (32 or 16 steps), with the swizzle of that width; or 16
/// without one, and a line's next 16 bytes are then those of the next line.
template <bool AlongK, int LineBytes = 128>
__device__ inline uint64_t describeOperand(const void *at, int lines = 0) {
  static_assert(
      LineBytes == 128 ||
      (AlongK && (LineBytes == 64 || LineBytes == 32 || LineBytes == 16)));
  // The address, the offset between boxes (only across k) and the offset
  // between groups of 8 lines, in units of 16 bytes; then the swizzle.
  uint64_t next = AlongK ? 1 : uint64_t(lines) * 128 / 16;
  constexpr uint64_t swizzle = LineBytes == 128  ? 1
                               : LineBytes == 64 ? 2
                               : LineBytes == 32 ? 3
                                                 : 0;
  return uint64_t((sharedAddress(at) & 0x3ffff) >> 4) | next << 16 |
         uint64_t(8 * LineBytes / 16) << 32 | swizzle << 62;
}

/// Descriptor increment for 16 steps of k.
template <bool AlongK> inline constexpr int kNextSteps = AlongK ? 2 : 128;

/// Advances an operand's descriptor; only its low word changes.
__device__ inline uint64_t advanceOperand(uint64_t operand, uint32_t by) {
  return operand >> 32 << 32 | (uint32_t(operand) + by);
}

/// Returns the address of 8 elements of a box's line (128-byte swizzle).
__device__ inline unsigned char *swizzledPiece(unsigned char *box, int line,
                                               int piece) {
  return box + line * 128 + (piece ^ (line & 7)) * 16;
}

/// d = a · b, plus d if `accumulate`, for 64 × N accumulators and 16 steps of
/// k.
template <int N> struct Wgmma;

#ifdef FRIT_EMULATE

#define FRIT_WGMMA(N, ...)                                                     \
  template <> struct Wgmma<N> : EmulatedWgmma<N> {};

#else

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Orders the warpgroup's register accesses before the next product.
__device__ inline void fenceProducts() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/// Closes the current group of products.
__device__ inline void commitProducts() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most the last `Pending` groups are in flight.
template <int Pending> __device__ inline void waitProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/// Keeps the compiler from moving reads of `sum` above the preceding wait.
__device__ inline void keepBelow(float &sum) {
  asm volatile("" : "+f"(sum)::"memory");
}

/// Set the registers per thread of the calling warpgroup (setmaxnreg), to move
/// registers between warpgroups with different roles.
template <int Registers> __device__ inline void incMaxRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers> __device__ inline void decMaxRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

#define FRIT_F8(i)                                                             \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]),  \
      "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define FRIT_F4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define FRIT_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define FRIT_SUMS_8 FRIT_F8(0)
#define FRIT_NAMES_16 FRIT_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define FRIT_SUMS_16 FRIT_SUMS_8, FRIT_F8(8)
#define FRIT_NAMES_20 FRIT_NAMES_16 ", %16, %17, %18, %19"
#define FRIT_SUMS_20 FRIT_SUMS_16, FRIT_F4(16)
#define FRIT_NAMES_24 FRIT_NAMES_20 ", %20, %21, %22, %23"
#define FRIT_SUMS_24 FRIT_SUMS_16, FRIT_F8(16)
#define FRIT_NAMES_32                                                          \
  FRIT_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27" \
                ", %28, %29, %30, %31"
#define FRIT_SUMS_32 FRIT_SUMS_16, FRIT_F8(16), FRIT_F8(24)
#define FRIT_NAMES_36 FRIT_NAMES_32 ", %32, %33, %34, %35"
#define FRIT_SUMS_36 FRIT_SUMS_32, FRIT_F4(32)
#define FRIT_NAMES_40 FRIT_NAMES_36 ", %36, %37, %38, %39"
#define FRIT_SUMS_40 FRIT_SUMS_32, FRIT_F8(32)
#define FRIT_NAMES_48 FRIT_NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define FRIT_SUMS_48 FRIT_SUMS_40, FRIT_F8(40)
#define FRIT_NAMES_64                                                          \
  FRIT_NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59" \
                ", %60, %61, %62, %63"
#define FRIT_SUMS_64 FRIT_SUMS_48, FRIT_F8(48), FRIT_F8(56)
#define FRIT_NAMES_80                                                          \
  FRIT_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75" \
                ", %76, %77, %78, %79"
#define FRIT_SUMS_80 FRIT_SUMS_64, FRIT_F8(64), FRIT_F8(72)
#define FRIT_NAMES_96                                                          \
  FRIT_NAMES_80 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91" \
                ", %92, %93, %94, %95"
#define FRIT_SUMS_96 FRIT_SUMS_80, FRIT_F8(80), FRIT_F8(88)
#define FRIT_NAMES_112                                                         \
  FRIT_NAMES_96                                                                \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107"       \
  ", %108, %109, %110, %111"
#define FRIT_SUMS_112 FRIT_SUMS_96, FRIT_F8(96), FRIT_F8(104)
#define FRIT_NAMES_128                                                         \
  FRIT_NAMES_112 ", %112, %113, %114, %115, %116, %117, %118, %119, %120, "    \
                 "%121, %122, %123"                                            \
                 ", %124, %125, %126, %127"
#define FRIT_SUMS_128 FRIT_SUMS_112, FRIT_F8(112), FRIT_F8(120)

// Operands after the accumulators are numbered from Sums on.
#define FRIT_WGMMA_SHARED(N, Sums, Type, I1, I2, I3, I4)                       \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #I2 ", 0;\n"               \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." Type "." Type \
               " {" FRIT_NAMES_##Sums "}, %" #Sums ", %" #I1                   \
                                      ", p, 1, 1, %" #I3 ", %" #I4 ";\n}\n"    \
               : FRIT_SUMS_##Sums                                              \
               : "l"(a), "l"(b), "r"(int(accumulate)), "n"(int(!AlongKA)),     \
                 "n"(int(!AlongKB)))
#define FRIT_WGMMA_REGISTERS(N, Sums, Type, I1, I2, I3, I4, I5, I6)            \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #I5 ", 0;\n"               \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." Type "." Type \
               " {" FRIT_NAMES_##Sums "}, {%" #Sums ", %" #I1 ", %" #I2        \
                                      ", %" #I3 "}, %" #I4 ", p, 1, 1, %" #I6  \
                                      ";\n}\n"                                 \
               : FRIT_SUMS_##Sums                                              \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),           \
                 "r"(int(accumulate)), "n"(int(!AlongKB)))

#define FRIT_WGMMA(N, Sums, I1, I2, I3, I4, I5, I6)                            \
  template <> struct Wgmma<N> {                                                \
    /* Both operands are described. */                                         \
    template <class T, bool AlongKA, bool AlongKB>                             \
    __device__ static void multiply(float (&d)[Sums], uint64_t a, uint64_t b,  \
                                    bool accumulate) {                         \
      if constexpr (kSame<T, f16>)                                             \
        FRIT_WGMMA_SHARED(N, Sums, "f16", I1, I2, I3, I4);                     \
      else                                                                     \
        FRIT_WGMMA_SHARED(N, Sums, "bf16", I1, I2, I3, I4);                    \
    }                                                                          \
    /* a is in registers, as `mma` of mma.cuh wants its 16 rows of a warp. */  \
    template <class T, bool AlongKB>                                           \
    __device__ static void multiply(float (&d)[Sums], const uint32_t (&a)[4],  \
                                    uint64_t b, bool accumulate) {             \
      if constexpr (kSame<T, f16>)                                             \
        FRIT_WGMMA_REGISTERS(N, Sums, "f16", I1, I2, I3, I4, I5, I6);          \
      else                                                                     \
        FRIT_WGMMA_REGISTERS(N, Sums, "bf16", I1, I2, I3, I4, I5, I6);         \
    }                                                                          \
  };

#endif

FRIT_WGMMA(16, 8, 9, 10, 11, 12, 13, 14)
FRIT_WGMMA(32, 16, 17, 18, 19, 20, 21, 22)
FRIT_WGMMA(40, 20, 21, 22, 23, 24, 25, 26)
FRIT_WGMMA(48, 24, 25, 26, 27, 28, 29, 30)
FRIT_WGMMA(64, 32, 33, 34, 35, 36, 37, 38)
FRIT_WGMMA(72, 36, 37, 38, 39, 40, 41, 42)
FRIT_WGMMA(80, 40, 41, 42, 43, 44, 45, 46)
FRIT_WGMMA(96, 48, 49, 50, 51, 52, 53, 54)
FRIT_WGMMA(128, 64, 65, 66, 67, 68, 69, 70)
FRIT_WGMMA(160, 80, 81, 82, 83, 84, 85, 86)
FRIT_WGMMA(192, 96, 97, 98, 99, 100, 101, 102)
FRIT_WGMMA(224, 112, 113, 114, 115, 116, 117, 118)
FRIT_WGMMA(256, 128, 129, 130, 131, 132, 133, 134)

#undef FRIT_WGMMA
#undef FRIT_WGMMA_REGISTERS
#undef FRIT_WGMMA_SHARED
#undef FRIT_NAMES_8
#undef FRIT_SUMS_8
#undef FRIT_NAMES_16
#undef FRIT_SUMS_16
#undef FRIT_NAMES_20
#undef FRIT_SUMS_20
#undef FRIT_NAMES_24
#undef FRIT_SUMS_24
#undef FRIT_NAMES_32
#undef FRIT_SUMS_32
#undef FRIT_NAMES_36
#undef FRIT_SUMS_36
#undef FRIT_NAMES_40
#undef FRIT_SUMS_40
#undef FRIT_NAMES_48
#undef FRIT_SUMS_48
#undef FRIT_NAMES_64
#undef FRIT_SUMS_64
#undef FRIT_NAMES_80
#undef FRIT_SUMS_80
#undef FRIT_NAMES_96
#undef FRIT_SUMS_96
#undef FRIT_NAMES_112
#undef FRIT_SUMS_112
#undef FRIT_NAMES_128
#undef FRIT_SUMS_128
#undef FRIT_F4
#undef FRIT_F8

/// Keeps the compiler from moving reads of accumulators above the wait.
template <int Columns>
__device__ inline void keepBelow(float (&sums)[Columns][4]) {
#pragma unroll
  for (int column = 0; column < Columns; ++column)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      keepBelow(sums[column][i]);
}

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_DEVICE_WGMMA_CUH
