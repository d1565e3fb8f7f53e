//===- service_test.cpp - A model in a long-running program ---------------===//
//
// Tests limits and allocators of the program, on the host and on the fake
// driver of ../fuzz, many threads over several models, and the end of the
// program.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "ResidentMemory.h"
#include "StateModel.h"
#include "TestModel.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

using namespace frit;
using namespace frit::test;

namespace {
/// An allocator that records its allocations.
struct Counter {
  std::mutex lock;
  size_t blocks = 0, bytes = 0, most = 0, calls = 0;
  bool isEmpty = false; ///< returns null
  size_t shift = 0;     ///< misaligns the results

  frit_allocator hook() {
    return {[](void *user, size_t size) -> void * {
              auto *self = static_cast<Counter *>(user);
              std::lock_guard guard(self->lock);
              ++self->calls;
              if (self->isEmpty)
                return nullptr;
              ++self->blocks;
              self->bytes += size;
              self->most = std::max(self->most, self->bytes);
              size_t rounded = (size + 511) / 256 * 256;
              auto *memory = static_cast<char *>(aligned_alloc(256, rounded));
              memset(memory, 0xa5, rounded);
              return memory + self->shift;
            },
            [](void *user, void *memory, size_t size) {
              auto *self = static_cast<Counter *>(user);
              std::lock_guard guard(self->lock);
              --self->blocks;
              self->bytes -= size;
              free(static_cast<char *>(memory) - self->shift);
            },
            this};
  }
};

/// One module and context of a model on the host.
struct Service {
  explicit Service(frit::test::Model made, uint32_t threads = 1)
      : model(std::move(made)) {
    options.device = "cpu";
    options.threads = threads;
  }
  frit_status open() {
    return frit_module_open(model.get(), &options, &module);
  }
  ~Service() { frit_module_close(module); }

  frit::test::Model model;
  frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
  frit_module *module = nullptr;
};
} // namespace

/// Calls the test model. Returns whether the result is right.
static bool callTestModel(frit_context *context, int seed) {
  float x[32], y[12] = {};
  int64_t ids[4] = {1, 2, 3, seed};
  for (int i = 0; i < 32; ++i)
    x[i] = float((i * 7 + seed) % 5) - 2;
  int64_t xDims[] = {4, 8}, idDims[] = {4}, yDims[] = {4, 3};
  frit_tensor inputs[] = {{"x", x, FRIT_F32, 2, xDims, FRIT_HOST},
                          {"ids", ids, FRIT_I64, 1, idDims, FRIT_HOST}};
  frit_tensor output = {"y", y, FRIT_F32, 2, yDims, FRIT_HOST};
  if (frit_run(context, inputs, 2, &output, 1))
    return false;
  std::vector<float> expected = expectedResult(x, ids);
  for (int i = 0; i < 12; ++i)
    if (y[i] < expected[i] - 1e-5f || y[i] > expected[i] + 1e-5f)
      return false;
  return true;
}

static void testAllocator() {
  Counter counter;
  {
    Service service(makeTestModel());
    service.options.allocator = counter.hook();
    CHECK(service.open() == FRIT_OK);
    frit_context *context = nullptr;
    CHECK(frit_context_create(service.module, &context) == FRIT_OK);
    CHECK(callTestModel(context, 1));
    CHECK(frit_context_output_buffer(context, 0) && counter.blocks >= 3);
    size_t calls = counter.calls;
    for (int i = 0; i < 100; ++i)
      CHECK(callTestModel(context, i));
    CHECK(counter.calls == calls); // calls allocate nothing
    frit_context_destroy(context);
  }
  CHECK(counter.blocks == 0 && counter.bytes == 0);

  // State starts as zeros and initial values, whatever the memory held.
  {
    Service service(makeStateModel());
    service.options.allocator = counter.hook();
    CHECK(service.open() == FRIT_OK);
    frit_context *context = nullptr;
    CHECK(frit_context_create(service.module, &context) == FRIT_OK);
    frit_context_destroy(context);
  }
  CHECK(counter.blocks == 0);

  // An allocator that fails or returns misaligned memory causes an error and
  // leaves nothing behind.
  for (bool misaligned : {false, true}) {
    Service service(makeTestModel());
    counter.isEmpty = !misaligned;
    counter.shift = misaligned ? 8 : 0;
    service.options.allocator = counter.hook();
    CHECK(service.open() == FRIT_OUT_OF_MEMORY);
    CHECK(lastErrorHas("not enough memory") && counter.blocks == 0);
  }
  Service half(makeTestModel());
  half.options.allocator.release = [](void *, void *, size_t) {};
  CHECK(half.open() == FRIT_INVALID_ARGUMENT);
  CHECK(lastErrorHas("frit_allocator has one of its functions"));
}

static void testLimit() {
  Counter counter;
  size_t forModule = 0, forOne = 0;
  {
    Service service(makeTestModel());
    service.options.allocator = counter.hook();
    CHECK(service.open() == FRIT_OK);
    forModule = counter.bytes;
    frit_context *context = nullptr;
    CHECK(frit_context_create(service.module, &context) == FRIT_OK);
    forOne = counter.bytes - forModule;
    frit_context_destroy(context);
    counter.most = 0;
  }
  // There is room for one context: the second fails, and succeeds when the
  // first is destroyed.
  Service service(makeTestModel());
  service.options.memory_limit = forModule + forOne + forOne / 2;
  CHECK(service.open() == FRIT_OK);
  frit_context *one = nullptr, *two = nullptr;
  CHECK(frit_context_create(service.module, &one) == FRIT_OK);
  CHECK(frit_context_create(service.module, &two) == FRIT_OUT_OF_MEMORY);
  CHECK(lastErrorHas("the model's arena needs") &&
        lastErrorHas("of the limit"));
  CHECK(callTestModel(one, 3));
  frit_context_destroy(one);
  CHECK(frit_context_create(service.module, &two) == FRIT_OK);
  CHECK(callTestModel(two, 4));
  frit_context_destroy(two);

  Service tight(makeTestModel());
  tight.options.memory_limit = 1;
  CHECK(tight.open() == FRIT_OUT_OF_MEMORY);
  tight.options.memory_limit = 0;
  CHECK(tight.open() == FRIT_OK);
}

/// Tests options of an earlier version, which end before the limit.
static void testEarlierOptions() {
  Service service(makeTestModel());
  service.options.struct_bytes = offsetof(frit_module_options, memory_limit);
  service.options.memory_limit = 1; // not read
  CHECK(service.open() == FRIT_OK);
}

/// Returns a model with state for the fake driver, which accepts any ELF header
/// as code.
static frit::test::Model makeGpuModel() {
  std::string code = emptyElf();
  StateModelOptions options;
  options.cubin = &code;
  return makeStateModel(options);
}

/// Tests that device memory comes from the allocator too; the fake driver's is
/// host memory.
static void testDevice() {
  Counter counter;
  {
    Service service(makeGpuModel());
    service.options.device = "GPU-000102";
    service.options.allocator = counter.hook();
    CHECK(service.open() == FRIT_OK);
    frit_context *context = nullptr;
    CHECK(frit_context_create(service.module, &context) == FRIT_OK);
    CHECK(counter.blocks >= 1);
    frit_context_destroy(context);
  }
  CHECK(counter.blocks == 0 && counter.bytes == 0 && counter.calls);
  Service limited(makeGpuModel());
  limited.options.device = "cuda";
  limited.options.memory_limit = 16;
  frit_status status = limited.open();
  frit_context *context = nullptr;
  if (!status)
    status = frit_context_create(limited.module, &context);
  CHECK(status == FRIT_OUT_OF_MEMORY && lastErrorHas("of the limit of 16 B"));
  Service lost(makeGpuModel());
  lost.options.device = "GPU-ff";
  CHECK(lost.open() == FRIT_NO_DEVICE &&
        lastErrorHas("there is no device GPU-ff; the driver has: "
                     "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f (cuda:0)"));
}

/// Tests that a failed GPU is an error of calls, that everything can be freed,
/// and that a module opened after the driver works again runs.
static void testLost() {
  Counter counter;
  {
    Service one(makeGpuModel()), two(makeGpuModel());
    frit_context *contexts[2] = {};
    for (int i = 0; i < 2; ++i) {
      Service &service = i ? two : one;
      service.options.device = "cuda";
      service.options.allocator = counter.hook();
      CHECK(service.open() == FRIT_OK);
      CHECK(frit_context_create(service.module, &contexts[i]) == FRIT_OK);
    }
    setenv("FRIT_FAKE_LOST", "700", 1);
    for (frit_context *context : contexts) {
      CHECK(frit_context_synchronize(context) == FRIT_DEVICE_ERROR);
      CHECK(lastErrorHas("runs nothing more on this GPU in this process"));
      float w[4];
      frit_tensor tensor = stateTensor("w", w, /*isScalar=*/false);
      CHECK(frit_state_read(context, &tensor, 1) == FRIT_DEVICE_ERROR);
      frit_context_destroy(context);
    }
  }
  CHECK(counter.blocks == 0 && counter.calls);
  unsetenv("FRIT_FAKE_LOST");
  Service next(makeGpuModel());
  next.options.device = "cuda";
  frit_context *context = nullptr;
  CHECK(next.open() == FRIT_OK);
  CHECK(frit_context_create(next.module, &context) == FRIT_OK);
  CHECK(frit_context_synchronize(context) == FRIT_OK);
  frit_context_destroy(context);
}

/// Tests threads that share modules of several models; some open and close
/// their own.
static void testThreads(double seconds) {
  Service shared(makeTestModel()), guarded(makeGuardedModel());
  CHECK(shared.open() == FRIT_OK && guarded.open() == FRIT_OK);
  std::atomic<bool> stop = false;
  std::atomic<size_t> calls = 0, errors = 0;
  auto serve = [&](int number) {
    while (!stop) {
      bool own = number % 4 == 3;
      Service mine(makeTestModel(), /*threads=*/2);
      frit_module *module = shared.module;
      if (own) {
        errors += mine.open() != FRIT_OK;
        module = mine.module;
      }
      frit_context *context = nullptr, *other = nullptr;
      errors += frit_context_create(module, &context) != FRIT_OK;
      errors += frit_context_create(guarded.module, &other) != FRIT_OK;
      for (int i = 0; i < 50; ++i) {
        errors += !callTestModel(context, number + i);
        GuardedCall call(i % 2, i % 3 == 0, float(number));
        std::vector<frit_tensor> inputs = call.inputs(),
                                 outputs = call.outputs();
        errors += frit_run(other, inputs.data(), uint32_t(inputs.size()),
                           outputs.data(), uint32_t(outputs.size())) ||
                  !call.isRight();
        // An invalid call is an error of its thread only.
        errors += frit_run(context, nullptr, 0, nullptr, 0) == FRIT_OK;
        calls += 2;
      }
      frit_context_destroy(context);
      frit_context_destroy(other);
    }
  };
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number)
    threads.emplace_back(serve, number);
  auto wait = [](double time) {
    std::this_thread::sleep_for(std::chrono::duration<double>(time));
  };
  wait(seconds / 3);
  size_t early = residentBytes();
  wait(seconds * 2 / 3);
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
  size_t late = residentBytes();
  printf("8 threads, %.1f s: %zu calls, %zu errors, %zu KiB after a third, %zu "
         "KiB at the end\n",
         seconds, calls.load(), errors.load(), early >> 10, late >> 10);
  CHECK(errors == 0 && calls > 100);
#if !defined(__SANITIZE_ADDRESS__) // which keeps freed memory
  // A leak in each call would exceed this.
  CHECK(late < early + (16 << 20));
#endif
}

/// Exits with modules and contexts open while threads run calls: only the exit
/// status may show it.
[[noreturn]] static void leaveAtOnce() {
  auto *service = new Service(makeTestModel(), /*threads=*/3);
  CHECK(service->open() == FRIT_OK);
  for (int number = 0; number < 4; ++number)
    std::thread([service] {
      frit_context *context = nullptr;
      frit_context_create(service->module, &context);
      while (true)
        callTestModel(context, 1);
    }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  exit(0);
}

int main(int count, char **arguments) {
  if (count > 1 && !strcmp(arguments[1], "leave"))
    leaveAtOnce();
  double seconds = count > 1 ? atof(arguments[1]) : 1.5;
  testAllocator();
  testLimit();
  testEarlierOptions();
  testDevice();
  testLost();
  testThreads(seconds);
  return finish("service_test");
}
