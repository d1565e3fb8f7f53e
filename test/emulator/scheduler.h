//===- scheduler.h - Run a grid of fibers ---------------------------------===//
//
// Runs a grid, cluster by cluster. When a fiber waits, the scheduler runs
// another one, in an order that `setSeed` shuffles.
//
// Asynchronous operations (TMA, WGMMA) are a list. They complete, in random
// order, only when no thread can run without them, so a missing wait reads
// poison.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_EMULATOR_SCHEDULER_H
#define FRIT_TEST_EMULATOR_SCHEDULER_H

#include "machine.h"

namespace emu {

/// Releases the threads of a warp whose partners have all arrived at the
/// barrier.
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

/// Visits 0 to count - 1 from a random start, up or down, wrapping around.
template <class Visit> void shuffled(size_t count, const Visit &visit) {
  size_t i = random() % count, step = random() & 1 ? 1 : count - 1;
  for (size_t k = 0; k < count; ++k, i = (i + step) % count)
    visit(i);
}

inline void resume(Thread &thread) {
  thread.state = State::ready;
  machine.current = &thread;
  emuSwitch(&machine.schedulerStack, thread.stackPointer);
  if (memcmp(thread.stack.get(), &Thread::kCanary, sizeof(uint64_t))) {
    fail("stack overflow", thread);
    abort();
  }
}

/// Runs a warp as far as it gets without other warps, which exposes missing
/// barriers between warps.
inline bool runWarp(Thread *warp, unsigned size) {
  bool any = false;
  for (bool ran = true; ran || releaseWarp(warp, size); any |= ran) {
    ran = false;
    shuffled(size, [&](size_t lane) {
      Thread &thread = warp[lane];
      if (thread.state == State::ready ||
          (thread.state == State::waiting && thread.isOver(thread.condition))) {
        ran = true;
        resume(thread);
      }
    });
  }
  return any;
}

inline bool runWarps() {
  const unsigned warps = (machine.blocks[0].size + 31) / 32;
  bool any = false;
  shuffled(machine.blocks.size() * warps, [&](size_t index) {
    Thread &first = machine.blocks[index / warps].threads[index % warps * 32];
    any |= runWarp(&first, first.warpSize);
  });
  return any;
}

/// Releases the blocks whose threads are all at their barrier, not counting
/// threads that have returned. All threads of a warp must arrive, or none.
inline bool releaseBlocks() {
  bool any = false;
  for (Block &block : machine.blocks) {
    Thread *end = block.threads + block.size;
    size_t here = 0, done = 0;
    for (Thread *thread = block.threads; thread < end; ++thread) {
      here += thread->state == State::atBlockBarrier;
      done += thread->state == State::done;
    }
    if (here == 0 || here + done < block.size)
      continue;
    for (unsigned i = 1; i < block.size; ++i)
      if (i % 32 && (block.threads[i].state == State::done) !=
                        (block.threads[i - 1].state == State::done)) {
        fail("__syncthreads after some threads of a warp have returned",
             block.threads[i]);
        break;
      }
    for (Thread *thread = block.threads; thread < end; ++thread)
      if (thread->state == State::atBlockBarrier)
        thread->state = State::ready;
    any = true;
  }
  return any;
}

/// Completes about half of the pending operations, at least one.
inline bool completeSome() {
  std::vector<Operation> now, later;
  for (Operation &operation : machine.pending)
    (random() & 1 ? now : later).push_back(std::move(operation));
  if (now.empty())
    now.swap(later);
  machine.pending.swap(later);
  if (now.empty())
    return false;
  // They complete in any order.
  shuffled(now.size(), [&](size_t i) { now[i].complete(); });
  return true;
}

/// Reports why a cluster cannot continue.
inline void checkEnd() {
  // Report the innermost cause: a waiting thread blocks its warp, and that its
  // block.
  for (State state :
       {State::waiting, State::atWarpBarrier, State::atBlockBarrier})
    for (const Thread &thread : machine.threads)
      if (thread.state == state)
        return fail(state == State::waiting
                        ? "deadlock: what a thread waits for never comes"
                        : "deadlock: a barrier or shuffle that not all reach",
                    thread);
  for (const Block &block : machine.blocks) {
    const char *guard = block.shared + block.sharedBytes;
    if (std::any_of(guard, guard + Block::kGuard,
                    [](char byte) { return byte != char(kPoison); }))
      fail("shared memory was written past its end", *block.threads);
  }
}

/// Runs the blocks from `first` on as a cluster; false if one got stuck.
inline bool runCluster(dim3 first, unsigned cluster, size_t sharedBytes) {
  dim3 dim = machine.blockDim;
  const unsigned size = dim.x * dim.y * dim.z;
  machine.threads.resize(size_t(size) * cluster);
  machine.blocks.resize(cluster);
  machine.pending.clear();
  for (unsigned rank = 0; rank < cluster; ++rank) {
    Block &block = machine.blocks[rank];
    block.index = {first.x + rank, first.y, first.z};
    block.rank = rank;
    block.threads = &machine.threads[size_t(rank) * size];
    block.size = size;
    prepare(block, sharedBytes);
  }
  int before = machine.failures;
  auto isAlive = [](const Thread &thread) {
    return thread.state != State::done;
  };
  do {
    while (runWarps() || releaseBlocks())
      if (machine.failures != before)
        return false;
    if (!std::any_of(machine.threads.begin(), machine.threads.end(), isAlive) &&
        !machine.pending.empty()) {
      machine.current = &machine.threads[0];
      fail(machine.pending[0].what, machine.threads[0]);
    }
  } while (machine.failures == before && completeSome());
  if (machine.failures == before)
    checkEnd();
  return machine.failures == before;
}

/// Runs `body` in every thread of the grid. Returns false if the driver would
/// reject the launch, or if a block got stuck; its threads and the blocks after
/// it are then abandoned.
inline bool launch(dim3 grid, dim3 block, size_t sharedBytes,
                   const std::function<void()> &body, unsigned cluster = 1) {
  if (!grid.x || !grid.y || !grid.z || grid.x % cluster) {
    fprintf(stderr,
            "emulator: a grid of %u,%u,%u blocks in clusters of %u cannot be "
            "launched\n",
            grid.x, grid.y, grid.z, cluster);
    ++machine.failures;
    return false;
  }
  machine.blockDim = block;
  machine.gridDim = grid;
  machine.body = &body;
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; x += cluster)
        if (!runCluster({x, y, z}, cluster, sharedBytes))
          return false;
  return true;
}

} // namespace emu

#endif // FRIT_TEST_EMULATOR_SCHEDULER_H
