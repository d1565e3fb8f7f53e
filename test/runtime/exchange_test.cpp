//===- exchange_test.cpp - Tensors and streams of other libraries ---------===//
//
// The GPU is the fake driver of ../fuzz/Driver.cpp, whose memory is the host's.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Opened.h"
#include "PlanWriter.h"
#include "frit/runtime.hpp"
#include "runtime/exec/Dlpack.h"
#include "test/fuzz/Driver.h"

#include <dlfcn.h>

using namespace frit::test;
using frit::cuda::Stream;
namespace dlpack = frit::dlpack;

/// Returns a model that copies x to y.
static Model makeCopy() {
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f32, {2, 3});
  Buffer y = plan.output("y", DType::f32, {2, 3});
  for (const char *arch : {"sm_90", "x86-64"}) {
    plan.step(StepKind::copy, "x", {x, y});
    plan.target(arch);
    if (arch == std::string_view("sm_90"))
      plan.module(emptyElf());
  }
  return plan.finish("copy");
}

namespace {
struct OpenedCopy : Opened {
  // The fake driver runs no graphs.
  explicit OpenedCopy(const char *device, uint32_t flags = FRIT_NO_CUDA_GRAPH)
      : Opened(makeCopy(), optionsFor(device, flags)) {}
};

/// A tensor of another library: 2x3 from the second of the 8 floats of `memory`
/// on.
struct Foreign {
  explicit Foreign(dlpack::DeviceType type) {
    tensor.data = memory;
    tensor.device = {type, 0};
    tensor.rank = 2;
    tensor.type = {2, 32, 1};
    tensor.shape = shape;
    tensor.strides = strides;
    tensor.byteOffset = 16;
  }
  alignas(16) float memory[10] = {0, 0, 0, 0, 1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  dlpack::Tensor tensor = {};
};
} // namespace

static void testFromDlpack(const char *device, dlpack::DeviceType type) {
  OpenedCopy opened(device);
  const frit_module *module = opened.module.get();
  Foreign x(type), y(type);
  memset(y.memory, 0, sizeof y.memory);
  frit_tensor from, to;
  CHECK(!frit_tensor_from_dlpack(module, &x.tensor, &from));
  CHECK(!frit_tensor_from_dlpack(module, &y.tensor, &to));
  CHECK(from.location == (type == dlpack::kCuda ? FRIT_DEVICE : FRIT_HOST));
  CHECK(!opened.context.run({from}, {to}));
  CHECK(!memcmp(y.memory + 4, x.memory + 4, 24));
  // Strides do not matter for dimensions of size 1, or for tensors without
  // elements.
  x.shape[0] = 1;
  x.strides[0] = 77;
  CHECK(!frit_tensor_from_dlpack(module, &x.tensor, &from));
  x.shape[1] = 0;
  x.strides[1] = 5;
  CHECK(!frit_tensor_from_dlpack(module, &x.tensor, &from));
  x.tensor.strides = nullptr;
  CHECK(!frit_tensor_from_dlpack(module, &x.tensor, &from));
}

static void testWrongTensors() {
  OpenedCopy opened("cpu");
  const frit_module *module = opened.module.get();
  frit_tensor made = {};
  auto fails = [&](auto damage, const char *part) {
    Foreign x(dlpack::kCpu);
    damage(x);
    CHECK(frit_tensor_from_dlpack(module, &x.tensor, &made) ==
          FRIT_INVALID_ARGUMENT);
    CHECK(lastErrorHas(part));
    CHECK(!made.data);
  };
  fails([](Foreign &x) { x.tensor.device = {dlpack::kCuda, 1}; },
        "on cuda:1, and the module runs on cpu");
  fails([](Foreign &x) { x.tensor.device.type = 10; },
        "on a device of DLPack type 10");
  fails([](Foreign &x) { x.tensor.type.lanes = 4; }, "4 lanes");
  fails([](Foreign &x) { x.tensor.type.bits = 80; }, "code 2, 80 bits");
  fails([](Foreign &x) { std::swap(x.strides[0], x.strides[1]); },
        "not contiguous (shape 2, 3, strides 1, 3)");
  fails([](Foreign &x) { x.tensor.rank = -1; }, "no shape");
  fails([](Foreign &x) { x.tensor.shape = nullptr; }, "no shape");
  Foreign x(dlpack::kCpu);
  CHECK(frit_tensor_from_dlpack(nullptr, &x.tensor, &made) ==
        FRIT_INVALID_ARGUMENT);
  CHECK(frit_tensor_from_dlpack(module, nullptr, &made) ==
        FRIT_INVALID_ARGUMENT);
}

static void testAllocate(const char *device, dlpack::DeviceType type) {
  void *made = nullptr;
  {
    OpenedCopy opened(device);
    const int64_t dims[] = {2, 3};
    CHECK(!frit_dlpack_allocate(opened.module.get(), FRIT_F32, 2, dims, &made));
    auto &tensor = static_cast<dlpack::ManagedTensor *>(made)->tensor;
    CHECK(tensor.device.type == type && tensor.device.id == 0);
    Foreign x(type);
    frit_tensor from, to;
    CHECK(!frit_tensor_from_dlpack(opened.module.get(), &x.tensor, &from));
    CHECK(!frit_tensor_from_dlpack(opened.module.get(), &tensor, &to));
    CHECK(!opened.context.run({from}, {to}));
    const int64_t wrong[] = {INT64_MAX, 8}, huge[] = {1ll << 50};
    void *none = nullptr;
    const frit_module *module = opened.module.get();
    CHECK(frit_dlpack_allocate(module, FRIT_F32, 2, wrong, &none) ==
          FRIT_INVALID_ARGUMENT);
    CHECK(frit_dlpack_allocate(module, FRIT_I4, 2, dims, &none) ==
          FRIT_INVALID_ARGUMENT);
    CHECK(lastErrorHas("DLPack has no type i4"));
    CHECK(frit_dlpack_allocate(module, FRIT_F32, 1, huge, &none) ==
          FRIT_OUT_OF_MEMORY);
    CHECK(!none);
  }
  // It outlives the module.
  auto *managed = static_cast<dlpack::ManagedTensor *>(made);
  const float expected[] = {1, 2, 3, 4, 5, 6};
  CHECK(!memcmp(managed->tensor.data, expected, sizeof expected));
  CHECK(managed->tensor.shape[1] == 3 && !managed->tensor.strides);
  managed->deleter(managed);
}

template <typename Type> static Type *ask(const char *name) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  auto found = reinterpret_cast<Type *>(dlsym(library, name));
  CHECK(found);
  return found;
}

static void testStreams() {
  OpenedCopy opened("cuda");
  frit::Context peer;
  CHECK(!opened.context.createPeer(opened.module, peer));
  auto copyStream =
      ask<decltype(frit::cuda::fritFakeCopyStream)>("fritFakeCopyStream");
  auto lastWait = ask<decltype(frit::cuda::fritFakeWait)>("fritFakeWait");
  frit_context *context = opened.context.get();
  void *own = frit_context_stream(context);
  Foreign x(dlpack::kCuda), y(dlpack::kCuda);
  frit_tensor from, to;
  CHECK(!frit_tensor_from_dlpack(opened.module.get(), &x.tensor, &from));
  CHECK(!frit_tensor_from_dlpack(opened.module.get(), &y.tensor, &to));

  int place[2];
  Stream waiting = nullptr, recorded = nullptr, before = nullptr;
  for (void *given :
       {static_cast<void *>(&place[0]), static_cast<void *>(&place[1]), own}) {
    before = static_cast<Stream>(frit_context_stream(context));
    CHECK(!opened.context.setStream(given == own ? nullptr : given));
    // Peers use the same stream. It follows the work on the previous one.
    CHECK(frit_context_stream(context) == given);
    CHECK(frit_context_stream(peer.get()) == given);
    lastWait(&waiting, &recorded);
    CHECK(waiting == given && recorded == before);
    CHECK(!opened.context.runAsync({&from, 1}, {&to, 1}));
    CHECK(copyStream() == given);
    CHECK(!peer.runAsync({&from, 1}, {&to, 1}));
    CHECK(copyStream() == given);
  }
  CHECK(frit_context_set_stream(nullptr, own) == FRIT_INVALID_ARGUMENT);
  // The CPU has no streams.
  OpenedCopy host("cpu");
  CHECK(!host.context.setStream(&place));
  CHECK(!frit_context_stream(host.context.get()));
}

/// Tests that calls with device pointers that have no graph use the context's
/// own buffers until the same pointers are used again. The fake driver's graphs
/// do nothing.
static void testPointers() {
  OpenedCopy opened("cuda", /*flags=*/0);
  frit_context *context = opened.context.get();
  auto *ownX = static_cast<float *>(frit_context_input_buffer(context, 0));
  auto *ownY = static_cast<float *>(frit_context_output_buffer(context, 0));
  auto call = [&](Foreign &x, Foreign &y) {
    frit_tensor from, to;
    CHECK(!frit_tensor_from_dlpack(opened.module.get(), &x.tensor, &from));
    CHECK(!frit_tensor_from_dlpack(opened.module.get(), &y.tensor, &to));
    ownX[0] = 70;
    ownY[0] = 80;
    y.memory[4] = 0;
    CHECK(!opened.context.runAsync({&from, 1}, {&to, 1}));
    return ownX[0] == x.memory[4] && y.memory[4] == 80;
  };
  Foreign x(dlpack::kCuda), y(dlpack::kCuda), z(dlpack::kCuda);
  CHECK(call(x, y));
  CHECK(call(x, z));
  CHECK(!call(x, y));
  CHECK(!call(x, y));
  CHECK(!call(x, z));
  CHECK(!call(x, y));
  CHECK(call(y, z));
}

int main() {
  testFromDlpack("cpu", dlpack::kCpu);
  testFromDlpack("cuda", dlpack::kCuda);
  testFromDlpack("cuda", dlpack::kCudaHost);
  testWrongTensors();
  testAllocate("cpu", dlpack::kCpu);
  testAllocate("cuda", dlpack::kCuda);
  testStreams();
  testPointers();
  return finish("exchange_test");
}
