//===- ThreadPool.cpp - A thread pool that spins before it sleeps ---------===//
//
// A model calls the pool hundreds of times per inference, often for tens of
// microseconds. So workers spin briefly before they sleep, and a call never
// waits for a late worker: when the work is done, the gate closes for workers
// that have not entered.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Cpu.h"
#include "runtime/system/System.h"

#include <algorithm>
#include <atomic>
#include <pthread.h>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace frit;
using namespace frit::cpu;

namespace {
using Task = FunctionRef<void(unsigned thread)>;

/// Polls before a thread sleeps: tens of microseconds.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb"); // `yield` takes no time on most processors
#endif
}

/// Alignment of threads' scratch memory. It avoids false sharing, also of
/// adjacent cache lines that are prefetched together.
constexpr uint64_t kScratchAlignment = artifact::kAlignment;

/// The range [0, items), divided into `count` chunks.
struct Chunks {
  int64_t items, count;

  int64_t begin(int64_t chunk) const {
    return items / count * chunk + std::min(chunk, items % count);
  }
  int64_t end(int64_t chunk) const { return begin(chunk + 1); }
};

uint64_t aligned(uint64_t bytes) {
  return (bytes + kScratchAlignment - 1) / kScratchAlignment *
         kScratchAlignment;
}
} // namespace

struct ThreadPool::State {
  // The gate is one atomic word: number of workers inside, open flag, number of
  // the call. A worker enters by an increment that fails on a closed gate. So
  // after closing it, the caller waits only for those inside.
  static constexpr uint32_t kInside = 0xffff;
  static constexpr uint32_t kOpen = 0x10000;
  static constexpr uint32_t kCall = 0x20000;

  /// The next item of a thread's share.
  struct alignas(64) Share {
    std::atomic<int64_t> next;
  };

  struct Worker {
    State *state;
    unsigned index;
    pthread_t thread;
  };

  alignas(64) std::atomic<uint32_t> gate{0};
  std::atomic<bool> stop{false};
  const Task *task = nullptr;
  Isa isa{};
  std::vector<Worker> workers;
  std::unique_ptr<Share[]> shares;
  ScratchSize scratch;
  char *memory = nullptr;

  /// Waits until the gate differs from `seen` and returns it.
  uint32_t await(uint32_t seen) {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (uint32_t now = gate.load(std::memory_order_acquire); now != seen)
        return now;
      relax();
    }
    system::waitOn(gate, seen);
    return gate.load(std::memory_order_acquire);
  }

  void work(unsigned index) {
    uint32_t now = gate.load(std::memory_order_acquire);
    while (!stop.load(std::memory_order_relaxed)) {
      if (!(now & kOpen)) {
        now = await(now);
        continue;
      }
      if (!gate.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel))
        continue;
      const uint32_t call = now / kCall;
      (*task)(index);
      now = gate.fetch_sub(1, std::memory_order_acq_rel) - 1;
      if (!(now & (kOpen | kInside)))
        system::wakeAll(gate);
      // This call has no items left for a thread that has finished it; wait for
      // the next.
      while (now / kCall == call && !stop.load(std::memory_order_relaxed))
        now = await(now);
    }
  }

  static void *main(void *argument) {
    auto *worker = static_cast<Worker *>(argument);
    worker->state->work(worker->index);
    return nullptr;
  }

  void run(Task body) {
    task = &body;
    gate.fetch_add(kCall | kOpen, std::memory_order_acq_rel);
    system::wakeAll(gate);
    body(0);
    uint32_t now = gate.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    while (now & kInside)
      now = await(now);
  }

  /// Calls `body` for each item on the first `threads` threads. They begin with
  /// the same share of the items in each call, so that a step mostly reads what
  /// the same processor wrote in the one before, and go on with what others
  /// have left.
  void divide(int64_t items, unsigned threads,
              FunctionRef<void(int64_t item, unsigned thread)> body) {
    if (threads == 1 || items <= 1) {
      for (int64_t item = 0; item < items; ++item)
        body(item, 0);
      return;
    }
    const Chunks all{items, threads};
    for (unsigned i = 0; i < threads; ++i)
      shares[i].next.store(all.begin(i), std::memory_order_relaxed);
    run([&](unsigned thread) {
      for (unsigned i = 0; thread < threads && i < threads; ++i) {
        const unsigned share = (thread + i) % threads;
        int64_t item;
        while ((item = shares[share].next.fetch_add(
                    1, std::memory_order_relaxed)) < all.end(share))
          body(item, thread);
      }
    });
  }
};

ThreadPool::ThreadPool(unsigned threads, Isa isa)
    : state(std::make_unique<State>()) {
  threads = std::clamp(threads, 1u, 1024u);
  state->isa = isa;
  state->workers.reserve(threads - 1); // the workers hold pointers into it
  state->shares.reset(new State::Share[threads]);
  for (unsigned index = 1; index < threads; ++index) {
    State::Worker &worker =
        state->workers.emplace_back(State::Worker{state.get(), index, {}});
    if (pthread_create(&worker.thread, nullptr, State::main, &worker)) {
      state->workers.pop_back();
      break;
    }
  }
}

ThreadPool::~ThreadPool() {
  state->stop.store(true);
  state->gate.fetch_add(State::kCall);
  system::wakeAll(state->gate);
  for (State::Worker &worker : state->workers)
    pthread_join(worker.thread, nullptr);
}

unsigned ThreadPool::size() const { return state->workers.size() + 1; }
Isa ThreadPool::isa() const { return state->isa; }

void ThreadPool::parallelItems(
    int64_t items, FunctionRef<void(int64_t item, unsigned thread)> body) {
  state->divide(items, size(), body);
}

void ThreadPool::parallelFor(
    int64_t items, FunctionRef<void(int64_t begin, int64_t end)> body) {
  parallelSlots(items, size(),
                [&](int64_t begin, int64_t end, int64_t) { body(begin, end); });
}

void ThreadPool::parallelSlots(
    int64_t items, int64_t slots,
    FunctionRef<void(int64_t begin, int64_t end, int64_t slot)> body) {
  slots = std::min<int64_t>({slots, items, int64_t(size())});
  if (slots <= 1) {
    if (items > 0)
      body(0, items, 0);
    return;
  }
  const Chunks chunks{items, std::min<int64_t>(items, slots * 8)};
  state->divide(chunks.count, slots, [&](int64_t chunk, unsigned thread) {
    body(chunks.begin(chunk), chunks.end(chunk), thread);
  });
}

void ScratchSize::include(const ScratchSize &other) {
  shared = std::max(shared, other.shared);
  each = std::max(each, other.each);
}

uint64_t ScratchSize::total(unsigned threads) const {
  constexpr uint64_t most = uint64_t(1) << 56;
  if (shared >= most || each >= most / threads)
    return ~uint64_t(0);
  return aligned(shared) + threads * aligned(each);
}

void ThreadPool::setScratch(void *memory, const ScratchSize &size) {
  state->memory = static_cast<char *>(memory);
  state->scratch = size;
}

bool ThreadPool::holds(const ScratchSize &size) const {
  return size.shared <= state->scratch.shared &&
         size.each <= state->scratch.each;
}

void *ThreadPool::sharedScratch() const { return state->memory; }
void *ThreadPool::scratch(unsigned thread) const {
  return state->memory + aligned(state->scratch.shared) +
         thread * aligned(state->scratch.each);
}
