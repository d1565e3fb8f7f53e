//===- machine.h - Blocks, warps and threads on the host ------------------===//
//
// The state of a cluster of blocks, whose threads are fibers on one host
// thread. A fiber runs until it waits.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_EMULATOR_MACHINE_H
#define FRIT_TEST_EMULATOR_MACHINE_H

#ifndef __x86_64__
#error "the emulator switches fibers by x86-64 assembly"
#endif

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <vector>

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
};

namespace emu {

/// Byte of uninitialized memory: NaN in every float type.
inline constexpr int kPoison = 0xFF;

enum class State { ready, waiting, atBlockBarrier, atWarpBarrier, done };

/// A pending copy of `bytes` bytes, then zeros up to `width`.
struct Copy {
  void *to;
  const void *from;
  int bytes, width, group;
};

/// A thread's part of WGMMA accumulators; see products.h.
struct ThreadProducts;
/// Four warps that issue WGMMA together.
struct Warpgroup;

struct Block;

struct Thread {
  static constexpr size_t kStackBytes = 96 << 10;
  static constexpr uint64_t kCanary = 0x5afe57ac5afe57ac;

  void *stackPointer = nullptr;
  std::unique_ptr<char[]> stack;
  State state = State::ready;
  Block *block = nullptr;
  dim3 id;
  unsigned lane = 0;
  /// First thread of its warp.
  Thread *warp = nullptr;
  unsigned warpSize = 0;
  const char *where = "start";
  /// While waiting: the condition to wait for, on the thread's stack.
  bool (*isOver)(const void *condition) = nullptr;
  const void *condition = nullptr;
  /// While at a warp barrier: its mask, and the exchanged value.
  unsigned mask = 0;
  uint64_t slot = 0;
  /// Pending asynchronous copies, and the open group.
  std::vector<Copy> copies;
  int openGroup = 0;
  /// TMA stores: number pending per group; the last group is open.
  std::vector<int> stores;
  /// Whether it has written to shared memory without a proxy fence. TMA does
  /// not see such writes.
  bool isUnfenced = false;
  unsigned clusterBarriers = 0;
  /// What it has done that one lane does alone, since its warp came together;
  /// and for the first lane of a warp, `alone` of the first lane that reached
  /// each instruction that all lanes execute together.
  unsigned alone = 0, together = 0;
  std::vector<unsigned> aloneBefore;
  std::shared_ptr<ThreadProducts> products;
};

/// An mbarrier. Its 8 bytes of shared memory only mark its place.
struct BarrierState {
  uint32_t count, arrivals;
  /// Expected bytes that have not arrived.
  int64_t bytes;
  uint32_t phase;
  /// Whether its initialization is visible to TMA and other blocks.
  bool isFenced;
};

/// A barrier of `bar.sync`.
struct NamedBarrier {
  int threads = 0, arrived = 0;
  unsigned phase = 0;
};

struct Block {
  /// Guard bytes after the shared memory, which reveal writes past its end.
  static constexpr size_t kGuard = 1024;

  dim3 index;
  uint32_t rank = 0;
  Thread *threads = nullptr;
  unsigned size = 0;
  std::vector<char> memory;
  char *shared = nullptr;
  uint32_t sharedBytes = 0;
  /// Barriers by offset in shared memory.
  std::map<uint32_t, BarrierState> barriers;
  NamedBarrier named[16];
  std::vector<std::shared_ptr<Warpgroup>> warpgroups;
};

/// A pending asynchronous operation.
struct Operation {
  const char *what;
  std::function<void()> complete;
};

struct Machine {
  std::vector<Thread> threads;
  std::vector<Block> blocks;
  std::vector<Operation> pending;
  Thread *current = nullptr;
  void *schedulerStack = nullptr;
  dim3 blockDim, gridDim;
  const std::function<void()> *body = nullptr;
  uint64_t random = 1;
  int failures = 0;
};
inline Machine machine;

inline void setSeed(uint64_t seed) { machine.random = seed * 2 + 1; }

inline uint64_t random() {
  machine.random = machine.random * 6364136223846793005u + 1442695040888963407u;
  return machine.random >> 33;
}

inline Block &currentBlock() { return *machine.current->block; }

//===----------------------------------------------------------------------===//
// Fibers
//===----------------------------------------------------------------------===//

/// Saves the callee-saved registers (System V ABI, 3.2.1) on the running stack,
/// stores its pointer in `*from`, and restores the registers from stack `to`.
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

/// Returns to the scheduler until `state` is resolved.
inline void yield(State state, const char *where) {
  Thread &me = *machine.current;
  me.state = state;
  me.where = where;
  emuSwitch(&me.stackPointer, machine.schedulerStack);
}

/// Waits until `isOver()`.
template <class Condition>
void waitUntil(const char *where, const Condition &isOver) {
  if (isOver())
    return;
  Thread &me = *machine.current;
  me.condition = &isOver;
  me.isOver = [](const void *condition) {
    return (*static_cast<const Condition *>(condition))();
  };
  yield(State::waiting, where);
}

inline void yieldToWarp(unsigned mask, const char *where) {
  machine.current->mask = mask;
  yield(State::atWarpBarrier, where);
  if (mask == ~0u)
    machine.current->alone = 0;
}

inline void fail(const char *what, const Thread &thread) {
  dim3 b = thread.block->index;
  fprintf(stderr, "emulator: %s (block %u,%u,%u thread %u at %s)\n", what, b.x,
          b.y, b.z, thread.id.x, thread.where);
  ++machine.failures;
}

/// Reports a fault of the running thread at `where` and abandons the launch;
/// never returns.
[[noreturn]] inline void fault(const char *what, const char *where) {
  machine.current->where = where;
  fail(what, *machine.current);
  yield(State::done, where);
  abort();
}
inline void require(bool isRight, const char *what, const char *where) {
  if (!isRight)
    fault(what, where);
}

/// Notes that the running thread does what one lane of a warp does alone, in a
/// branch. The warp may then stay apart until it synchronizes: ptxas takes for
/// granted that all lanes execute an `.aligned` instruction together, and may
/// leave out what brings them together.
inline void actAlone() { ++machine.current->alone; }

/// Checks at an instruction that the lanes of a warp execute together
/// (`.aligned`): no lane has acted alone since they last synchronized.
inline void requireTogether(const char *where) {
  Thread &me = *machine.current;
  std::vector<unsigned> &before = me.warp->aloneBefore;
  if (me.together == before.size())
    before.push_back(me.alone);
  require(before[me.together++] == me.alone,
          "a lane acted alone, and its warp did not synchronize before an "
          "instruction that all lanes execute together",
          where);
}

/// Checks at the end of a thread: no pending copies or stores.
inline void endThread() {
  Thread &me = *machine.current;
  require(std::all_of(me.stores.begin(), me.stores.end(),
                      [](int count) { return count == 0; }),
          "a thread ends while its tensor copies read shared memory", "end");
}

/// Runs a fiber from its start; never returns.
inline void fiberMain() {
  (*machine.body)();
  endThread();
  yield(State::done, "end");
  abort();
}

inline void prepare(Thread &thread, Block &block, unsigned index) {
  dim3 dim = machine.blockDim;
  thread.block = &block;
  thread.id = {index % dim.x, index / dim.x % dim.y, index / dim.x / dim.y};
  thread.lane = index % 32;
  thread.warp = block.threads + index / 32 * 32;
  thread.warpSize = std::min(32u, block.size - index / 32 * 32);
  thread.state = State::ready;
  thread.where = "start";
  thread.copies.clear();
  thread.openGroup = 0;
  thread.stores.assign(1, 0);
  thread.isUnfenced = false;
  thread.clusterBarriers = 0;
  thread.alone = thread.together = 0;
  thread.aloneBefore.clear();
  thread.products.reset();
  if (!thread.stack)
    thread.stack.reset(new char[Thread::kStackBytes]);
  memcpy(thread.stack.get(), &Thread::kCanary, sizeof(Thread::kCanary));
  // The stack as after a call of fiberMain: a return address, 16-byte aligned
  // above it, and below it the six registers that emuSwitch restores.
  auto end =
      reinterpret_cast<uintptr_t>(thread.stack.get()) + Thread::kStackBytes;
  auto **top = reinterpret_cast<void **>(end & ~uintptr_t(15));
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(fiberMain);
  for (int i = 0; i < 6; ++i)
    *--top = nullptr;
  thread.stackPointer = top;
}

inline void prepare(Block &block, size_t sharedBytes) {
  // The period of the widest swizzle.
  constexpr size_t alignment = 1024;
  block.memory.assign(sharedBytes + alignment + Block::kGuard, char(kPoison));
  auto address = reinterpret_cast<uintptr_t>(block.memory.data());
  block.shared = reinterpret_cast<char *>((address + alignment - 1) /
                                          alignment * alignment);
  block.sharedBytes = uint32_t(sharedBytes);
  block.barriers.clear();
  std::fill(std::begin(block.named), std::end(block.named), NamedBarrier());
  block.warpgroups.assign((block.size + 127) / 128, nullptr);
  for (unsigned i = 0; i < block.size; ++i)
    prepare(block.threads[i], block, i);
}

} // namespace emu

#endif // FRIT_TEST_EMULATOR_MACHINE_H
