//===- HostMemory.h - Large aligned memory of the host --------------------===//

#ifndef FRIT_CPU_HOSTMEMORY_H
#define FRIT_CPU_HOSTMEMORY_H

#include "runtime/exec/Status.h"

#include <cstdint>

namespace frit::cpu {

/// Memory at a multiple of artifact::kAlignment, freed with its owner. Its
/// contents start out undefined.
class HostMemory {
public:
  HostMemory() = default;
  HostMemory(HostMemory &&other) noexcept
      : pointer(std::exchange(other.pointer, nullptr)),
        size(std::exchange(other.size, 0)) {}
  HostMemory &operator=(HostMemory &&other) noexcept {
    std::swap(pointer, other.pointer);
    std::swap(size, other.size);
    return *this;
  }
  ~HostMemory() { release(); }

  /// `purpose` is for the message when there is not enough.
  Status allocate(uint64_t bytes, const char *purpose);
  void release();

  uint8_t *data() const { return pointer; }
  uint64_t bytes() const { return size; }

private:
  uint8_t *pointer = nullptr;
  uint64_t size = 0;
};

} // namespace frit::cpu

#endif // FRIT_CPU_HOSTMEMORY_H
