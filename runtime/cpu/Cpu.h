//===- Cpu.h - Contractions on the host's cores ---------------------------===//
//
// What the cpu target does not generate itself: matrix products and
// convolutions, each over all the threads of a pool. The kernels exist once per
// instruction set and the pool knows which one to use, so there is no state
// outside the pool.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CPU_CPU_H
#define FRIT_CPU_CPU_H

#include "frit/artifact.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

namespace frit::cpu {

/// A callable that someone else keeps alive while this is used.
template <typename Signature> class FunctionRef;
template <typename Result, typename... Arguments>
class FunctionRef<Result(Arguments...)> {
public:
  template <typename Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>)
  FunctionRef(Callable &&callable)
      : object(const_cast<void *>(static_cast<const void *>(&callable))),
        call([](void *object, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<Callable> *>(object))(
              arguments...);
        }) {}

  Result operator()(Arguments... arguments) const {
    return call(object, arguments...);
  }

private:
  void *object;
  Result (*call)(void *, Arguments...);
};

/// The instruction sets there are kernels for, each a superset of those before.
enum class Isa : uint32_t { sse2, avx2, avx512 };

/// The best of them that this processor and its operating system support.
Isa bestIsa();

/// Memory that a contraction needs beside its arguments, in bytes: `shared` by
/// all threads and `each` for every one of them.
struct ScratchSize {
  uint64_t shared = 0, each = 0;

  /// Grows to where it suffices for `other` too.
  void include(const ScratchSize &other);

  /// The memory of a pool of so many threads, all ones where that is more than
  /// any machine has.
  uint64_t total(unsigned threads) const;
};

/// Threads that run a body together, the caller among them, with scratch memory
/// for each. One thread at a time may use a pool, and bodies may not use the
/// pool they run on.
class ThreadPool {
public:
  /// `threads` counts the caller's; 0 is taken as 1. Where the system refuses a
  /// thread, the pool is smaller.
  explicit ThreadPool(unsigned threads, Isa isa = bestIsa());
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned size() const;
  Isa isa() const;

  /// Calls `body(begin, end)` for chunks that cover [0, items) once, and
  /// returns when all are done. Threads take the next chunk when they are free.
  void parallelFor(int64_t items,
                   FunctionRef<void(int64_t begin, int64_t end)> body);

  /// As above, an item at a time, with the number of the thread, below size().
  void parallelItems(int64_t items,
                     FunctionRef<void(int64_t item, unsigned thread)> body);

  /// As parallelFor, with at most `slots` calls at the same time, each of which
  /// has one of as many numbers.
  void parallelSlots(
      int64_t items, int64_t slots,
      FunctionRef<void(int64_t begin, int64_t end, int64_t slot)> body);

  /// Gives the pool its scratch memory: size.total(size()) bytes at a multiple
  /// of artifact::kAlignment, which stay the caller's.
  void setScratch(void *memory, const ScratchSize &size);

  /// Whether the scratch memory suffices.
  bool holds(const ScratchSize &size) const;
  void *sharedScratch() const;
  void *scratch(unsigned thread) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

/// What a pool of so many threads must hold to compute a problem; nothing where
/// it is declined.
std::optional<ScratchSize> scratchOf(const artifact::Gemm &problem, Isa isa,
                                     unsigned threads);
std::optional<ScratchSize> scratchOf(const artifact::Conv &problem, Isa isa,
                                     unsigned threads);

/// Computes what artifact.h says of the problem; bias and R have D's type.
/// Accepts f32, f16 and bf16 in any mix (sums are f32), f64, and i8 or u8 with
/// 32-bit integer results. False: declined, or the pool does not hold the
/// scratch memory; nothing was written. Workspaces are not needed and ignored.
bool gemm(const artifact::Gemm &problem, void *const *arguments,
          ThreadPool &pool);

/// The same for a convolution of f32, f16, bf16 or f64.
bool conv(const artifact::Conv &problem, void *const *arguments,
          ThreadPool &pool);

} // namespace frit::cpu

#endif // FRIT_CPU_CPU_H
