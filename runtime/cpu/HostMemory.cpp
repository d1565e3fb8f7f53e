//===- HostMemory.cpp - Large aligned host memory -------------------------===//

#include "runtime/cpu/HostMemory.h"
#include "frit/artifact.h"

#include <cstdlib>
#include <sys/mman.h>

using namespace frit;
using namespace frit::cpu;

/// From this size on, asks for transparent huge pages.
static constexpr uint64_t kHugePage = 2 << 20;

Status HostMemory::allocate(uint64_t bytes, const char *purpose) {
  release();
  if (!bytes)
    return Status();
  uint64_t unit = bytes >= 2 * kHugePage ? kHugePage : artifact::kAlignment;
  void *memory = nullptr;
  if (posix_memalign(&memory, unit, bytes))
    return Status(FRIT_OUT_OF_MEMORY,
                  format("there is not enough memory on this machine: %s needs "
                         "%s",
                         purpose, formatBytes(bytes).c_str()));
  pointer = static_cast<uint8_t *>(memory);
  if (unit == kHugePage)
    madvise(pointer, bytes, MADV_HUGEPAGE);
  size = bytes;
  return Status();
}

void HostMemory::release() {
  free(pointer);
  pointer = nullptr;
  size = 0;
}
