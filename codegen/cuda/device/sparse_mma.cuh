//===- sparse_mma.cuh - Tensor cores on 2:4 sparse matrices ---------------===//
//
// mma.sync of a 16 × 32 matrix of 16-bit floats of which two of four neighbours
// of a row are kept, on sm_80 and later, with a host version for the emulator.
// The fragment of kept elements is mma.cuh's of a 16 × 16 matrix; the second
// one is two of mma.cuh's, for the first and the last 16 steps of k. A lane's
// word of places has those of rows g (low half) and g + 8 (high half), 2 bits
// each from the lowest on, in rising order for the two of four neighbours: of
// lanes 4 g + 2 `Half`, the first 16 steps of k, and of the lanes after them,
// the last 16. Words of the other lanes are not read.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_DEVICE_SPARSE_MMA_CUH
#define FRIT_CODEGEN_CUDA_DEVICE_SPARSE_MMA_CUH

#include "frit/mma.cuh"

namespace frit {

#if FRIT_EMULATE >= 80

/// Emulates the product.
template <class T, int Half>
inline void mmaSparse(float (&c)[4], const uint32_t (&a)[4],
                      const uint32_t (&b)[4], uint32_t places) {
  struct Operands {
    const uint32_t *a, *b;
    uint32_t places;
  };
  const Operands mine = {a, b, places};
  auto value = [](uint32_t pair, unsigned i) {
    return load(T{uint16_t(pair >> 16 * i)});
  };
  emu::withWarp(&mine, [&](auto operandsOf, unsigned lane) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4 + i / 2 * 8, col = lane % 4 * 2 + i % 2;
      for (unsigned kept = 0; kept < 16; ++kept) {
        const unsigned group = kept / 2;
        const Operands &ofA = *operandsOf(row % 8 * 4 + group % 4);
        const Operands &ofPlaces =
            *operandsOf(row % 8 * 4 + Half * 2 + group / 4);
        const unsigned at = row / 8 * 16 + group % 4 * 4 + kept % 2 * 2;
        const unsigned k = group * 4 + (ofPlaces.places >> at & 3);
        const Operands &ofB = *operandsOf(col * 4 + k % 8 / 2);
        c[i] += value(ofA.a[row / 8 + kept / 8 * 2], kept % 2) *
                value(ofB.b[k / 8], k % 2);
      }
    }
  });
}

#elif __CUDA_ARCH__ >= 800

// Before PTX 8.5 the places of all fragments may be in any order.
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1205
#define FRIT_MMA_SPARSE "mma.sp::ordered_metadata"
#else
#define FRIT_MMA_SPARSE "mma.sp"
#endif

/// Adds a · b to c for a sparse 16 × 32 matrix a and a 32 × 8 matrix b of T,
/// f16 or bf16.
template <class T, int Half>
__device__ inline void mmaSparse(float (&c)[4], const uint32_t (&a)[4],
                                 const uint32_t (&b)[4], uint32_t places) {
  if constexpr (kSame<T, f16>)
    asm(FRIT_MMA_SPARSE
        ".sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),
          "r"(b[2]), "r"(b[3]), "r"(places), "n"(Half));
  else
    asm(FRIT_MMA_SPARSE
        ".sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),
          "r"(b[2]), "r"(b[3]), "r"(places), "n"(Half));
}
#undef FRIT_MMA_SPARSE

#endif

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_DEVICE_SPARSE_MMA_CUH
