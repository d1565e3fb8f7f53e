//===- tile.cuh - A product's tile on the CUDA cores ----------------------===//
//
// Shared by gemm.cuh and conv.cuh: the product on the CUDA cores for types and
// shapes that the tensor cores do not support, and epilogues.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_TILE_CUH
#define FRIT_CODEGEN_CUDA_CONTRACTION_TILE_CUH

#include "frit/base.cuh"

namespace frit {

/// Computes GELU of two numbers in f16 arithmetic, packed into a word, with
/// half the instructions: x / 2 (1 + tanh(x q(x^2))), with q fitted by least
/// squares (error below 3e-5). For normally distributed x the relative error is
/// 3.9e-4; rounding the result alone makes 2.1e-4, and rounding x, as between
/// two kernels, 3.3e-4.
__device__ inline uint32_t geluToHalves(float x, float y) {
#if defined(FRIT_EMULATE) || __CUDA_ARCH__ < 800
  f16 low, high;
  store(low, geluTo16Bits(x));
  store(high, geluTo16Bits(y));
  return uint32_t(high.bits) << 16 | low.bits;
#else
  uint32_t both;
  asm("{\n"
      ".reg .b32 x, h, t, q, c0, c1, c2, most, least;\n"
      "mov.b32 most, 0x4d004d00;\n"  // 20, above which tanh is 1
      "mov.b32 least, 0xca00ca00;\n" // -12: infinity minus itself is not 0
      "mov.b32 c2, 0x8dd88dd8;\n"    // -3.567e-4
      "mov.b32 c1, 0x28bd28bd;\n"    // 3.703e-2
      "mov.b32 c0, 0x3a613a61;\n"    // 0.7975
      "cvt.rn.f16x2.f32 x, %2, %1;\n"
      "max.NaN.f16x2 x, x, least;\n"
      "mul.rn.f16x2 t, x, x;\n"
      "min.f16x2 t, t, most;\n"
      "fma.rn.f16x2 q, t, c2, c1;\n"
      "fma.rn.f16x2 q, t, q, c0;\n"
      "mul.rn.f16x2 q, x, q;\n"
      "tanh.approx.f16x2 q, q;\n"
      "mov.b32 h, 0x38003800;\n"
      "mul.rn.f16x2 h, x, h;\n"
      "fma.rn.f16x2 %0, h, q, h;\n"
      "}"
      : "=r"(both)
      : "f"(x), "f"(y));
  return both;
#endif
}

//===----------------------------------------------------------------------===//
// Epilogues: a function of sum + bias + residual, or of all three separately,
// with zero for absent ones
//===----------------------------------------------------------------------===//

struct Identity {
  template <class T> __device__ T operator()(T x) const { return x; }
};
struct Relu {
  template <class T> __device__ T operator()(T x) const {
    return maximum(x, T(0));
  }
};
struct Gelu {
  __device__ float operator()(float x) const {
    return 0.5f * x * (1.0f + erf(x * 0.70710678f));
  }
};
/// GELU for 16-bit results.
struct GeluTo16Bits {
  __device__ float operator()(float x) const { return geluTo16Bits(x); }
  /// Also computes the slope at `x`.
  __device__ float operator()(float x, float &slope) const {
    return geluTo16Bits(x, slope);
  }
  /// Computes two f16 results in a word.
  __device__ static uint32_t halves(float x, float y) {
    return geluToHalves(x, y);
  }
};
/// 0.5 x (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), which equals x
/// times the logistic function of 2 u.
struct GeluTanh {
  __device__ float operator()(float x) const {
    return x * logistic2(x * fma(x * x, 0.10294324f, 2.3022082f));
  }
  /// Also computes the slope at `x`. Above the bound of the square it is 0 or
  /// 1, and products may not overflow.
  __device__ float operator()(float x, float &slope) const {
    float t = minimum(x * x, 1e4f);
    float gate = logistic2(x * fma(t, 0.10294324f, 2.3022082f));
    float y = x * gate;
    slope = fma(fma(-y, gate, y), fma(t, 0.21406445f, 1.5957691f), gate);
    return y;
  }
};
struct Silu {
  __device__ float operator()(float x) const {
    return x * logistic2(x * 1.44269504f);
  }
};

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Accumulator type of products of T: float for floats up to 32 bits, double
/// for f64, 32 bits for small integers.
template <class T> struct Sum {
  using Type = T;
};
template <> struct Sum<f16> {
  using Type = float;
};
template <> struct Sum<bf16> {
  using Type = float;
};
template <> struct Sum<int8_t> {
  using Type = int32_t;
};
template <> struct Sum<uint8_t> {
  using Type = int32_t;
};
template <> struct Sum<int16_t> {
  using Type = int32_t;
};
template <> struct Sum<uint16_t> {
  using Type = int32_t;
};
template <class T> using SumOf = typename Sum<T>::Type;

template <bool Small> struct OffsetType {
  using Type = int;
};
template <> struct OffsetType<false> {
  using Type = int64_t;
};

/// Index type for memory of `Elements` elements: 32 bits if they suffice, which
/// halves the registers and instructions of addressing.
template <int64_t Elements>
using OffsetIn = typename OffsetType<(Elements < 1ll << 31)>::Type;

__device__ constexpr int64_t largest(int64_t a, int64_t b, int64_t c) {
  return a > b ? (a > c ? a : c) : (b > c ? b : c);
}

/// Value of an absent bias or residual. Adding -0.0 changes no number, so
/// compilers remove it; adding 0.0 would change -0.0.
template <class Acc> inline constexpr Acc kNothing = Acc(-0.0f);

/// Whether an epilogue computes two elements of D at a time.
template <class Epilogue, class D>
inline constexpr bool kEndsHalves =
    kSame<D, f16> && requires { Epilogue::halves(0.0f, 0.0f); };

/// Returns an element of the result from its `sum` of products, bias and
/// residual.
template <class Epilogue, class Acc>
__device__ inline auto finish(Acc sum, Acc bias, Acc residual) {
  if constexpr (requires { Epilogue()(sum, bias, residual); })
    return Epilogue()(sum, bias, residual);
  else
    return Epilogue()(sum + bias + residual);
}

/// Stores an element. Absent operands are null, which the compiler knows after
/// inlining.
template <class Epilogue, class Acc, class Bias, class D>
__device__ inline void finishElement(Acc acc, const Bias *bias, const D *r,
                                     D *d) {
  store(*d, finish<Epilogue>(acc, bias ? Acc(load(*bias)) : kNothing<Acc>,
                             r ? Acc(load(*r)) : kNothing<Acc>));
}

/// Stores two neighbours of a row; all pointers are aligned to two elements.
template <class Epilogue, class Bias, class D>
__device__ inline void finishPair(float (&pair)[2], const Bias *bias,
                                  const D *r, D *d) {
  constexpr float none = kNothing<float>;
  float biases[2] = {none, none}, residuals[2] = {none, none};
  if (bias)
    loadVector(biases, bias);
  if (r)
    loadVector(residuals, r);
  for (int i = 0; i < 2; ++i)
    pair[i] = finish<Epilogue>(pair[i], biases[i], residuals[i]);
  storeVector(d, pair);
}

//===----------------------------------------------------------------------===//
// The tile
//===----------------------------------------------------------------------===//

/// Threads per block of gemm and conv.
inline constexpr int kTileThreads = 256;

/// Constants of the fallback for a problem scheduled for wgmma_tile.cuh: tiles
/// of 64, and the number of its threads that compute them.
template <class P> struct FloorTiles : P {
  static constexpr int tileM = 64, tileN = 64;
  static constexpr int threads = P::tileM > 64 ? kTileThreads : 128;
};
template <class P> inline constexpr int kThreadsOf = kTileThreads;
template <class P>
inline constexpr int kThreadsOf<FloorTiles<P>> = FloorTiles<P>::threads;

/// Multiplies TileM × k by k × TileN and calls `emit(m, n, sum)` for every
/// element. `loadA(m, k)` and `loadB(n, k)` return one value each, zero outside
/// the matrix; m and n are relative to the tile's corner. AlongK: the operand
/// is contiguous along k, so neighbouring threads read along k.
///
/// Each of 16 × 16 threads has TileM / 16 × TileN / 16 accumulators, in groups
/// of 4 neighbours that one shared-memory access serves. The next 16 steps of k
/// are loaded while the current ones are multiplied (double buffering).
template <class Acc, int TileM, int TileN, bool AlongKA, bool AlongKB,
          class LoadA, class LoadB, class Emit>
__device__ inline void multiplyTile(int depth, const LoadA &loadA,
                                    const LoadB &loadB, const Emit &emit) {
  constexpr int TileK = 16;
  constexpr int perThreadM = TileM / 16, perThreadN = TileN / 16;
  static_assert(perThreadM % 4 == 0 && perThreadN % 4 == 0);
  // Padded by 4, which keeps f32 rows aligned to 16 bytes and avoids bank
  // conflicts of stores along k.
  __shared__ __align__(16) Acc tileA[TileK][TileM + 4];
  __shared__ __align__(16) Acc tileB[TileK][TileN + 4];
  const int thread = threadIdx.x;
  const int x = thread % 16 * 4, y = thread / 16 * 4;

  auto rowOf = [&](int i, int tile, bool alongK) {
    int element = i * kTileThreads + thread;
    return alongK ? element / TileK : element % tile;
  };
  auto stepOf = [&](int i, int tile, bool alongK) {
    int element = i * kTileThreads + thread;
    return alongK ? element % TileK : element / tile;
  };
  Acc nextA[perThreadM], nextB[perThreadN];
  auto fetch = [&](int k) {
#pragma unroll
    for (int i = 0; i < perThreadM; ++i)
      nextA[i] = loadA(rowOf(i, TileM, AlongKA), k + stepOf(i, TileM, AlongKA));
#pragma unroll
    for (int i = 0; i < perThreadN; ++i)
      nextB[i] = loadB(rowOf(i, TileN, AlongKB), k + stepOf(i, TileN, AlongKB));
  };

  Acc sums[perThreadM][perThreadN] = {};
  fetch(0);
  for (int k = 0; k < depth; k += TileK) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < perThreadM; ++i)
      tileA[stepOf(i, TileM, AlongKA)][rowOf(i, TileM, AlongKA)] = nextA[i];
#pragma unroll
    for (int i = 0; i < perThreadN; ++i)
      tileB[stepOf(i, TileN, AlongKB)][rowOf(i, TileN, AlongKB)] = nextB[i];
    __syncthreads();
    if (k + TileK < depth)
      fetch(k + TileK);
#pragma unroll
    for (int step = 0; step < TileK; ++step) {
      Acc a[perThreadM], b[perThreadN];
#pragma unroll
      for (int i = 0; i < perThreadM; ++i)
        a[i] = tileA[step][i / 4 * 64 + y + i % 4];
#pragma unroll
      for (int j = 0; j < perThreadN; ++j)
        b[j] = tileB[step][j / 4 * 64 + x + j % 4];
#pragma unroll
      for (int i = 0; i < perThreadM; ++i)
#pragma unroll
        for (int j = 0; j < perThreadN; ++j)
          sums[i][j] += a[i] * b[j];
    }
  }
#pragma unroll
  for (int i = 0; i < perThreadM; ++i)
#pragma unroll
    for (int j = 0; j < perThreadN; ++j)
      emit(i / 4 * 64 + y + i % 4, j / 4 * 64 + x + j % 4, sums[i][j]);
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_TILE_CUH
