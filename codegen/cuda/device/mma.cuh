//===- mma.cuh - Tensor cores ---------------------------------------------===//
//
// The tensor core instructions of sm_75 and later that gemm.cuh and conv.cuh
// use, each with a host version for the emulator. Names and fragment layouts
// follow the PTX ISA, "Warp Level Matrix Instructions".
//
// The tensor cores of sm_75 multiply f16 alone, by steps of 8. Products of
// other types are computed by its CUDA cores, on the same fragments.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_DEVICE_MMA_CUH
#define FRIT_CODEGEN_CUDA_DEVICE_MMA_CUH

#include "frit/copy.cuh"
#include "frit/fragment.cuh"

namespace frit {

/// Whether the target's tensor cores multiply f16, bf16 and, in TF32, f32.
#if FRIT_EMULATE >= 80 || __CUDA_ARCH__ >= 800
inline constexpr bool kHasMma = true;
#else
inline constexpr bool kHasMma = false;
#endif

/// Returns whether they multiply T.
template <class T> __device__ constexpr bool hasMma() {
#if FRIT_EMULATE == 75 || __CUDA_ARCH__ == 750
  return kSame<T, f16>;
#else
  return kHasMma;
#endif
}

#ifdef FRIT_EMULATE

/// Emulates ldmatrix: distributes the elements of 8 × 8 matrices over the
/// lanes.
template <bool Transposed>
inline void loadMatrices(uint32_t (&out)[4], const void *row) {
  emu::withWarp(row, [&](auto rowOf, unsigned lane) {
    for (unsigned i = 0; i < 4; ++i) {
      uint16_t pair[2];
      for (unsigned j = 0; j < 2; ++j) {
        unsigned r = lane / 4, c = lane % 4 * 2 + j;
        if (Transposed)
          std::swap(r, c);
        pair[j] = static_cast<const uint16_t *>(rowOf(i * 8 + r))[c];
      }
      out[i] = pair[0] | uint32_t(pair[1]) << 16;
    }
  });
}

/// Emulates movmatrix.
inline uint32_t transposeMatrix(uint32_t pair) {
  uint32_t out = 0;
  emu::withWarp(&pair, [&](auto pairOf, unsigned lane) {
    for (unsigned j = 0; j < 2; ++j) {
      unsigned r = lane % 4 * 2 + j, c = lane / 4;
      out |= (*pairOf(r * 4 + c / 2) >> 16 * (c % 2) & 0xffff) << 16 * j;
    }
  });
  return out;
}

/// Emulates the product of a 16 × Depth and a Depth × 8 matrix, of whose
/// elements a word has `InWord`; `ofA(word, i)` and `ofB` return number `i`.
template <unsigned InWord, unsigned Depth, class Sum, class OfA, class OfB>
inline void multiplyWords(Sum (&c)[4], const uint32_t *a, const uint32_t *b,
                          const OfA &ofA, const OfB &ofB) {
  struct Operands {
    const uint32_t *a, *b;
  };
  Operands mine = {a, b};
  emu::withWarp(&mine, [&](auto operandsOf, unsigned lane) {
    for (unsigned i = 0; i < 4; ++i) {
      unsigned row = lane / 4 + i / 2 * 8, col = lane % 4 * 2 + i % 2;
      for (unsigned k = 0; k < Depth; ++k) {
        unsigned word = k / InWord / 4, of = k / InWord % 4;
        const Operands &forA = *operandsOf(row % 8 * 4 + of);
        const Operands &forB = *operandsOf(col * 4 + of);
        c[i] += ofA(forA.a[row / 8 + word * 2], k % InWord) *
                ofB(forB.b[word], k % InWord);
      }
    }
  });
}

/// Likewise of 16-bit floats T.
template <class T, unsigned Depth>
inline void multiplyFragments(float (&c)[4], const uint32_t *a,
                              const uint32_t *b) {
  auto value = [](uint32_t pair, unsigned i) {
    return load(T{uint16_t(pair >> 16 * i)});
  };
  multiplyWords<2, Depth>(c, a, b, value, value);
}

inline void mmaK8(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t b) {
  const uint32_t a[] = {a0, a1};
  multiplyFragments<f16, 8>(c, a, &b);
}

#if FRIT_EMULATE >= 80
template <class T>
inline void mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  multiplyFragments<T, 16>(c, a, b);
}

/// Emulates the product of TF32 operands, whose low 13 bits are ignored.
inline void mmaTf32(float (&c)[4], const uint32_t (&a)[4],
                    const uint32_t (&b)[2]) {
  auto value = [](uint32_t bits, unsigned) {
    return bitsToFloat(bits & ~0x1fffu);
  };
  multiplyWords<1, 8>(c, a, b, value, value);
}
#endif

#else

/// Loads four 8 × 8 matrices of 16-bit elements. Lane l passes the address of
/// row l % 8 of matrix l / 8, and receives of each matrix the element (l / 4, l
/// % 4 * 2) and the one after it, with `Transposed` of the transposed matrix.
template <bool Transposed>
__device__ inline void loadMatrices(uint32_t (&out)[4], const void *row) {
  uint32_t address = sharedAddress(row);
  if constexpr (Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(address)
                 : "memory");
}

/// Transposes an 8 × 8 matrix of 16-bit elements, of which lane l has the
/// elements (l / 4, l % 4 * 2) and the one after it.
__device__ inline uint32_t transposeMatrix(uint32_t pair) {
  uint32_t out;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(out) : "r"(pair));
  return out;
}

/// Adds a · b to c for a 16 × 8 matrix a and an 8 × 8 matrix b of f16.
__device__ inline void mmaK8(float (&c)[4], uint32_t a0, uint32_t a1,
                             uint32_t b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(b));
}

#if __CUDA_ARCH__ >= 800
/// Adds a · b to c for a 16 × 16 matrix a and a 16 × 8 matrix b of T, f16 or
/// bf16.
template <class T>
__device__ inline void mma(float (&c)[4], const uint32_t (&a)[4],
                           const uint32_t (&b)[2]);
template <>
__device__ inline void mma<f16>(float (&c)[4], const uint32_t (&a)[4],
                                const uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <>
__device__ inline void mma<bf16>(float (&c)[4], const uint32_t (&a)[4],
                                 const uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Adds a · b to c for a 16 × 8 matrix a and an 8 × 8 matrix b of TF32.
__device__ inline void mmaTf32(float (&c)[4], const uint32_t (&a)[4],
                               const uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

#endif

#if defined(FRIT_EMULATE) ? FRIT_EMULATE < 80 : __CUDA_ARCH__ < 800
/// Computes a product of `mma`'s fragments on the CUDA cores: each lane gets
/// the elements for its four sums from the lanes that hold them, and adds
/// `dot(x, y)` of two words.
template <class Dot>
__device__ inline void mmaByShuffles(float (&c)[4], const uint32_t (&a)[4],
                                     const uint32_t (&b)[2], const Dot &dot) {
  const int lane = threadIdx.x % 32;
  // Kernels have hundreds of products: unrolled, they would take minutes to
  // compile.
#pragma unroll 1
  for (int k = 0; k < 4; ++k) {
    uint32_t left[4], right[2][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      left[i] = __shfl_sync(~0u, a[i], lane / 4 * 4 + k);
      right[i / 2][i % 2] =
          __shfl_sync(~0u, b[i % 2], (lane % 4 * 2 + i / 2) * 4 + k);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        c[i] += dot(left[i / 2 + half * 2], right[i % 2][half]);
  }
}

template <class T>
__device__ inline void mma(float (&c)[4], const uint32_t (&a)[4],
                           const uint32_t (&b)[2]) {
  if constexpr (hasMma<T>()) {
    mmaK8(c, a[0], a[1], b[0]);
    mmaK8(c, a[2], a[3], b[1]);
  } else {
    mmaByShuffles(c, a, b, [](uint32_t x, uint32_t y) {
      return load(T{uint16_t(x)}) * load(T{uint16_t(y)}) +
             load(T{uint16_t(x >> 16)}) * load(T{uint16_t(y >> 16)});
    });
  }
}

/// Multiplies f32 as it is.
__device__ inline void mmaTf32(float (&c)[4], const uint32_t (&a)[4],
                               const uint32_t (&b)[2]) {
  mmaByShuffles(c, a, b, [](uint32_t x, uint32_t y) {
    return bitsToFloat(x) * bitsToFloat(y);
  });
}
#endif

//===----------------------------------------------------------------------===//
// An operand's tile in shared memory
//===----------------------------------------------------------------------===//

/// Steps of k per pipeline stage.
inline constexpr int kMmaDepth = 32;

/// kMmaDepth steps of k by `Size` rows or columns of 16-bit elements, in pieces
/// of 8 elements that are contiguous in memory along k, or across it. Pieces
/// are swizzled so that the 8 pieces read by one matrix load are in different
/// banks.
template <int Size, bool AlongK> struct OperandTile {
  static constexpr int kDepth = kMmaDepth;
  static constexpr int kPieces = Size * kDepth / 8;

  struct alignas(16) Piece {
    uint16_t bits[8];
  };
  Piece pieces[kPieces];

  /// Returns the address of the piece that contains element (row, k).
  __device__ Piece *at(int row, int k) {
    if constexpr (AlongK)
      return &pieces[row * (kDepth / 8) + (k / 8 ^ (row / 2 & 3))];
    else
      return &pieces[k * (Size / 8) + (row / 8 ^ (k & 7))];
  }
  __device__ static int rowOf(int piece) {
    return AlongK ? piece / (kDepth / 8) : piece % (Size / 8) * 8;
  }
  __device__ static int stepOf(int piece) {
    return AlongK ? piece % (kDepth / 8) * 8 : piece / (Size / 8);
  }

  /// Loads the fragment of `mma`'s a: rows [row, row + 16), steps [k, k + 16).
  __device__ void loadA(uint32_t (&a)[4], int row, int k) {
    int lane = threadIdx.x % 32, matrix = lane / 8;
    row += matrix % 2 * 8;
    k += matrix / 2 * 8;
    loadMatrices<!AlongK>(a, AlongK ? at(row + lane % 8, k)
                                    : at(row, k + lane % 8));
  }

  /// Loads the fragments of two of `mma`'s b: columns [col, col + 8) and the
  /// next 8.
  __device__ void loadB(uint32_t (&b)[2][2], int col, int k) {
    int lane = threadIdx.x % 32, matrix = lane / 8;
    col += matrix / 2 * 8;
    k += matrix % 2 * 8;
    uint32_t both[4];
    loadMatrices<!AlongK>(both, AlongK ? at(col + lane % 8, k)
                                       : at(col, k + lane % 8));
    b[0][0] = both[0];
    b[0][1] = both[1];
    b[1][0] = both[2];
    b[1][1] = both[3];
  }
};

//===----------------------------------------------------------------------===//
// The tile
//===----------------------------------------------------------------------===//

/// Like multiplyTile of tile.cuh, by `Threads` threads on the tensor cores. The
/// callbacks move 8 elements at once: `copyA(to, m, k)` and `copyB(to, n, k)`
/// start the copy of a piece, zeros outside the matrix; `emit(m, n, pair)`
/// takes two neighbours of a row.
///
/// Copies run Stages - 1 steps ahead of the multiplication. All stages together
/// stay within the 48 KB that a kernel has without asking for more.
template <class T, int TileM, int TileN, bool AlongKA, bool AlongKB,
          int Threads, class CopyA, class CopyB, class Emit>
__device__ inline void multiplyTileMma(int depth, const CopyA &copyA,
                                       const CopyB &copyB, const Emit &emit) {
  using TileA = OperandTile<TileM, AlongKA>;
  using TileB = OperandTile<TileN, AlongKB>;
  constexpr int kThreads = Threads, kDepth = TileA::kDepth;
  constexpr int Stages = TileM + TileN > 192 ? 3 : 4;
  constexpr int warpM = TileM / 2, warpN = TileN / (Threads / 64);
  constexpr int countM = warpM / 16, countN = warpN / 8;
  static_assert(countM > 0 && countN % 2 == 0);
  static_assert(TileA::kPieces % kThreads == 0 &&
                TileB::kPieces % kThreads == 0);
  __shared__ TileA tilesA[Stages];
  __shared__ TileB tilesB[Stages];
  const int warp = threadIdx.x / 32;
  const int firstM = warp % 2 * warpM, firstN = warp / 2 * warpN;
  const int steps = (depth + kDepth - 1) / kDepth;

  auto fetch = [&](int step) {
    // Commit a group even if it is empty, since waiting counts groups.
    if (step < steps) {
      TileA &a = tilesA[step % Stages];
      TileB &b = tilesB[step % Stages];
#pragma unroll
      for (int i = 0; i < TileA::kPieces / kThreads; ++i) {
        int piece = i * kThreads + threadIdx.x;
        int m = TileA::rowOf(piece), k = TileA::stepOf(piece);
        copyA(a.at(m, k), m, step * kDepth + k);
      }
#pragma unroll
      for (int i = 0; i < TileB::kPieces / kThreads; ++i) {
        int piece = i * kThreads + threadIdx.x;
        int n = TileB::rowOf(piece), k = TileB::stepOf(piece);
        copyB(b.at(n, k), n, step * kDepth + k);
      }
    }
    commitCopies();
  };

  RegisterFragment<float, countM, countN> sums = {};
  // Other threads may still read the previous tile.
  __syncthreads();
#pragma unroll
  for (int step = 0; step < Stages - 1; ++step)
    fetch(step);
  for (int step = 0; step < steps; ++step) {
    waitCopies<Stages - 2>();
    // All copies have arrived, and no thread reads the next stage any more.
    __syncthreads();
    fetch(step + Stages - 1);
    TileA &tileA = tilesA[step % Stages];
    TileB &tileB = tilesB[step % Stages];
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      uint32_t a[countM][4], b[countN / 2][2][2];
#pragma unroll
      for (int i = 0; i < countM; ++i)
        tileA.loadA(a[i], firstM + i * 16, k);
#pragma unroll
      for (int j = 0; j < countN / 2; ++j)
        tileB.loadB(b[j], firstN + j * 16, k);
#pragma unroll
      for (int i = 0; i < countM; ++i)
#pragma unroll
        for (int j = 0; j < countN; ++j)
          mma<T>(sums.ofGroup(i, j), a[i], b[j / 2][j % 2]);
    }
  }
  waitCopies<0>();
  emitPairs(sums, firstM, firstN, emit);
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_DEVICE_MMA_CUH
