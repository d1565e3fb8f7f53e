//===- HostTarget.h - A target of an artifact on the host -----------------===//

#ifndef FRIT_RUNTIME_CPU_HOSTTARGET_H
#define FRIT_RUNTIME_CPU_HOSTTARGET_H

#include "runtime/cpu/CpuSteps.h"
#include "runtime/cpu/HostMemory.h"
#include "runtime/exec/Executor.h"

namespace frit::cpu {

/// Generated code may use aligned vector accesses up to this many bytes.
inline constexpr uintptr_t kVectorBytes = 64;

/// Adds sizes in bytes; UINT64_MAX on overflow.
inline uint64_t addSizes(uint64_t a, uint64_t b) {
  return a > ~b ? ~uint64_t(0) : a + b;
}

/// Returns the number of threads of a context, the calling one included.
unsigned threadCount(const Model &model);

/// Allocates an arena of `bytes`, followed by the scratch memory of `pool`'s
/// threads. `purpose` is as in HostMemory::allocate.
Status allocateArena(uint64_t bytes, const ScratchSize &scratch,
                     const char *purpose, HostMemory &arena, ThreadPool &pool);

/// A target's weights and prepared weights on the host. The modules of all
/// functions of the artifact share it.
class HostTarget {
public:
  /// `model` is that of the function that is opened first.
  explicit HostTarget(const Model &model)
      : prepared(model.memory), packed(model.memory), model(model),
        copies(model.memory) {}
  HostTarget(const HostTarget &) = delete;

  /// Reads the constants and prepares them; again after they have changed.
  Status load();

  /// Returns the bytes of memory that it has allocated.
  uint64_t bytes() const {
    return prepared.bytes() + packed.bytes() + copies.bytes();
  }

  std::vector<void *> constants; ///< by entry of Header::constants
  /// Counts changes of `constants`.
  uint64_t version = 0;

  HostMemory prepared;
  PackedFilters packed;

private:
  Status copyMisaligned();
  Status prepare();

  const Model model;
  HostMemory copies; ///< of weights that are not aligned
};

} // namespace frit::cpu

#endif // FRIT_RUNTIME_CPU_HOSTTARGET_H
