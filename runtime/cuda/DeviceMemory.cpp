//===- DeviceMemory.cpp - Memory of a GPU ---------------------------------===//

#include "runtime/cuda/DeviceMemory.h"

using namespace frit;
using namespace frit::cuda;

Status DeviceMemory::allocate(uint64_t bytes, const char *purpose) {
  release();
  if (!bytes)
    return Status();
  size_t free = 0, total = 0;
  driver.memGetInfo(&free, &total);
  Result result =
      bytes > total ? kOutOfMemory : driver.memAlloc(&pointer, bytes);
  if (result == kOutOfMemory)
    return Status(FRIT_OUT_OF_MEMORY,
                  format("there is not enough memory on the GPU: %s needs %s, "
                         "and %s of %s are free",
                         purpose, formatBytes(bytes).c_str(),
                         formatBytes(free).c_str(),
                         formatBytes(total).c_str()));
  FRIT_TRY(driver.check(result, "allocate memory on the GPU"));
  size = bytes;
  return Status();
}

void DeviceMemory::release() {
  if (pointer)
    driver.memFree(pointer);
  pointer = 0;
  size = 0;
}
