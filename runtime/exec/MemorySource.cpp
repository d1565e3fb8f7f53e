//===- MemorySource.cpp - Source of a module's memory ---------------------===//

#include "runtime/exec/MemorySource.h"
#include "frit/artifact.h"

using namespace frit;

Status MemorySource::take(uint64_t bytes, const char *purpose) {
  uint64_t before = used;
  do {
    if (limit && (before > limit || bytes > limit - before))
      return Status(FRIT_OUT_OF_MEMORY,
                    format("%s needs %s, and of the limit of %s that the "
                           "program has set %s are taken",
                           purpose, formatBytes(bytes).c_str(),
                           formatBytes(limit).c_str(),
                           formatBytes(before).c_str()));
  } while (!used.compare_exchange_weak(before, before + bytes));
  return Status();
}

void *MemorySource::allocate(uint64_t bytes) const {
  void *memory = allocator.allocate(allocator.user, bytes);
  if (memory && reinterpret_cast<uintptr_t>(memory) % artifact::kAlignment) {
    release(memory, bytes);
    return nullptr;
  }
  return memory;
}
