//===- HostModel.h - A loaded model on the host ---------------------------===//

#ifndef FRIT_RUNTIME_CPU_HOSTMODEL_H
#define FRIT_RUNTIME_CPU_HOSTMODEL_H

#include "runtime/cpu/CpuSteps.h"
#include "runtime/cpu/HostMemory.h"

namespace frit::cpu {

/// Generated code may use aligned vector accesses up to this many bytes.
inline constexpr uintptr_t kVectorBytes = 64;

/// A model's weights on the host, loaded by CpuExecutor.
class HostModel {
public:
  /// Returns the number of threads of a context, the calling one included.
  unsigned threadCount() const;

  /// Returns the scratch memory that suffices for every variant's calls.
  ScratchSize callScratch(Isa isa, unsigned threads) const;

  /// Returns the bytes that a context allocates for all its calls; UINT64_MAX
  /// on overflow.
  uint64_t contextBytes() const;

  /// Returns the bytes that a context's calls allocate beyond that if they need
  /// copies of all the model's inputs and outputs.
  uint64_t copyBytes() const;

  /// Return the number of the model's own inputs and outputs, which callers
  /// give. The sizes and counts after them are the context's.
  size_t modelInputs() const { return model.plan.modelInputs(0).size(); }
  size_t modelOutputs() const { return model.plan.modelOutputs(0).size(); }

  Model &model;
  std::vector<void *> constants; ///< by entry of Header::constants
  /// Counts changes of `constants`.
  uint64_t version = 0;
  HostMemory prepared;

protected:
  explicit HostModel(Model &model) : model(model), prepared(model.memory) {}
  ~HostModel() = default;
};

/// Allocates an arena of `bytes`, followed by the scratch memory of `pool`'s
/// threads. `purpose` is as in HostMemory::allocate.
Status allocateArena(uint64_t bytes, const ScratchSize &scratch,
                     const char *purpose, HostMemory &arena, ThreadPool &pool);

} // namespace frit::cpu

#endif // FRIT_RUNTIME_CPU_HOSTMODEL_H
