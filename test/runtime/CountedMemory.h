//===- CountedMemory.h - Memory that modules hold, counted ----------------===//

#ifndef FRIT_TEST_RUNTIME_COUNTEDMEMORY_H
#define FRIT_TEST_RUNTIME_COUNTEDMEMORY_H

#include "frit/runtime.h"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>

namespace frit::test {

/// An allocator that counts what modules and their contexts hold: unlike the
/// free bytes of a device, no other process changes that. It takes memory from
/// where the runtime would. It must outlive the modules.
class CountedMemory {
public:
  explicit CountedMemory(bool isOnGpu) {
    if (!isOnGpu)
      return;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
      return;
    take = reinterpret_cast<Take>(dlsym(driver, "cuMemAlloc_v2"));
    give = reinterpret_cast<Give>(dlsym(driver, "cuMemFree_v2"));
  }
  CountedMemory(const CountedMemory &) = delete;

  frit_allocator allocator() {
    return {[](void *user, size_t bytes) {
              return static_cast<CountedMemory *>(user)->allocate(bytes);
            },
            [](void *user, void *memory, size_t bytes) {
              static_cast<CountedMemory *>(user)->release(memory, bytes);
            },
            this};
  }

  uint64_t bytes() const { return held; }

private:
  using Take = int (*)(unsigned long long *, size_t);
  using Give = int (*)(unsigned long long);

  void *allocate(size_t bytes) {
    void *memory = nullptr;
    unsigned long long address = 0;
    if (!take)
      memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) /
                                                  kAlignment * kAlignment);
    else if (take(&address, bytes) == 0)
      memory = reinterpret_cast<void *>(address);
    held += memory ? bytes : 0;
    return memory;
  }

  void release(void *memory, size_t bytes) {
    held -= bytes;
    if (give)
      give(reinterpret_cast<unsigned long long>(memory));
    else
      free(memory);
  }

  static constexpr size_t kAlignment = 256;
  Take take = nullptr;
  Give give = nullptr;
  std::atomic<uint64_t> held = 0;
};

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_COUNTEDMEMORY_H
