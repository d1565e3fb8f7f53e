//===- emulator.h - CUDA C++ kernels on the host --------------------------===//
//
// Lets kernel text compile as host C++ and runs it: one fiber per thread, one
// block at a time, on one host thread. Included by frit/base.cuh where
// FRIT_EMULATE is defined.
//
// What it finds: wrong results, barriers and shuffles that not every thread
// reaches (reported as a deadlock), accesses that a sanitizer sees, stacks that
// grow too far. Threads run in an order that `setSeed` shuffles, so a missing
// barrier shows as a result that depends on the seed. What it cannot find:
// reordered memory accesses, bank conflicts, too many registers.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_EMULATOR_H
#define FRIT_TEST_EMULATOR_H

#ifndef __x86_64__
#error "the emulator switches fibers by x86-64 assembly"
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <tuple>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
// One block runs at a time, so a block's memory can be the program's.
#define __shared__ static

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
};

namespace emu {

enum class State { ready, atBlockBarrier, atWarpBarrier, done };

/// `bytes` bytes to be copied, then zeros up to `width`.
struct Copy {
  void *to;
  const void *from;
  int bytes, width, group;
};

struct Thread {
  static constexpr size_t kStackBytes = 96 << 10;
  static constexpr uint64_t kCanary = 0x5afe57ac5afe57ac;

  void *stackPointer = nullptr;
  std::unique_ptr<char[]> stack;
  State state = State::ready;
  dim3 id;
  unsigned lane = 0, warp = 0;
  /// While at a warp barrier: who else must come, and what is being exchanged.
  unsigned mask = 0;
  uint64_t slot = 0;
  const char *where = "start";
  /// Asynchronous copies not yet made, and the group that is open.
  std::vector<Copy> copies;
  int openGroup = 0;
};

struct Machine {
  std::vector<Thread> threads;
  Thread *current = nullptr;
  void *schedulerStack = nullptr;
  dim3 blockIdx, blockDim, gridDim;
  const std::function<void()> *body = nullptr;
  std::vector<char> shared;
  uint64_t random = 1;
  int failures = 0;
};
inline Machine machine;

inline void setSeed(uint64_t seed) { machine.random = seed * 2 + 1; }

inline void *sharedMemory() {
  auto address = reinterpret_cast<uintptr_t>(machine.shared.data());
  return reinterpret_cast<void *>((address + 127) & ~uintptr_t(127));
}

/// Saves the callee-saved registers (System V ABI, 3.2.1) on the running stack,
/// whose pointer goes to `*from`, and resumes what was saved on stack `to`.
extern "C" void emuSwitch(void **from, void *to);
asm(R"(
  .text
  .weak emuSwitch
emuSwitch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
)");

/// Gives the host thread back to the scheduler until `state` is resolved.
inline void yield(State state, const char *where) {
  Thread &me = *machine.current;
  me.state = state;
  me.where = where;
  emuSwitch(&me.stackPointer, machine.schedulerStack);
}

inline void yieldToWarp(unsigned mask, const char *where) {
  machine.current->mask = mask;
  yield(State::atWarpBarrier, where);
}

inline void fail(const char *what, const Thread &thread) {
  dim3 b = machine.blockIdx;
  fprintf(stderr, "emulator: %s (block %u,%u,%u thread %u at %s)\n", what, b.x,
          b.y, b.z, thread.id.x, thread.where);
  ++machine.failures;
}

/// Where a fiber starts; it never returns.
inline void fiberMain() {
  (*machine.body)();
  yield(State::done, "end");
  abort();
}

inline void prepare(Thread &thread, unsigned index) {
  dim3 block = machine.blockDim;
  thread.id = {index % block.x, index / block.x % block.y,
               index / block.x / block.y};
  thread.lane = index % 32;
  thread.warp = index / 32;
  thread.state = State::ready;
  thread.where = "start";
  thread.copies.clear();
  thread.openGroup = 0;
  if (!thread.stack)
    thread.stack.reset(new char[Thread::kStackBytes]);
  memcpy(thread.stack.get(), &Thread::kCanary, sizeof(Thread::kCanary));
  // As after a call of fiberMain: a return address on a stack that is 16-byte
  // aligned above it, below it the six registers that emuSwitch restores.
  auto end =
      reinterpret_cast<uintptr_t>(thread.stack.get()) + Thread::kStackBytes;
  auto **top = reinterpret_cast<void **>(end & ~uintptr_t(15));
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(fiberMain);
  for (int i = 0; i < 6; ++i)
    *--top = nullptr;
  thread.stackPointer = top;
}

/// Frees the threads of a warp whose partners have all come to the barrier.
inline bool releaseWarp(Thread *warp, unsigned size) {
  bool any = false;
  unsigned all = size == 32 ? ~0u : (1u << size) - 1;
  for (unsigned lane = 0; lane < size; ++lane) {
    if (warp[lane].state != State::atWarpBarrier)
      continue;
    unsigned mask = warp[lane].mask & all, here = 0;
    for (unsigned other = 0; other < size; ++other)
      if (warp[other].state == State::atWarpBarrier &&
          (warp[other].mask & all) == mask)
        here |= 1u << other;
    if (mask & ~here)
      continue;
    any = true;
    for (unsigned other = 0; other < size; ++other)
      if (mask >> other & 1)
        warp[other].state = State::ready;
  }
  return any;
}

inline uint64_t random() {
  machine.random = machine.random * 6364136223846793005u + 1442695040888963407u;
  return machine.random >> 33;
}

/// Calls `visit(i)` for every i below `count`, from a random one on, up or
/// down.
template <class Visit> void shuffled(size_t count, const Visit &visit) {
  size_t i = random() % count, step = random() & 1 ? 1 : count - 1;
  for (size_t k = 0; k < count; ++k, i = (i + step) % count)
    visit(i);
}

inline void resume(Thread &thread) {
  machine.current = &thread;
  emuSwitch(&machine.schedulerStack, thread.stackPointer);
  if (memcmp(thread.stack.get(), &Thread::kCanary, sizeof(uint64_t))) {
    fail("stack overflow", thread);
    abort();
  }
}

/// Runs a warp as far as it gets without the others, which is what shows a
/// barrier that is missing between warps.
inline bool runWarp(Thread *warp, unsigned size) {
  bool any = false;
  for (bool ran = true; ran || releaseWarp(warp, size); any |= ran) {
    ran = false;
    shuffled(size, [&](size_t lane) {
      if (warp[lane].state != State::ready)
        return;
      ran = true;
      resume(warp[lane]);
    });
  }
  return any;
}

inline bool runWarps() {
  auto &threads = machine.threads;
  bool any = false;
  shuffled((threads.size() + 31) / 32, [&](size_t warp) {
    any |= runWarp(&threads[warp * 32],
                   std::min<size_t>(32, threads.size() - warp * 32));
  });
  return any;
}

/// Frees the block at its barrier once no warp gets further; false at the end.
inline bool releaseBlock() {
  auto &threads = machine.threads;
  size_t alive = 0;
  const Thread *stuck = nullptr;
  for (const Thread &thread : threads) {
    alive += thread.state != State::done;
    if (thread.state == State::atWarpBarrier)
      stuck = &thread;
  }
  if (alive == 0)
    return false;
  if (stuck) {
    fail("deadlock: a barrier or shuffle that not all reach", *stuck);
    return false;
  }
  // A barrier waits for those that have not returned; of a warp, all do or
  // none.
  for (size_t i = 1; i < threads.size(); ++i)
    if (i % 32 && (threads[i].state == State::done) !=
                      (threads[i - 1].state == State::done)) {
      fail("__syncthreads after some threads of a warp have returned",
           threads[i]);
      break;
    }
  for (Thread &thread : threads)
    if (thread.state == State::atBlockBarrier)
      thread.state = State::ready;
  return true;
}

/// Runs `body` in every thread of the grid; false if a block got stuck, whose
/// threads and the blocks after it are then abandoned.
inline bool launch(dim3 grid, dim3 block, size_t sharedBytes,
                   const std::function<void()> &body) {
  machine.blockDim = block;
  machine.gridDim = grid;
  machine.body = &body;
  machine.threads.resize(size_t(block.x) * block.y * block.z);
  int failuresBefore = machine.failures;
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        machine.blockIdx = {x, y, z};
        // What a kernel forgets to write must not look like a zero.
        machine.shared.assign(sharedBytes + 128, char(0xCD));
        for (size_t i = 0; i < machine.threads.size(); ++i)
          prepare(machine.threads[i], i);
        while (runWarps() || releaseBlock()) {
        }
        if (machine.failures != failuresBefore)
          return false;
      }
  return true;
}

/// A parameter of a kernel: a pointer is the next of `args`; a tensor map is
/// not needed, as there are no tensor copies here.
template <class Parameter> struct Argument {
  static Parameter next(void *const *&) { return Parameter(); }
};
template <class Pointee> struct Argument<Pointee *> {
  static Pointee *next(void *const *&args) {
    return static_cast<Pointee *>(*args++);
  }
};

/// Runs a kernel with the pointers in `args`.
template <class... Parameters>
void launchPointers(void (*kernel)(Parameters...), void *const *args,
                    const unsigned grid[3], const unsigned block[3],
                    unsigned sharedBytes) {
  launch({grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]},
         sharedBytes, [&] {
           void *const *next = args;
           // Braces, for the order of evaluation.
           std::tuple<Parameters...> all{Argument<Parameters>::next(next)...};
           std::apply(kernel, all);
         });
}

/// Each thread of `mask` offers `value` and gets the one of lane `source`.
template <class T> T exchange(unsigned mask, T value, unsigned source) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  Thread &me = *machine.current;
  memcpy(&me.slot, &value, sizeof value);
  yieldToWarp(mask, "shuffle");
  size_t index = me.warp * 32 + source;
  if (index < machine.threads.size())
    memcpy(&value, &machine.threads[index].slot, sizeof value);
  // Nobody offers anew before all have read.
  yieldToWarp(mask, "shuffle");
  return value;
}

/// Lets the lanes of a full warp read what each of them points to: calls
/// `use(pointerOf, lane)` when all have come.
template <class T, class Use> void withWarp(const T *mine, const Use &use) {
  Thread &me = *machine.current;
  me.slot = reinterpret_cast<uint64_t>(mine);
  yieldToWarp(~0u, "matrix instruction");
  auto pointerOf = [first = &machine.threads[me.warp * 32]](unsigned lane) {
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

/// Makes the copies of all closed groups but the last `pending`, no sooner.
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
// The words of CUDA C++
//===----------------------------------------------------------------------===//

#define threadIdx (emu::machine.current->id)
#define blockIdx (emu::machine.blockIdx)
#define blockDim (emu::machine.blockDim)
#define gridDim (emu::machine.gridDim)

inline void __syncthreads() {
  emu::yield(emu::State::atBlockBarrier, "__syncthreads");
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
  auto &threads = emu::machine.threads;
  me.slot = vote;
  emu::yieldToWarp(mask, "ballot");
  unsigned result = 0;
  for (size_t lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1 && me.warp * 32 + lane < threads.size())
      result |= unsigned(threads[me.warp * 32 + lane].slot) << lane;
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

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }

#endif // FRIT_TEST_EMULATOR_H
