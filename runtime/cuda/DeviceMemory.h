//===- DeviceMemory.h - Memory of a GPU -----------------------------------===//

#ifndef FRIT_RUNTIME_CUDA_DEVICEMEMORY_H
#define FRIT_RUNTIME_CUDA_DEVICEMEMORY_H

#include "runtime/cuda/Driver.h"

namespace frit::cuda {

/// Owns one allocation on a GPU. The GPU's context must be current when it is
/// allocated or freed.
class DeviceMemory {
public:
  explicit DeviceMemory(const Gpu &gpu) : gpu(gpu) {}
  DeviceMemory(const DeviceMemory &) = delete;
  ~DeviceMemory() { release(); }

  /// Allocates memory. `purpose` names its use in the out-of-memory message.
  Status allocate(uint64_t bytes, const char *purpose);
  void release();

  DevicePointer address() const { return pointer; }
  uint64_t bytes() const { return size; }

private:
  const Gpu &gpu;
  DevicePointer pointer = 0;
  uint64_t size = 0;
};

/// Memory on a GPU with several owners, which may outlive the executor that
/// allocated it.
struct SharedMemory {
  explicit SharedMemory(std::shared_ptr<const Gpu> gpu)
      : gpu(std::move(gpu)), memory(*this->gpu) {}
  SharedMemory(const SharedMemory &) = delete;
  ~SharedMemory() {
    ContextScope scope(*gpu);
    memory.release();
  }

  std::shared_ptr<const Gpu> gpu;
  DeviceMemory memory;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_DEVICEMEMORY_H
