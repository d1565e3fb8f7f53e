//===- Cpu.h - Matrix products and convolutions on the host ---------------===//
//
// Matrix products and convolutions, which the CPU target does not generate as
// code. Each runs over all threads of a pool. The kernels exist once per
// instruction set and the pool selects the set, so there is no global state.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_CPU_CPU_H
#define FRIT_RUNTIME_CPU_CPU_H

#include "frit/artifact.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

namespace frit::cpu {

/// A non-owning reference to a callable, which must outlive it.
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

/// Instruction sets with kernels, of x86-64 and of Arm.
enum class Isa : uint32_t {
  sse2,
  avx2,
  avx512,
  avx512vnni,
  amx, ///< with avx512vnni
  neon,
  i8mm
};

/// Returns the sets that the processor and the operating system support, the
/// best last.
std::span<const Isa> isas();
inline Isa bestIsa() { return isas().back(); }

/// Scratch memory of a contraction in bytes: `shared` by all threads, and
/// `each` per thread.
struct ScratchSize {
  uint64_t shared = 0, each = 0;

  /// Enlarges this so that it suffices for `other` too.
  void include(const ScratchSize &other);

  /// Returns the bytes for a pool of `threads` threads; UINT64_MAX on overflow.
  uint64_t total(unsigned threads) const;
};

/// A pool of threads, the caller's included, with scratch memory for each. Only
/// one thread at a time may use a pool; bodies may not use the pool they run
/// on.
class ThreadPool {
public:
  /// Creates a pool of `threads` threads, the caller's included; 0 means 1. If
  /// the system refuses to create a thread, the pool is smaller.
  explicit ThreadPool(unsigned threads, Isa isa = bestIsa());
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned size() const;
  Isa isa() const;

  /// Calls `body(begin, end)` for chunks that cover [0, items) once; returns
  /// when all are done. Threads take the next chunk as they become free.
  void parallelFor(int64_t items,
                   FunctionRef<void(int64_t begin, int64_t end)> body);

  /// As parallelFor, one item per call, with the thread's number, which is
  /// below size().
  void parallelItems(int64_t items,
                     FunctionRef<void(int64_t item, unsigned thread)> body);

  /// As parallelFor, with at most `slots` concurrent calls, each of which owns
  /// one slot number below `slots`.
  void parallelSlots(
      int64_t items, int64_t slots,
      FunctionRef<void(int64_t begin, int64_t end, int64_t slot)> body);

  /// Sets the pool's scratch memory: size.total(size()) bytes, aligned to
  /// artifact::kAlignment. The caller keeps ownership.
  void setScratch(void *memory, const ScratchSize &size);

  /// Returns whether the pool's scratch memory suffices for `size`.
  bool holds(const ScratchSize &size) const;
  void *sharedScratch() const;
  void *scratch(unsigned thread) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

/// Returns the scratch memory a pool of `threads` threads needs for a problem;
/// none if the problem is not supported.
std::optional<ScratchSize> scratchOf(const artifact::Gemm &problem, Isa isa,
                                     unsigned threads);
std::optional<ScratchSize> scratchOf(const artifact::Conv &problem, Isa isa,
                                     unsigned threads);

/// Computes the gemm as artifact.h defines it. Bias and R have D's type.
/// Supports f32, f16 and bf16 in any mix (sums in f32), f64, and i8 or u8 with
/// 32-bit integer results. Returns false, with nothing written, if the problem
/// is not supported or the pool's scratch memory is too small. Ignores the
/// workspace.
bool gemm(const artifact::Gemm &problem, void *const *arguments,
          ThreadPool &pool);

/// As `gemm`, for a convolution of f32, f16, bf16, f64 or quantized tensors.
bool conv(const artifact::Conv &problem, void *const *arguments,
          ThreadPool &pool);

/// As `conv`. `packed`, unless null, is what `packFilters` wrote for the same
/// filters and instruction set.
bool convPacked(const artifact::Conv &problem, void *const *arguments,
                const void *packed, ThreadPool &pool);

/// How filters are packed: `bytes` bytes, aligned to 64, which are 0 if `conv`
/// reads filters as they are. Problems that only differ in the sizes of images
/// may share packed filters if their forms are equal.
struct PackedForm {
  uint64_t bytes = 0;
  int64_t layout = 0;
};

/// Returns the form in which `convPacked` reads a problem's filters. `zeroW` is
/// the zero point of quantized filters.
PackedForm packedForm(const artifact::Conv &problem, const void *zeroW,
                      Isa isa);

/// Writes filters to `to` in that form. Returns false if memory is exhausted.
bool packFilters(const artifact::Conv &problem, const void *filters,
                 const void *zeroW, Isa isa, void *to);

} // namespace frit::cpu

#endif // FRIT_RUNTIME_CPU_CPU_H
