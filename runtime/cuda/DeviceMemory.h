//===- DeviceMemory.h - Memory of a GPU -----------------------------------===//

#ifndef FRIT_CUDA_DEVICEMEMORY_H
#define FRIT_CUDA_DEVICEMEMORY_H

#include "runtime/cuda/Driver.h"

namespace frit::cuda {

/// Owns one allocation on a GPU. The GPU's context must be current when it is
/// allocated or freed.
class DeviceMemory {
public:
  explicit DeviceMemory(const Driver &driver) : driver(driver) {}
  DeviceMemory(const DeviceMemory &) = delete;
  ~DeviceMemory() { release(); }

  /// `purpose` says in the out-of-memory message what the memory is for.
  Status allocate(uint64_t bytes, const char *purpose);
  void release();

  DevicePointer address() const { return pointer; }
  uint64_t bytes() const { return size; }

private:
  const Driver &driver;
  DevicePointer pointer = 0;
  uint64_t size = 0;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_DEVICEMEMORY_H
