//===- HostMemory.h - Large aligned host memory ---------------------------===//

#ifndef FRIT_RUNTIME_CPU_HOSTMEMORY_H
#define FRIT_RUNTIME_CPU_HOSTMEMORY_H

#include "runtime/exec/MemorySource.h"

#include <cstdint>
#include <memory>

namespace frit::cpu {

/// Owns memory aligned to artifact::kAlignment.
class HostMemory {
public:
  /// Allocates from `source`; null means malloc without a limit.
  explicit HostMemory(std::shared_ptr<MemorySource> source = nullptr)
      : source(std::move(source)) {}
  HostMemory(HostMemory &&other) noexcept : HostMemory(other.source) {
    *this = std::move(other);
  }
  HostMemory &operator=(HostMemory &&other) noexcept {
    std::swap(source, other.source);
    std::swap(pointer, other.pointer);
    std::swap(size, other.size);
    std::swap(mapped, other.mapped);
    return *this;
  }
  ~HostMemory() { release(); }

  /// Allocate uninitialized memory, or zeros. `purpose` names the memory's use
  /// in the out-of-memory message.
  Status allocate(uint64_t bytes, const char *purpose);
  Status allocateZeros(uint64_t bytes, const char *purpose);
  void release();

  uint8_t *data() const { return pointer; }
  uint64_t bytes() const { return size; }

private:
  bool hasAllocator() const { return source && source->hasAllocator(); }
  Status take(uint64_t bytes, const char *purpose, bool &own);

  std::shared_ptr<MemorySource> source;
  uint8_t *pointer = nullptr;
  uint64_t size = 0;
  bool mapped = false; ///< by mmap, not malloc
};

} // namespace frit::cpu

#endif // FRIT_RUNTIME_CPU_HOSTMEMORY_H
