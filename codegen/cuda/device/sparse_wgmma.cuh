//===- sparse_wgmma.cuh - WGMMA of 2:4 sparse matrices on sm_90a ----------===//
//
// Four warps asynchronously multiply 64 sparse rows, in registers, by N columns
// in shared memory, 32 steps of k at a time. The rows are fragments as
// `mmaSparse` of sparse_mma.cuh wants them of each warp, with their places; the
// columns are along k, as wgmma.cuh describes them. So are the accumulators,
// and the order of products.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_DEVICE_SPARSE_WGMMA_CUH
#define FRIT_CODEGEN_CUDA_DEVICE_SPARSE_WGMMA_CUH

#include "frit/wgmma.cuh"

#ifdef FRIT_HAS_WGMMA

namespace frit {

/// d = a · b, plus d if `accumulate`, for 64 × N accumulators and 32 steps of
/// k.
template <int N> struct SparseWgmma;

#ifdef FRIT_EMULATE

#define FRIT_SPARSE_WGMMA(N, ...)                                              \
  template <> struct SparseWgmma<N> : EmulatedSparseWgmma<N> {};

#else

#define FRIT_F8(i)                                                             \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]),  \
      "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define FRIT_SUMS_64                                                           \
  FRIT_F8(0), FRIT_F8(8), FRIT_F8(16), FRIT_F8(24), FRIT_F8(32), FRIT_F8(40),  \
      FRIT_F8(48), FRIT_F8(56)
#define FRIT_SUMS_128                                                          \
  FRIT_SUMS_64, FRIT_F8(64), FRIT_F8(72), FRIT_F8(80), FRIT_F8(88),            \
      FRIT_F8(96), FRIT_F8(104), FRIT_F8(112), FRIT_F8(120)
#define FRIT_NAMES_64                                                          \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "          \
  "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "          \
  "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "          \
  "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "          \
  "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define FRIT_NAMES_128                                                         \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "          \
  "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "          \
  "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "          \
  "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "          \
  "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, "          \
  "%67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "          \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, "          \
  "%93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, "          \
  "%105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, "         \
  "%116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "         \
  "%127"

// Operands after the accumulators are numbered from Sums on.
#define FRIT_SPARSE_PRODUCT(N, Sums, Type, I1, I2, I3, I4, I5, I6, I7)         \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #I6 ", 0;\n"               \
               "wgmma.mma_async.sp.sync.aligned.m64n" #N "k32.f32." Type       \
               "." Type " {" FRIT_NAMES_##Sums                                 \
               "}, {%" #Sums ", %" #I1 ", %" #I2 ", %" #I3 "}, %" #I4          \
               ", %" #I5 ", %" #I7 ", p, 1, 1, 0;\n}\n"                        \
               : FRIT_SUMS_##Sums                                              \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),           \
                 "r"(places), "r"(int(accumulate)), "n"(Half))

#define FRIT_SPARSE_WGMMA(N, Sums, I1, I2, I3, I4, I5, I6, I7)                 \
  template <> struct SparseWgmma<N> {                                          \
    template <class T, int Half>                                               \
    __device__ static void multiply(float (&d)[Sums], const uint32_t (&a)[4],  \
                                    uint64_t b, uint32_t places,               \
                                    bool accumulate) {                         \
      if constexpr (kSame<T, f16>)                                             \
        FRIT_SPARSE_PRODUCT(N, Sums, "f16", I1, I2, I3, I4, I5, I6, I7);       \
      else                                                                     \
        FRIT_SPARSE_PRODUCT(N, Sums, "bf16", I1, I2, I3, I4, I5, I6, I7);      \
    }                                                                          \
  };

#endif

FRIT_SPARSE_WGMMA(128, 64, 65, 66, 67, 68, 69, 70, 71)
FRIT_SPARSE_WGMMA(256, 128, 129, 130, 131, 132, 133, 134, 135)

#undef FRIT_SPARSE_WGMMA
#undef FRIT_SPARSE_PRODUCT
#undef FRIT_NAMES_64
#undef FRIT_NAMES_128
#undef FRIT_SUMS_64
#undef FRIT_SUMS_128
#undef FRIT_F8

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_DEVICE_SPARSE_WGMMA_CUH
