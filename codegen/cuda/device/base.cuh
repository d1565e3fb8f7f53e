//===- base.cuh - Types, loads and stores of generated kernels ------------===//
//
// Included by every emitted kernel, directly or through a skeleton. It needs no
// CUDA header, so that NVRTC can compile it from memory. It is also host C++:
// with FRIT_EMULATE defined, test/emulator/emulator.h defines the CUDA keywords
// and the same text runs on the host.
//
// 16-bit floats are storage types only. `load` converts a value to its compute
// type (float for f16, bf16 and f32), and `store` rounds it back to nearest
// even.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_DEVICE_BASE_CUH
#define FRIT_CODEGEN_CUDA_DEVICE_BASE_CUH

#if defined(FRIT_EMULATE)
#include "emulator.h"
#elif defined(__CUDACC_RTC__)
// NVRTC has no standard headers; define the names that emitted kernels use.
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef long ptrdiff_t;
typedef unsigned long uintptr_t;
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#else
#include <cmath>
#include <cstdint>
#endif

#include "frit/float8.cuh"
#include "frit/math.cuh"

namespace frit {

/// Returns the value number `index`.
template <class T, class... Others>
__device__ inline T pick(unsigned index, T first, Others... others) {
  if constexpr (sizeof...(others) == 0)
    return first;
  else
    return index == 0 ? first : pick(index - 1, others...);
}

/// IEEE binary16, as stored.
struct f16 {
  uint16_t bits;
};

/// The upper half of a binary32, as stored.
struct bf16 {
  uint16_t bits;
};

/// A truth value, as stored: one byte, 0 or 1. A type of its own, so that
/// overloads tell tensors of bool from those of u8.
struct boolean {
  uint8_t bits;
};

template <class T, class U> inline constexpr bool kSame = false;
template <class T> inline constexpr bool kSame<T, T> = true;

//===----------------------------------------------------------------------===//
// One element
//===----------------------------------------------------------------------===//

/// Converts a stored value to its compute type. Integers, f32 and f64 compute
/// in their storage type.
template <class T> __device__ inline T load(T value) { return value; }
__device__ inline bool load(boolean value) { return value.bits != 0; }
__device__ inline float load(bf16 value) {
  return bitsToFloat(uint32_t(value.bits) << 16);
}
__device__ inline float load(f16 value) {
#ifdef FRIT_EMULATE
  return halfToFloat(value.bits);
#else
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
#endif
}

/// The type that `load` converts a T to.
template <class T> using Compute = decltype(load(T()));

template <class T, class V> __device__ inline void store(T &to, V value) {
  to = static_cast<T>(value);
}
template <class V> __device__ inline void store(boolean &to, V value) {
  to.bits = value != V(0);
}
template <class V> __device__ inline void store(f16 &to, V value) {
#ifdef FRIT_EMULATE
  to.bits = floatToHalf(float(value));
#else
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(float(value)));
#endif
}
template <class V> __device__ inline void store(bf16 &to, V value) {
#if !defined(FRIT_EMULATE) && __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to.bits) : "f"(float(value)));
#else
  uint32_t bits = floatToBits(float(value));
  bool nan = (bits & 0x7fffffff) > 0x7f800000;
  to.bits = nan ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#endif
}

/// Rounds `value` to the precision of T: a cast in the model.
template <class T> __device__ inline float roundTo(float value) {
  T rounded;
  store(rounded, value);
  return load(rounded);
}

//===----------------------------------------------------------------------===//
// V consecutive elements
//===----------------------------------------------------------------------===//

/// N elements that one instruction moves: up to 16 bytes.
template <class T, int N> struct alignas(N * sizeof(T)) Pack {
  T at[N];
};

/// Returns the elements of T per access: the largest power of two that divides
/// V and fits 16 bytes.
template <class T, int V> __device__ constexpr int packOf() {
  int n = 1;
  while (V % (2 * n) == 0 && 2 * n * int(sizeof(T)) <= 16)
    n *= 2;
  return n;
}

/// Reads V elements at `from`, which is aligned to min(16, V * sizeof(T)).
template <int V, class T, class F>
__device__ inline void loadVector(F (&out)[V], const T *from) {
  constexpr int n = packOf<T, V>();
#pragma unroll
  for (int i = 0; i < V; i += n) {
    auto pack = *reinterpret_cast<const Pack<T, n> *>(from + i);
#pragma unroll
    for (int j = 0; j < n; ++j)
      out[i + j] = load(pack.at[j]);
  }
}

/// Writes a pack in one instruction. Compilers split an assignment of many
/// parts and do not always merge the stores again.
template <class T, int N>
__device__ inline void storePack(T *to, const Pack<T, N> &pack) {
#ifndef FRIT_EMULATE
  union {
    Pack<T, N> pack;
    uint32_t words[sizeof(pack) / 4 + 1];
  } both = {pack};
  if constexpr (sizeof(pack) == 16) {
    asm volatile("st.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to),
                 "r"(both.words[0]), "r"(both.words[1]), "r"(both.words[2]),
                 "r"(both.words[3])
                 : "memory");
    return;
  } else if constexpr (sizeof(pack) == 8) {
    asm volatile("st.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(both.words[0]),
                 "r"(both.words[1])
                 : "memory");
    return;
  }
#endif
  *reinterpret_cast<Pack<T, N> *>(to) = pack;
}

/// Marks an operand as not null, so that compilers drop the checks for absent
/// operands.
template <class T> __device__ inline T *present(T *operand) {
#ifndef FRIT_EMULATE
  __builtin_assume(operand != nullptr);
#endif
  return operand;
}

/// Whether one instruction rounds two values to two elements of T.
template <class T> inline constexpr bool kRoundsPairs = false;
#if !defined(FRIT_EMULATE) && __CUDA_ARCH__ >= 800
template <> inline constexpr bool kRoundsPairs<f16> = true;
template <> inline constexpr bool kRoundsPairs<bf16> = true;
#endif
__device__ inline void storePair(f16 *to, float x, float y) {
#if !defined(FRIT_EMULATE) && __CUDA_ARCH__ >= 800
  asm("{ .reg .b32 t;\n cvt.rn.f16x2.f32 t, %3, %2;\n mov.b32 {%0, %1}, t; }"
      : "=h"(to[0].bits), "=h"(to[1].bits)
      : "f"(x), "f"(y));
#endif
}
__device__ inline void storePair(bf16 *to, float x, float y) {
#if !defined(FRIT_EMULATE) && __CUDA_ARCH__ >= 800
  asm("{ .reg .b32 t;\n cvt.rn.bf16x2.f32 t, %3, %2;\n mov.b32 {%0, %1}, t; }"
      : "=h"(to[0].bits), "=h"(to[1].bits)
      : "f"(x), "f"(y));
#endif
}

/// Rounds two values to neighbouring elements of T, the first in the low half.
template <class T> __device__ inline uint32_t packPair(float low, float high) {
#if defined(FRIT_EMULATE) || __CUDA_ARCH__ < 800
  T pair[2];
  store(pair[0], low);
  store(pair[1], high);
  return pair[0].bits | uint32_t(pair[1].bits) << 16;
#else
  uint32_t result;
  if constexpr (kSame<T, f16>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
#endif
}

/// Rounds the values from `first` on to a pack.
template <class T, int N, int V, class F>
__device__ inline void roundToPack(Pack<T, N> &to, const F (&in)[V],
                                   int first) {
  if constexpr (kRoundsPairs<T> && N % 2 == 0) {
#pragma unroll
    for (int i = 0; i < N; i += 2)
      storePair(to.at + i, in[first + i], in[first + i + 1]);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i)
      store(to.at[i], in[first + i]);
  }
}

/// Writes V elements at `to`, which is aligned to min(16, V * sizeof(T)).
template <int V, class T, class F>
__device__ inline void storeVector(T *to, const F (&in)[V]) {
  constexpr int n = packOf<T, V>();
#pragma unroll
  for (int i = 0; i < V; i += n) {
    Pack<T, n> pack;
    roundToPack(pack, in, i);
    storePack(to + i, pack);
  }
}

#ifndef FRIT_EMULATE
/// Converts a pointer into shared memory to its 32-bit shared address.
__device__ inline uint32_t sharedAddress(const void *pointer) {
  return uint32_t(__cvta_generic_to_shared(pointer));
}
#endif

/// Returns the block's dynamic shared memory, at least 16-byte aligned.
template <class T> __device__ inline T *dynamicShared() {
#ifdef FRIT_EMULATE
  return reinterpret_cast<T *>(emu::sharedMemory());
#else
  extern __shared__ __align__(128) unsigned char fritShared[];
  return reinterpret_cast<T *>(fritShared);
#endif
}

//===----------------------------------------------------------------------===//
// Programmatic dependent launch (PDL)
//===----------------------------------------------------------------------===//

/// Waits until the kernels before this one have finished and their writes are
/// visible. Every block of every kernel calls it before it first accesses
/// memory that another kernel writes, or writes memory that another accesses.
__device__ inline void pdlWait() {
#if !defined(FRIT_EMULATE) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the next kernel start once every block has called this or exited. It
/// gives no memory guarantee: the next kernel still calls pdlWait().
__device__ inline void pdlTrigger() {
#if !defined(FRIT_EMULATE) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Prefetches `bytes` bytes into L2, by the first block. No kernel that may
/// still be running writes them. In a model larger than L2 they are in memory,
/// with a latency of a microsecond.
__device__ inline void prefetchL2(const void *from, int bytes) {
#if !defined(FRIT_EMULATE) && __CUDA_ARCH__ >= 900
  if (blockIdx.x == 0)
    for (int at = threadIdx.x * 128; at < bytes; at += blockDim.x * 128)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(
          static_cast<const unsigned char *>(from) + at));
#endif
}

/// A TMA descriptor as encoded by cuTensorMapEncodeTiled or
/// cuTensorMapEncodeIm2col; a `const __grid_constant__` parameter.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_DEVICE_BASE_CUH
