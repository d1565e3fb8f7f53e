//===- barriers.h - Shared memory and barriers of sm_90 -------------------===//
//
// Addresses of shared memory, mbarriers, the barriers of `bar.sync` and cluster
// barriers. See the PTX ISA, "Parallel Synchronization and Communication
// Instructions".
//
// An address has the offset in a block's shared memory in its low 24 bits, and
// above them 0 for the running block or 1 + the block's rank in the cluster.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_EMULATOR_BARRIERS_H
#define FRIT_TEST_EMULATOR_BARRIERS_H

#include "machine.h"

namespace emu {

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

inline uint32_t sharedAddress(const void *pointer) {
  Block &block = currentBlock();
  auto offset = static_cast<const char *>(pointer) - block.shared;
  require(offset >= 0 && offset < block.sharedBytes,
          "not an address of the block's dynamic shared memory",
          "shared address");
  return uint32_t(offset);
}

/// Returns the address in block `rank` of the cluster for one of the running
/// block.
inline uint32_t addressInBlock(const void *here, uint32_t rank) {
  require(rank < machine.blocks.size(), "the cluster has no such block",
          "mapa");
  return sharedAddress(here) | (rank + 1) << 24;
}

/// Returns the block of an address; it must not have ended.
inline Block &blockOf(uint32_t address, const char *where) {
  if (address >> 24 == 0)
    return currentBlock();
  Block &block = machine.blocks[(address >> 24) - 1];
  require(std::any_of(
              block.threads, block.threads + block.size,
              [](const Thread &thread) { return thread.state != State::done; }),
          "reaches into a block that has ended", where);
  return block;
}

inline uint32_t offsetOf(uint32_t address) { return address & 0xffffff; }

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

/// Returns the contents of a barrier's 8 bytes, which reveal other writes.
inline uint64_t barrierMark(uint32_t offset) {
  return 0xba44'1e45'0000'0000u | offset;
}

inline BarrierState &barrierAt(Block &block, uint32_t offset,
                               const char *where) {
  auto found = block.barriers.find(offset);
  require(found != block.barriers.end(), "a barrier was not initialised",
          where);
  uint64_t mark;
  memcpy(&mark, block.shared + offset, sizeof mark);
  require(mark == barrierMark(offset), "a barrier was overwritten", where);
  return found->second;
}

/// Returns a barrier whose initialization was fenced, so that TMA and other
/// blocks see it.
inline BarrierState &fencedBarrierAt(Block &block, uint32_t offset,
                                     const char *where) {
  BarrierState &barrier = barrierAt(block, offset, where);
  require(barrier.isFenced, "a barrier was not fenced when it was initialised",
          where);
  return barrier;
}

inline void initBarrier(const void *at, uint32_t count) {
  uint32_t offset = sharedAddress(at);
  require(count > 0 && count < 1u << 20 && offset % 8 == 0,
          "a barrier of no threads or unaligned", "mbarrier.init");
  Block &block = currentBlock();
  require(!block.barriers.count(offset), "a barrier is initialised twice",
          "mbarrier.init");
  uint64_t mark = barrierMark(offset);
  memcpy(block.shared + offset, &mark, sizeof mark);
  block.barriers[offset] = {count, count, 0, 0, false};
}

/// Fences all barriers of the block: one thread initializes them.
inline void fenceBarrierInit() {
  for (auto &[offset, barrier] : currentBlock().barriers)
    barrier.isFenced = true;
}

/// Ends the phase if all arrivals and bytes are complete.
inline void endPhase(BarrierState &barrier) {
  if (barrier.arrivals > 0 || barrier.bytes != 0)
    return;
  barrier.arrivals = barrier.count;
  barrier.phase ^= 1;
}

inline void arrive(BarrierState &barrier, int64_t bytes) {
  require(barrier.arrivals > 0, "more arrivals than a barrier's phase has",
          "mbarrier.arrive");
  barrier.bytes += bytes;
  --barrier.arrivals;
  endPhase(barrier);
}
inline void arriveHere(const void *at, int64_t bytes = 0) {
  arrive(barrierAt(currentBlock(), sharedAddress(at), "mbarrier.arrive"),
         bytes);
}
inline void arriveAt(uint32_t address) {
  arrive(fencedBarrierAt(blockOf(address, "mbarrier.arrive"), offsetOf(address),
                         "mbarrier.arrive"),
         0);
}

/// Counts arrived bytes.
inline void completeBytes(BarrierState &barrier, int64_t bytes) {
  barrier.bytes -= bytes;
  endPhase(barrier);
}

inline void waitBarrier(const void *at, uint32_t parity) {
  BarrierState &barrier =
      barrierAt(currentBlock(), sharedAddress(at), "mbarrier.try_wait");
  waitUntil("mbarrier.try_wait", [&] { return barrier.phase != parity; });
}

//===----------------------------------------------------------------------===//
// bar.sync, clusters
//===----------------------------------------------------------------------===//

/// Arrives at barrier `index` of `threads` threads; returns the phase.
inline unsigned arriveNamed(int index, int threads) {
  NamedBarrier &barrier = currentBlock().named[index];
  require(threads > 0 && threads % 32 == 0 &&
              (barrier.arrived == 0 || barrier.threads == threads),
          "threads disagree on a barrier's size", "bar.arrive");
  barrier.threads = threads;
  unsigned phase = barrier.phase;
  if (++barrier.arrived == threads) {
    barrier.arrived = 0;
    ++barrier.phase;
  }
  return phase;
}
inline void syncNamed(int index, int threads) {
  unsigned phase = arriveNamed(index, threads);
  const NamedBarrier &barrier = currentBlock().named[index];
  waitUntil("bar.sync", [&] { return barrier.phase != phase; });
  machine.current->alone = 0;
}

inline void arriveCluster() { ++machine.current->clusterBarriers; }

/// Waits for all threads of the cluster that have not ended.
inline void waitCluster() {
  unsigned barriers = machine.current->clusterBarriers;
  waitUntil("barrier.cluster.wait", [&] {
    return std::all_of(machine.threads.begin(), machine.threads.end(),
                       [&](const Thread &thread) {
                         return thread.clusterBarriers >= barriers ||
                                thread.state == State::done;
                       });
  });
}

} // namespace emu

#endif // FRIT_TEST_EMULATOR_BARRIERS_H
