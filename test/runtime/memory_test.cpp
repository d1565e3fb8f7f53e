//===- memory_test.cpp - Memory of contexts and calls ---------------------===//
//
//   memory_test MODEL.so...
//
// Counts the allocations of the process while contexts of CPU models are
// created and run. A context must allocate as much as it states, and a call
// nothing.
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
#include <vector>

static std::atomic<bool> counting;
static std::atomic<uint64_t> allocations, alignedBytes;

/// Overrides malloc for the whole process, the model's library included. glibc
/// exports its own functions under these names.
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

/// A tensor of ones, aligned to 64 bytes.
struct Tensor {
  Tensor(const frit_tensor_info &info) : info(info) {
    data = __libc_memalign(64, info.bytes + 64);
    memset(data, 0, info.bytes);
    tensor = {info.name, data, info.dtype, info.rank, info.dims, FRIT_HOST};
  }
  ~Tensor() { free(data); }
  Tensor(const Tensor &) = delete;

  frit_tensor_info info;
  void *data;
  frit_tensor tensor;
};

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

  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<frit_tensor> inputs, outputs;
  for (bool input : {true, false})
    for (uint32_t i = 0; i < (input ? frit_module_input_count(module)
                                    : frit_module_output_count(module));
         ++i) {
      frit_tensor_info info;
      CHECK(
          !(input ? frit_module_input : frit_module_output)(module, i, &info));
      tensors.push_back(std::make_unique<Tensor>(info));
      (input ? inputs : outputs).push_back(tensors.back()->tensor);
    }
  for (int call = 0; call < 3; ++call) {
    Count count;
    CHECK(!frit_run(context, inputs.data(), inputs.size(), outputs.data(),
                    outputs.size()));
    if (allocations)
      printf("%s: call %d allocates %llu times\n", path, call,
             static_cast<unsigned long long>(allocations));
    CHECK(allocations == 0);
  }
  frit_context_destroy(context);
  frit_module_close(module);
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
