//===- emulator.h - CUDA C++ kernels on the host --------------------------===//
//
// Compiles kernel text as host C++ and runs it: one fiber per thread, one
// cluster of blocks at a time, on one host thread. Included by frit/base.cuh if
// FRIT_EMULATE is defined: 90 emulates TMA and WGMMA (emulated_tma.h,
// emulated_wgmma.h), 80 has neither.
//
// Finds: wrong results; barriers and shuffles that not every thread reaches
// (reported as a deadlock); accesses beyond the end of an argument
// (FencedArguments.h); accesses that a sanitizer sees; stack overflow.
// `setSeed` shuffles the order of threads, so a missing barrier shows as a
// result that depends on the seed. Of asynchronous operations it finds missing
// waits, wrong descriptors, swizzles and byte counts, and memory that is
// written while it is read; of warps, a matrix instruction after one lane
// waited or copied in a branch, without __syncwarp between. Does not find:
// reordered memory accesses, bank conflicts, excess registers.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_EMULATOR_EMULATOR_H
#define FRIT_TEST_EMULATOR_EMULATOR_H

#include "scheduler.h"

#include <cmath>
#include <tuple>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
// Only one block with such memory runs at a time, so it can be static.
#define __shared__ static

namespace emu {

inline void *sharedMemory() { return currentBlock().shared; }

/// Takes a kernel's parameter from `args`: a pointer itself, or the address of
/// a tensor map or number.
template <class Parameter> struct Argument {
  static Parameter next(void *const *&args) {
    return *static_cast<const Parameter *>(*args++);
  }
};
template <class Pointee> struct Argument<Pointee *> {
  static Pointee *next(void *const *&args) {
    return static_cast<Pointee *>(*args++);
  }
};

/// Runs a kernel with the pointers in `args`, in clusters of `cluster` blocks.
template <class... Parameters>
void launchPointers(void (*kernel)(Parameters...), void *const *args,
                    const unsigned grid[3], const unsigned block[3],
                    unsigned sharedBytes, unsigned cluster) {
  auto body = [&] {
    void *const *next = args;
    // Braces guarantee the order of evaluation.
    std::tuple<Parameters...> all{Argument<Parameters>::next(next)...};
    std::apply(kernel, all);
  };
  launch({grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]},
         sharedBytes, body, cluster);
}

/// Publishes each thread's `value` to the threads of `mask` and returns that of
/// lane `source`.
template <class T> T exchange(unsigned mask, T value, unsigned source) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  Thread &me = *machine.current;
  memcpy(&me.slot, &value, sizeof value);
  yieldToWarp(mask, "shuffle");
  if (source < me.warpSize)
    memcpy(&value, &me.warp[source].slot, sizeof value);
  // Wait until all have read.
  yieldToWarp(mask, "shuffle");
  return value;
}

/// Lets the lanes of a full warp read each other's data: calls `use(pointerOf,
/// lane)` when all have arrived.
template <class T, class Use> void withWarp(const T *mine, const Use &use) {
  Thread &me = *machine.current;
  requireTogether("matrix instruction");
  me.slot = reinterpret_cast<uint64_t>(mine);
  yieldToWarp(~0u, "matrix instruction");
  auto pointerOf = [first = me.warp](unsigned lane) {
    return reinterpret_cast<const T *>(first[lane].slot);
  };
  use(pointerOf, me.lane);
  yieldToWarp(~0u, "matrix instruction");
}

inline void copyAsync(void *to, const void *from, int bytes, int width) {
  Thread &me = *machine.current;
  me.copies.push_back({to, from, bytes, width, me.openGroup});
}
inline void commitCopies() { ++machine.current->openGroup; }

/// Performs the copies of all committed groups but the last `pending`; not
/// earlier, so that missing waits show.
inline void waitCopies(int pending) {
  Thread &me = *machine.current;
  auto kept = me.copies.begin();
  for (const Copy &copy : me.copies) {
    if (copy.group >= me.openGroup - pending) {
      *kept++ = copy;
      continue;
    }
    memcpy(copy.to, copy.from, copy.bytes);
    memset(static_cast<char *>(copy.to) + copy.bytes, 0,
           copy.width - copy.bytes);
  }
  me.copies.erase(kept, me.copies.end());
}

} // namespace emu

//===----------------------------------------------------------------------===//
// Keywords and built-ins of CUDA C++
//===----------------------------------------------------------------------===//

#define threadIdx (emu::machine.current->id)
#define blockIdx (emu::machine.current->block->index)
#define blockDim (emu::machine.blockDim)
#define gridDim (emu::machine.gridDim)

inline void __syncthreads() {
  emu::yield(emu::State::atBlockBarrier, "__syncthreads");
  emu::machine.current->alone = 0;
}
inline void __syncwarp(unsigned mask = ~0u) {
  emu::yieldToWarp(mask, "__syncwarp");
}

template <class T> T __shfl_sync(unsigned mask, T value, int lane) {
  return emu::exchange(mask, value, lane & 31);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int bits) {
  return emu::exchange(mask, value, emu::machine.current->lane ^ bits);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, int delta) {
  unsigned lane = emu::machine.current->lane;
  return emu::exchange(mask, value, lane + delta < 32 ? lane + delta : lane);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, int delta) {
  int lane = emu::machine.current->lane;
  return emu::exchange(mask, value, lane >= delta ? lane - delta : lane);
}
inline unsigned __ballot_sync(unsigned mask, bool vote) {
  emu::Thread &me = *emu::machine.current;
  me.slot = vote;
  emu::yieldToWarp(mask, "ballot");
  unsigned result = 0;
  for (unsigned lane = 0; lane < me.warpSize; ++lane)
    if (mask >> lane & 1)
      result |= unsigned(me.warp[lane].slot) << lane;
  emu::yieldToWarp(mask, "ballot");
  return result;
}
inline bool __any_sync(unsigned mask, bool vote) {
  return __ballot_sync(mask, vote) != 0;
}
inline bool __all_sync(unsigned mask, bool vote) {
  return __ballot_sync(mask, !vote) == 0;
}

template <class T> T atomicAdd(T *to, T value) {
  T old = *to;
  *to += value;
  return old;
}

inline float __fdividef(float x, float y) { return x / y; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }

#endif // FRIT_TEST_EMULATOR_EMULATOR_H
