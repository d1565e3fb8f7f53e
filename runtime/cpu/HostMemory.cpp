//===- HostMemory.cpp - Large aligned host memory -------------------------===//

#include "runtime/cpu/HostMemory.h"
#include "frit/artifact.h"
#include "runtime/system/System.h"

#include <cstring>

using namespace frit;
using namespace frit::cpu;

/// Minimum bytes for transparent huge pages.
static constexpr uint64_t kHugePage = 2 << 20;

static Status noMemory(uint64_t bytes, const char *purpose) {
  return Status(FRIT_OUT_OF_MEMORY,
                format("there is not enough memory on this machine: %s needs "
                       "%s",
                       purpose, formatBytes(bytes).c_str()));
}

/// Counts memory and takes it from the source's allocator if there is one. Sets
/// `own` if the allocator provided it.
Status HostMemory::take(uint64_t bytes, const char *purpose, bool &own) {
  release();
  own = bytes && hasAllocator();
  if (!bytes || !source)
    return Status();
  FRIT_TRY(source->take(bytes, purpose));
  size = bytes;
  if (!own)
    return Status();
  pointer = static_cast<uint8_t *>(source->allocate(bytes));
  if (pointer)
    return Status();
  release();
  return noMemory(bytes, purpose);
}

Status HostMemory::allocate(uint64_t bytes, const char *purpose) {
  bool own = false;
  FRIT_TRY(take(bytes, purpose, own));
  if (!bytes || own)
    return Status();
  uint64_t unit = bytes >= 2 * kHugePage ? kHugePage : artifact::kAlignment;
  void *memory = system::allocateAligned(bytes, unit);
  if (!memory) {
    release();
    return noMemory(bytes, purpose);
  }
  pointer = static_cast<uint8_t *>(memory);
  size = bytes;
  return Status();
}

/// Allocates zeros. New pages are zero, so nothing is written here.
Status HostMemory::allocateZeros(uint64_t bytes, const char *purpose) {
  bool own = false;
  FRIT_TRY(take(bytes, purpose, own));
  if (own)
    memset(pointer, 0, bytes);
  if (!bytes || own)
    return Status();
  void *memory = system::allocatePages(bytes);
  if (!memory) {
    release();
    return noMemory(bytes, purpose);
  }
  pointer = static_cast<uint8_t *>(memory);
  size = bytes;
  mapped = true;
  return Status();
}

void HostMemory::release() {
  if (pointer && hasAllocator())
    source->release(pointer, size);
  else if (mapped)
    system::freePages(pointer, size);
  else
    system::freeAligned(pointer);
  if (source)
    source->giveBack(size);
  pointer = nullptr;
  size = 0;
  mapped = false;
}
