//===- DeviceMemory.cpp - Memory of a GPU ---------------------------------===//

#include "runtime/cuda/DeviceMemory.h"

using namespace frit;
using namespace frit::cuda;

Status DeviceMemory::allocate(uint64_t bytes, const char *purpose) {
  release();
  if (!bytes)
    return Status();
  const Driver &driver = gpu.driver;
  MemorySource *source = gpu.memory.get();
  if (source)
    FRIT_TRY(source->take(bytes, purpose));
  size_t free = 0, total = 0;
  driver.memGetInfo(&free, &total);
  Result result = kOutOfMemory;
  if (source && source->hasAllocator()) {
    pointer = reinterpret_cast<DevicePointer>(source->allocate(bytes));
    result = pointer ? kSuccess : kOutOfMemory;
  } else if (bytes <= total) {
    result = driver.memAlloc(&pointer, bytes);
  }
  if (result == kSuccess) {
    size = bytes;
    return Status();
  }
  if (source)
    source->giveBack(bytes);
  pointer = 0;
  if (result != kOutOfMemory)
    return driver.check(result, "allocate memory on the GPU");
  return Status(FRIT_OUT_OF_MEMORY,
                format("there is not enough memory on the GPU: %s needs %s, "
                       "and %s of %s are free",
                       purpose, formatBytes(bytes).c_str(),
                       formatBytes(free).c_str(), formatBytes(total).c_str()));
}

void DeviceMemory::release() {
  if (!pointer)
    return;
  MemorySource *source = gpu.memory.get();
  if (source && source->hasAllocator())
    source->release(reinterpret_cast<void *>(pointer), size);
  else
    gpu.driver.memFree(pointer);
  if (source)
    source->giveBack(size);
  pointer = 0;
  size = 0;
}
