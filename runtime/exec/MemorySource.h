//===- MemorySource.h - Source of a module's memory -----------------------===//

#ifndef FRIT_RUNTIME_EXEC_MEMORYSOURCE_H
#define FRIT_RUNTIME_EXEC_MEMORYSOURCE_H

#include "runtime/exec/Status.h"

#include <atomic>

namespace frit {

/// The memory of a module, its contexts and the modules of its other functions.
/// Counts it against a limit and takes it from the caller's allocator if there
/// is one. Must outlive that memory. Thread-safe.
class MemorySource {
public:
  /// Sets limit and allocator. A `limit` of 0 means no limit; `allocator` may
  /// have no functions.
  MemorySource(uint64_t limit, const frit_allocator &allocator)
      : limit(limit), allocator(allocator) {}
  MemorySource(const MemorySource &) = delete;

  /// Counts memory before it is allocated. Fails if the limit would be
  /// exceeded. `purpose` names the memory's use in the message.
  Status take(uint64_t bytes, const char *purpose);
  void giveBack(uint64_t bytes) { used -= bytes; }

  bool hasAllocator() const { return allocator.allocate; }
  /// Calls the allocator. Returns null if it has none or gives memory that is
  /// not aligned to artifact::kAlignment.
  void *allocate(uint64_t bytes) const;
  void release(void *memory, uint64_t bytes) const {
    allocator.release(allocator.user, memory, bytes);
  }

private:
  std::atomic<uint64_t> used = 0;
  const uint64_t limit;
  const frit_allocator allocator;
};

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_MEMORYSOURCE_H
