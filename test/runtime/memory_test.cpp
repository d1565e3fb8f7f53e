//===- memory_test.cpp - Memory of contexts and calls ---------------------===//
//
//   memory_test MODEL.so...
//
// Counts the allocations of the process while contexts of CPU models are
// created and run. A context must allocate as much as it states, a call with
// aligned tensors nothing, and the first with unaligned ones as much as is
// stated for copies.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "frit/runtime.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

static std::atomic<bool> counting;
static std::atomic<uint64_t> allocations, alignedBytes;

/// Overrides malloc and mmap for the whole process, the model's library
/// included. glibc exports its own functions under these names.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) noexcept {
  allocations += counting;
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) noexcept {
  allocations += counting;
  return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) noexcept {
  allocations += counting;
  return __libc_realloc(memory, size);
}
void *mmap(void *at, size_t size, int access, int flags, int file,
           off_t offset) noexcept {
  if (counting)
    alignedBytes += size;
  return reinterpret_cast<void *>(
      syscall(SYS_mmap, at, size, access, flags, file, offset));
}
int posix_memalign(void **memory, size_t alignment, size_t size) noexcept {
  allocations += counting;
  if (counting)
    alignedBytes += size;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
void *aligned_alloc(size_t alignment, size_t size) noexcept {
  allocations += counting;
  return __libc_memalign(alignment, size);
}
}

namespace {
/// Counts allocations during its lifetime.
struct Count {
  Count() {
    allocations = alignedBytes = 0;
    counting = true;
  }
  ~Count() { counting = false; }
};

/// A tensor of zeros that starts `offset` bytes after a multiple of 64.
struct Tensor {
  Tensor(const frit_tensor_info &info, size_t offset) : info(info) {
    data = __libc_memalign(64, info.bytes + 64);
    memset(data, 0, info.bytes + 64);
    tensor = {info.name,  static_cast<char *>(data) + offset,
              info.dtype, info.rank,
              info.dims,  FRIT_HOST};
  }
  ~Tensor() { free(data); }
  Tensor(const Tensor &) = delete;

  frit_tensor_info info;
  void *data;
  frit_tensor tensor;
};

/// The arguments of a call.
struct Arguments {
  Arguments(frit_module *module, size_t offset) {
    for (bool input : {true, false})
      for (uint32_t i = 0; i < (input ? frit_module_input_count(module)
                                      : frit_module_output_count(module));
           ++i) {
        frit_tensor_info info;
        CHECK(!(input ? frit_module_input : frit_module_output)(module, i,
                                                                &info));
        tensors.push_back(std::make_unique<Tensor>(info, offset));
        (input ? inputs : outputs).push_back(tensors.back()->tensor);
      }
  }

  /// Makes three calls, the first of which allocates `expected` bytes and the
  /// others nothing. Without `wanted`, they are given no outputs.
  void call(const char *path, frit_context *context, uint64_t expected,
            bool wanted = true) {
    for (int call = 0; call < 3; ++call) {
      uint64_t bytes = call ? 0 : expected;
      Count count;
      CHECK(!frit_run(context, inputs.data(), inputs.size(), outputs.data(),
                      wanted ? outputs.size() : 0));
      if (alignedBytes != bytes || (allocations && !bytes))
        printf("%s: call %d allocates %llu times, %llu bytes, not %llu\n", path,
               call, static_cast<unsigned long long>(allocations),
               static_cast<unsigned long long>(alignedBytes),
               static_cast<unsigned long long>(bytes));
      CHECK(alignedBytes == bytes);
      CHECK(bytes || allocations == 0);
    }
  }

  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<frit_tensor> inputs, outputs;
};

/// Calls with unaligned tensors must take no more than a limit of the bytes
/// that were told, and fail with a message below it.
void testLimit(const char *path, const frit_device_info &device) {
  for (uint64_t less : {0, 1}) {
    frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
    options.device = "cpu";
    options.threads = 3;
    options.memory_limit =
        device.module_bytes + device.context_bytes + device.copy_bytes - less;
    frit_module *module = nullptr;
    frit_context *context = nullptr;
    // Preparing weights may take more than calls.
    if (frit_module_load(path, &options, &module))
      return;
    CHECK(!frit_context_create(module, &context));
    Arguments unaligned(module, 8);
    frit_status status =
        frit_run(context, unaligned.inputs.data(), unaligned.inputs.size(),
                 unaligned.outputs.data(), unaligned.outputs.size());
    CHECK(status == (less ? FRIT_OUT_OF_MEMORY : FRIT_OK));
    if (less)
      CHECK(strstr(frit_last_error(), "a copy of an output needs"));
    frit_context_destroy(context);
    frit_module_close(module);
  }
}

void testModel(const char *path) {
  frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
  options.device = "cpu";
  options.threads = 3;
  frit_module *module = nullptr;
  if (frit_module_load(path, &options, &module)) {
    printf("%s: %s\n", path, frit_last_error());
    CHECK(!"the model opens");
    return;
  }
  frit_device_info device;
  CHECK(!frit_module_device(module, &device));

  frit_context *context = nullptr;
  {
    Count count;
    CHECK(!frit_context_create(module, &context));
    if (alignedBytes != device.context_bytes)
      printf("%s: a context takes %llu bytes, and %llu were told\n", path,
             static_cast<unsigned long long>(alignedBytes),
             static_cast<unsigned long long>(device.context_bytes));
    CHECK(alignedBytes == device.context_bytes);
    CHECK(allocations > 1); // the override works
  }

  Arguments(module, 0).call(path, context, 0);
  Arguments(module, 8).call(path, context, device.copy_bytes);
  Arguments(module, 8).call(path, context, 0, /*wanted=*/false);
  frit_context_destroy(context);
  frit_module_close(module);
  testLimit(path, device);
}
} // namespace

int main(int argc, char **argv) {
#if defined(__SANITIZE_ADDRESS__)
  printf("the sanitizer has an allocator of its own\n");
  return 0;
#endif
  for (int i = 1; i < argc; ++i)
    testModel(argv[i]);
  return frit::test::failures != 0;
}
