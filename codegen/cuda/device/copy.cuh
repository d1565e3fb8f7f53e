//===- copy.cuh - Asynchronous copies to shared memory --------------------===//
//
// Asynchronous copies (cp.async): the thread continues, and sees the data after
// it has waited for the copy's group. See the PTX ISA, "Data Movement". Below
// sm_80 copies are synchronous.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_DEVICE_COPY_CUH
#define FRIT_CODEGEN_CUDA_DEVICE_COPY_CUH

#include "frit/base.cuh"

namespace frit {

/// Reads 16 bytes that no other block reads.
template <class T>
__device__ inline Pack<T, 16 / sizeof(T)> loadOnce(const T *from) {
  using Whole = Pack<T, 16 / sizeof(T)>;
#ifdef FRIT_EMULATE
  return *reinterpret_cast<const Whole *>(from);
#else
  union {
    Whole pack;
    uint32_t words[4];
  } both;
  asm volatile("ld.global.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(both.words[0]), "=r"(both.words[1]), "=r"(both.words[2]),
                 "=r"(both.words[3])
               : "l"(from));
  return both.pack;
#endif
}

/// Starts copying `Width` bytes (4, 8 or 16) to shared memory; bytes from
/// `bytes` on become zeros.
template <int Width = 16>
__device__ inline void copyAsync(void *to, const void *from,
                                 int bytes = Width) {
#if FRIT_EMULATE >= 80
  // The emulator copies as late as allowed, so a missing wait reads old bytes.
  emu::copyAsync(to, from, bytes, Width);
#elif __CUDA_ARCH__ >= 800
  if constexpr (Width == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     sharedAddress(to)),
                 "l"(from), "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(
                     sharedAddress(to)),
                 "l"(from), "n"(Width), "r"(bytes)
                 : "memory");
#else
  struct alignas(Width) Words {
    uint32_t at[Width / 4];
  };
  if (bytes == Width)
    *static_cast<Words *>(to) = *static_cast<const Words *>(from);
  else
    for (int i = 0; i < Width; ++i)
      static_cast<char *>(to)[i] =
          i < bytes ? static_cast<const char *>(from)[i] : 0;
#endif
}

/// Starts copying 16 bytes if `taken`; bytes from `bytes` on become zeros. Its
/// addresses are computed in any case: before a branch, compilers would compute
/// each of many anew.
__device__ inline void copyAsyncIf(bool taken, void *to, const void *from,
                                   int bytes) {
#if !defined(FRIT_EMULATE) && __CUDA_ARCH__ >= 800
  asm volatile("{ .reg .pred p;\n setp.ne.b32 p, %3, 0;\n"
               "@p cp.async.cg.shared.global [%0], [%1], 16, %2; }" ::"r"(
                   sharedAddress(to)),
               "l"(from), "r"(bytes), "r"(int(taken))
               : "memory");
#else
  if (taken)
    copyAsync(to, from, bytes);
#endif
}

/// Closes the current group of copies.
__device__ inline void commitCopies() {
#if FRIT_EMULATE >= 80
  emu::commitCopies();
#elif __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most the last `Pending` groups are in flight.
template <int Pending> __device__ inline void waitCopies() {
#if FRIT_EMULATE >= 80
  emu::waitCopies(Pending);
#elif __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

//===----------------------------------------------------------------------===//
// Elements of a body in shared memory
//===----------------------------------------------------------------------===//

/// Stores V elements of a body from (row, col) on to shared memory. Copies them
/// asynchronously if the body has a `source`; the same thread sees them after
/// waitCopies().
template <int V, class Body, class Stored>
__device__ inline void fetch(const Body &body, Stored *to, unsigned row,
                             unsigned col) {
  constexpr int kPack = packOf<Stored, V>();
  if constexpr (requires { body.source(row, col); }) {
#pragma unroll
    for (int i = 0; i < V; i += kPack)
      copyAsync<int(kPack * sizeof(Stored))>(to + i, body.source(row, col) + i);
  } else {
    typename Body::Element vector[V];
    body.load(vector, row, col);
#pragma unroll
    for (int i = 0; i < V; i += kPack) {
      Pack<Stored, kPack> pack;
#pragma unroll
      for (int j = 0; j < kPack; ++j)
        pack.at[j] = Body::toStored(vector[i + j]);
      *reinterpret_cast<Pack<Stored, kPack> *>(to + i) = pack;
    }
  }
}

/// Reads V elements that fetch() stored.
template <class Body, int V, class Stored>
__device__ inline void fromShared(typename Body::Element (&vector)[V],
                                  const Stored *from) {
  constexpr int kPack = packOf<Stored, V>();
#pragma unroll
  for (int i = 0; i < V; i += kPack) {
    auto pack = *reinterpret_cast<const Pack<Stored, kPack> *>(from + i);
#pragma unroll
    for (int j = 0; j < kPack; ++j)
      vector[i + j] = Body::fromStored(pack.at[j]);
  }
}

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_DEVICE_COPY_CUH
