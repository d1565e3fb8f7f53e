//===- ThreadPool.cpp - Threads that wait a little, then sleep ------------===//
//
// A model calls the pool hundreds of times per inference, often for some tens
// of microseconds. So workers spin shortly between calls before they sleep, and
// a call never waits for a worker that is late: whoever has not come when the
// work is done is shut out.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Cpu.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <pthread.h>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace frit::cpu;

namespace {
using Task = FunctionRef<void(unsigned thread)>;

/// How often a thread looks before it sleeps: some tens of microseconds.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Memory that only grows, aligned to cache lines; old contents are dropped.
class Scratch {
public:
  ~Scratch() { std::free(bytes); }

  bool reserve(size_t wanted) {
    if (wanted <= size)
      return true;
    std::free(bytes);
    size = (wanted + 4095) / 4096 * 4096;
    bytes = std::aligned_alloc(4096, size);
    if (!bytes)
      size = 0;
    return bytes != nullptr;
  }
  void *get() const { return bytes; }

private:
  void *bytes = nullptr;
  size_t size = 0;
};
} // namespace

struct ThreadPool::State {
  // The gate is one word: how many workers are inside, whether it is open, and
  // the number of the call. Workers enter by an increment that fails on a
  // closed gate, so after closing it the caller waits for those inside only.
  static constexpr uint32_t kInside = 0xffff;
  static constexpr uint32_t kOpen = 0x10000;
  static constexpr uint32_t kCall = 0x20000;

  struct Worker {
    State *state;
    unsigned index;
    pthread_t thread;
  };

  alignas(64) std::atomic<uint32_t> gate{0};
  alignas(64) std::atomic<int64_t> next{0};
  std::atomic<bool> stop{false};
  const Task *task = nullptr;
  Isa isa = Isa::sse2;
  std::vector<Worker> workers;
  Scratch shared;
  std::unique_ptr<Scratch[]> each;

  /// Waits for the gate to be other than `seen`.
  uint32_t await(uint32_t seen) {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (uint32_t now = gate.load(std::memory_order_acquire); now != seen)
        return now;
      relax();
    }
    gate.wait(seen, std::memory_order_acquire);
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
        gate.notify_all();
      // What is still open has no items left for a thread that came back.
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
    next.store(0, std::memory_order_relaxed);
    gate.fetch_add(kCall | kOpen, std::memory_order_acq_rel);
    gate.notify_all();
    body(0);
    uint32_t now = gate.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    while (now & kInside)
      now = await(now);
  }
};

Isa frit::cpu::bestIsa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Isa::avx512;
  if (avx2)
    return Isa::avx2;
#endif
  return Isa::sse2;
}

ThreadPool::ThreadPool(unsigned threads, Isa isa)
    : state(std::make_unique<State>()) {
  threads = std::clamp(threads, 1u, 1024u);
  state->isa = isa;
  state->workers.reserve(threads - 1); // the workers hold pointers into it
  for (unsigned index = 1; index < threads; ++index) {
    State::Worker &worker =
        state->workers.emplace_back(State::Worker{state.get(), index, {}});
    if (pthread_create(&worker.thread, nullptr, State::main, &worker)) {
      state->workers.pop_back();
      break;
    }
  }
  state->each = std::make_unique<Scratch[]>(size());
}

ThreadPool::~ThreadPool() {
  state->stop.store(true);
  state->gate.fetch_add(State::kCall);
  state->gate.notify_all();
  for (State::Worker &worker : state->workers)
    pthread_join(worker.thread, nullptr);
}

unsigned ThreadPool::size() const { return state->workers.size() + 1; }
Isa ThreadPool::isa() const { return state->isa; }

void ThreadPool::parallelItems(
    int64_t items, FunctionRef<void(int64_t item, unsigned thread)> body) {
  if (size() == 1 || items <= 1) {
    for (int64_t item = 0; item < items; ++item)
      body(item, 0);
    return;
  }
  auto task = [&](unsigned thread) {
    for (;;) {
      const int64_t item = state->next.fetch_add(1, std::memory_order_relaxed);
      if (item >= items)
        return;
      body(item, thread);
    }
  };
  state->run(task);
}

void ThreadPool::parallelFor(
    int64_t items, FunctionRef<void(int64_t begin, int64_t end)> body) {
  const int64_t chunks = std::min<int64_t>(items, int64_t(size()) * 8);
  if (size() == 1 || chunks <= 1) {
    if (items > 0)
      body(0, items);
    return;
  }
  parallelItems(chunks, [&](int64_t chunk, unsigned) {
    body(items / chunks * chunk + std::min(chunk, items % chunks),
         items / chunks * (chunk + 1) + std::min(chunk + 1, items % chunks));
  });
}

bool ThreadPool::reserve(size_t shared, size_t each) {
  bool done = state->shared.reserve(shared);
  for (unsigned thread = 0; thread < size(); ++thread)
    done = done && state->each[thread].reserve(each);
  return done;
}

void *ThreadPool::sharedScratch() const { return state->shared.get(); }
void *ThreadPool::scratch(unsigned thread) const {
  return state->each[thread].get();
}
