//===- integer_wgmma.cuh - WGMMA on bytes ---------------------------------===//
//
// WGMMA of 8-bit integers, signed or not, with sums in i32, and of 8-bit floats
// with sums in f32: 64 rows by N columns by 32 steps of k, from shared memory.
// See wgmma.cuh; operands are along k. Rows of bytes may also be in registers.
//
// A schedule P with `wgmma` has whole warpgroups, each of 64 rows and all
// columns of the tile: warpM is 16, warpN is tileN, depth 128 and split 1. Its
// accumulators are those of mma.sync, so architectures without WGMMA compute
// the same tiles by that.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_INTEGER_INTEGER_WGMMA_CUH
#define FRIT_CODEGEN_CUDA_INTEGER_INTEGER_WGMMA_CUH

#include "frit/integer_tile.cuh"
#include "frit/wgmma.cuh"

namespace frit {

/// Whether the schedule's products are WGMMA's.
#ifdef FRIT_HAS_WGMMA
template <class P> inline constexpr bool kUsesWgmma = P::wgmma;
#else
template <class P> inline constexpr bool kUsesWgmma = false;
#endif

#ifdef FRIT_HAS_WGMMA

template <int N> struct WgmmaBytes;

#ifdef FRIT_EMULATE

#define FRIT_WGMMA_BYTES(N, ...)                                               \
  template <> struct WgmmaBytes<N> : EmulatedWgmma<N> {};

#else

// Registers of integers have the constraint "+r", those of floats "+f".
#define FRIT_R8(In, i)                                                         \
  In(d[i]), In(d[i + 1]), In(d[i + 2]), In(d[i + 3]), In(d[i + 4]),            \
      In(d[i + 5]), In(d[i + 6]), In(d[i + 7])
#define FRIT_R32(In, i)                                                        \
  FRIT_R8(In, i), FRIT_R8(In, i + 8), FRIT_R8(In, i + 16), FRIT_R8(In, i + 24)
#define FRIT_SUMS_16(In) FRIT_R8(In, 0), FRIT_R8(In, 8)
#define FRIT_SUMS_32(In) FRIT_R32(In, 0)
#define FRIT_SUMS_64(In) FRIT_R32(In, 0), FRIT_R32(In, 32)
#define FRIT_SUMS_96(In) FRIT_SUMS_64(In), FRIT_R32(In, 64)
#define FRIT_SUMS_128(In) FRIT_SUMS_64(In), FRIT_R32(In, 64), FRIT_R32(In, 96)
#define FRIT_NAMES_16                                                          \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define FRIT_NAMES_32                                                          \
  FRIT_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27" \
                ", %28, %29, %30, %31"
#define FRIT_NAMES_64                                                          \
  FRIT_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43" \
                ", %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55" \
                ", %56, %57, %58, %59, %60, %61, %62, %63"
#define FRIT_NAMES_96                                                          \
  FRIT_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75" \
                ", %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87" \
                ", %88, %89, %90, %91, %92, %93, %94, %95"
#define FRIT_NAMES_128                                                         \
  FRIT_NAMES_96 ", %96, %97, %98, %99"                                         \
                ", %100, %101, %102, %103, %104, %105, %106, %107, %108, %109" \
                ", %110, %111, %112, %113, %114, %115, %116, %117, %118, %119" \
                ", %120, %121, %122, %123, %124, %125, %126, %127"

// Operands after the accumulators are numbered from Sums on.
#define FRIT_WGMMA_TYPES(N, Sums, A, B, I1, I2)                                \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #I2 ", 0;\n"               \
               "wgmma.mma_async.sync.aligned.m64n" #N "k32.s32." A "." B       \
               " {" FRIT_NAMES_##Sums "}, %" #Sums ", %" #I1 ", p;\n}\n"       \
               : FRIT_SUMS_##Sums("+r")                                        \
               : "l"(a), "l"(b), "r"(int(accumulate)))
#define FRIT_WGMMA_FLOATS(N, Sums, A, B, I1, I2)                               \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #I2 ", 0;\n"               \
               "wgmma.mma_async.sync.aligned.m64n" #N "k32.f32." A "." B       \
               " {" FRIT_NAMES_##Sums "}, %" #Sums ", %" #I1 ", p, 1, 1;\n}\n" \
               : FRIT_SUMS_##Sums("+f")                                        \
               : "l"(a), "l"(b), "r"(int(accumulate)))
// Rows in registers: those of a thread are of mma.sync's operand.
#define FRIT_WGMMA_ROWS(N, Sums, A, B, I1, I2, I3, I4, I5)                     \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #I5 ", 0;\n"               \
               "wgmma.mma_async.sync.aligned.m64n" #N "k32.s32." A "." B       \
               " {" FRIT_NAMES_##Sums "}, {%" #Sums ", %" #I1 ", %" #I2        \
                                      ", %" #I3 "}, %" #I4 ", p;\n}\n"         \
               : FRIT_SUMS_##Sums("+r")                                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),           \
                 "r"(int(accumulate)))
#define FRIT_WGMMA_BYTES(N, Sums, I1, I2, I3, I4, I5)                          \
  template <> struct WgmmaBytes<N> {                                           \
    template <bool SignedA, bool SignedB>                                      \
    __device__ static void multiplyBytes(int (&d)[Sums],                       \
                                         const uint32_t (&a)[4], uint64_t b,   \
                                         bool accumulate) {                    \
      if constexpr (SignedA && SignedB)                                        \
        FRIT_WGMMA_ROWS(N, Sums, "s8", "s8", I1, I2, I3, I4, I5);              \
      else if constexpr (SignedA)                                              \
        FRIT_WGMMA_ROWS(N, Sums, "s8", "u8", I1, I2, I3, I4, I5);              \
      else if constexpr (SignedB)                                              \
        FRIT_WGMMA_ROWS(N, Sums, "u8", "s8", I1, I2, I3, I4, I5);              \
      else                                                                     \
        FRIT_WGMMA_ROWS(N, Sums, "u8", "u8", I1, I2, I3, I4, I5);              \
    }                                                                          \
    template <bool SignedA, bool SignedB>                                      \
    __device__ static void multiplyBytes(int (&d)[Sums], uint64_t a,           \
                                         uint64_t b, bool accumulate) {        \
      if constexpr (SignedA && SignedB)                                        \
        FRIT_WGMMA_TYPES(N, Sums, "s8", "s8", I1, I2);                         \
      else if constexpr (SignedA)                                              \
        FRIT_WGMMA_TYPES(N, Sums, "s8", "u8", I1, I2);                         \
      else if constexpr (SignedB)                                              \
        FRIT_WGMMA_TYPES(N, Sums, "u8", "s8", I1, I2);                         \
      else                                                                     \
        FRIT_WGMMA_TYPES(N, Sums, "u8", "u8", I1, I2);                         \
    }                                                                          \
    template <Float8 A, Float8 B>                                              \
    __device__ static void multiplyFloats(float (&d)[Sums], uint64_t a,        \
                                          uint64_t b, bool accumulate) {       \
      if constexpr (A == Float8::e4m3 && B == Float8::e4m3)                    \
        FRIT_WGMMA_FLOATS(N, Sums, "e4m3", "e4m3", I1, I2);                    \
      else if constexpr (A == Float8::e4m3)                                    \
        FRIT_WGMMA_FLOATS(N, Sums, "e4m3", "e5m2", I1, I2);                    \
      else if constexpr (B == Float8::e4m3)                                    \
        FRIT_WGMMA_FLOATS(N, Sums, "e5m2", "e4m3", I1, I2);                    \
      else                                                                     \
        FRIT_WGMMA_FLOATS(N, Sums, "e5m2", "e5m2", I1, I2);                    \
    }                                                                          \
  };

/// Keeps the compiler from moving reads of `sum` above the preceding wait.
__device__ inline void keepBelow(int &sum) {
  asm volatile("" : "+r"(sum)::"memory");
}

#endif

FRIT_WGMMA_BYTES(32, 16, 17, 18, 19, 20, 21)
FRIT_WGMMA_BYTES(64, 32, 33, 34, 35, 36, 37)
FRIT_WGMMA_BYTES(128, 64, 65, 66, 67, 68, 69)
FRIT_WGMMA_BYTES(192, 96, 97, 98, 99, 100, 101)
FRIT_WGMMA_BYTES(256, 128, 129, 130, 131, 132, 133)

#undef FRIT_WGMMA_BYTES
#undef FRIT_WGMMA_ROWS
#undef FRIT_WGMMA_TYPES
#undef FRIT_WGMMA_FLOATS
#undef FRIT_NAMES_16
#undef FRIT_NAMES_32
#undef FRIT_NAMES_64
#undef FRIT_NAMES_96
#undef FRIT_NAMES_128
#undef FRIT_SUMS_16
#undef FRIT_SUMS_32
#undef FRIT_SUMS_64
#undef FRIT_SUMS_96
#undef FRIT_SUMS_128
#undef FRIT_R32
#undef FRIT_R8

/// Starts the products of a stage; `row` is the warp's first.
template <class P>
__device__ inline void
startProducts(IntegerSums<P> &sums, const unsigned char *a,
              const unsigned char *b, int row, bool accumulate) {
  static_assert(P::warpM == 16 && P::warpN == P::tileN && P::depth == 128 &&
                P::split == 1 && P::tileM % 64 == 0 && P::stages > 2);
  using Sum = typename IntegerSums<P>::Sum;
  auto &all = reinterpret_cast<Sum(&)[P::tileN / 2]>(sums.of);
  uint64_t rows = describeOperand<true>(a + row / 64 * 64 * P::depth);
  uint64_t columns = describeOperand<true>(b);
  fenceProducts();
#pragma unroll
  for (int k = 0; k < P::depth; k += 32) {
    if constexpr (kHasFloats<P>)
      WgmmaBytes<P::tileN>::template multiplyFloats<P::floatX, P::floatW>(
          all, rows, columns, accumulate || k > 0);
    else
      WgmmaBytes<P::tileN>::template multiplyBytes<P::signedX, P::signedW>(
          all, rows, columns, accumulate || k > 0);
    rows = advanceOperand(rows, 32 / 16);
    columns = advanceOperand(columns, 32 / 16);
  }
  commitProducts();
}

/// Adds the bytes of a stage to the sums of the warp's rows and, of some of the
/// columns, to those of columns.
template <class P>
__device__ inline void addBytesOf(IntegerSums<P> &sums, const unsigned char *a,
                                  const unsigned char *b, int row, int xZero,
                                  int wZero) {
  using Plan = IntegerPlan<P>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // Four lanes have 32 bytes of a line each.
  auto add = [&]<bool IsSigned>(const unsigned char *from, int line, int sum) {
#pragma unroll
    for (int piece = 0; piece < 2; ++piece) {
      auto *words = reinterpret_cast<const uint32_t *>(
          from + Plan::Tile::offset(line, lane % 4 * 2 + piece));
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sum = addBytes<IsSigned>(words[i], sum);
    }
    return sum;
  };
  if (xZero) {
#pragma unroll
    for (int j = 0; j < Plan::kCountN; ++j)
      if (j % Plan::kWarps == warp)
        sums.cols[j] = add.template operator()<P::signedW>(b, j * 8 + lane / 4,
                                                           sums.cols[j]);
  }
  if (wZero) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      sums.rows[0][half] = add.template operator()<P::signedX>(
          a, row + half * 8 + lane / 4, sums.rows[0][half]);
  }
}

/// Waits for all products, and gives each warp the sums of all columns.
template <class P>
__device__ inline void finishProducts(IntegerSums<P> &sums,
                                      unsigned char *shared, int xZero) {
  using Plan = IntegerPlan<P>;
  waitProducts<0>();
#pragma unroll
  for (int j = 0; j < Plan::kCountN; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      keepBelow(sums.of[0][j][i]);
  if (!xZero)
    return;
  auto *all = reinterpret_cast<int *>(shared);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // Products of other warps may still read the stages.
  __syncthreads();
#pragma unroll
  for (int j = 0; j < Plan::kCountN; ++j)
    if (j % Plan::kWarps == warp)
      all[j * 32 + lane] = sums.cols[j];
  __syncthreads();
#pragma unroll
  for (int j = 0; j < Plan::kCountN; ++j)
    sums.cols[j] = all[j * 32 + lane];
}

/// Multiplies all stages; `row` is the warp's first. Two groups of products are
/// under way, so `copyAhead(step)` copies to the stage before the last one.
template <class P, class StageOf, class CopyAhead>
__device__ inline void multiplyByWgmma(IntegerSums<P> &sums,
                                       const StageOf &stageOf,
                                       const CopyAhead &copyAhead, int steps,
                                       int row, int xZero, int wZero) {
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    waitCopies<P::stages - 3>();
    fenceAsync();
    // All copies have arrived, and the products before the last are done.
    __syncthreads();
    const unsigned char *a = stageOf(step);
    const unsigned char *b = a + IntegerPlan<P>::kBytesA;
    startProducts<P>(sums, a, b, row, step > 0);
    copyAhead(step);
    if constexpr (!kHasFloats<P>)
      addBytesOf<P>(sums, a, b, row, xZero, wZero);
    waitProducts<1>();
  }
  finishProducts<P>(sums, stageOf(0), xZero);
}

/// Returns the block's dynamic shared memory, aligned for its instructions.
template <class P> __device__ inline unsigned char *integerShared() {
  if constexpr (P::wgmma)
    return tensorShared();
  else
    return dynamicShared<unsigned char>();
}

#else

template <class P, class StageOf, class CopyAhead>
__device__ void multiplyByWgmma(IntegerSums<P> &, const StageOf &,
                                const CopyAhead &, int, int, int, int);

template <class P> __device__ inline unsigned char *integerShared() {
  return dynamicShared<unsigned char>();
}

#endif

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_INTEGER_INTEGER_WGMMA_CUH
