//===- PackedFilters.h - Filters that are packed when a model opens -------===//

#ifndef FRIT_RUNTIME_CPU_PACKEDFILTERS_H
#define FRIT_RUNTIME_CPU_PACKEDFILTERS_H

#include "runtime/cpu/Cpu.h"
#include "runtime/cpu/HostMemory.h"
#include "runtime/exec/Executor.h"

#include <map>
#include <vector>

namespace frit::cpu {

/// Filters of quantized convolutions, in the form that their kernels read.
/// Steps with the same filters share them. Constant after `pack`, so threads
/// may share it.
class PackedFilters {
public:
  explicit PackedFilters(std::shared_ptr<MemorySource> source)
      : memory(std::move(source)) {}

  /// Packs the filters of the target's calls that are weights. `constants` and
  /// `prepared` are the memory that contains them. Without enough memory there
  /// are none, and steps read filters as they are.
  void pack(const Model &model, const std::vector<void *> &constants,
            const uint8_t *prepared);

  /// Returns the packed filters of a step, or null.
  const void *of(const artifact::Step &step) const {
    auto place = places.find(&step);
    return place == places.end() ? nullptr : memory.data() + place->second;
  }
  uint64_t bytes() const { return memory.bytes(); }

private:
  HostMemory memory;
  std::map<const artifact::Step *, uint64_t> places;
};

} // namespace frit::cpu

#endif // FRIT_RUNTIME_CPU_PACKEDFILTERS_H
