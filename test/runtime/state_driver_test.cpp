//===- state_driver_test.cpp - State on the fake driver -------------------===//
//
// Runs on the fake driver of ../fuzz/Driver.cpp, where copies work, kernels do
// nothing, and graphs run no steps.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "DerivedModel.h"
#include "Opened.h"
#include "PlanWriter.h"
#include "frit/runtime.hpp"

#include <cstdlib>
#include <dlfcn.h>

using namespace frit;
using namespace frit::test;

namespace {

/// Returns a model whose "step" copies x to the state w if `go`, and whose
/// "look" copies w to y.
frit::test::Model makeModel() {
  std::string code = emptyElf();
  PlanWriter plan;
  std::vector<float> first(64, 7);
  (void)plan.constant("w", DType::f32, {64}, first, /*resident=*/false);
  (void)plan.state("small", DType::u8, {5});
  Buffer w = plan.state("w", DType::f32, {64}, /*constant=*/0);
  Buffer go = plan.input("go", DType::boolean, {});
  Buffer x = plan.input("x", DType::f32, {64});
  plan.guard(go, true, 1, "if go");
  plan.step(StepKind::copy, "set", {x, PlanWriter::written(w)});
  plan.target("sm_90");
  plan.module(code);
  plan.function("step");
  plan.step(StepKind::copy, "look", {w, plan.output("y", DType::f32, {64})});
  plan.target("sm_90");
  plan.module(code);
  plan.function("look");
  return plan.finish("state");
}

/// A context of "step", with the remarks from opening and running it.
struct OpenedState {
  explicit OpenedState(unsigned flags) : model(makeModel()) {
    frit_module_options options =
        keepRemarks(optionsFor("cuda", flags), remarks);
    CHECK(!Module::open(*model.get(), step, &options));
    CHECK(!Context::create(step, context));
  }

  void call(bool go, float value) {
    std::vector<float> x(64, value);
    CHECK(!context.run({step.bindInput(0, &go), step.bindInput(1, x.data())},
                       {}));
  }

  /// Returns whether all of w is `value`.
  bool holds(Context &at, float value) {
    std::vector<float> w(64);
    static const int64_t dims[] = {64};
    frit_tensor read = {"w", w.data(), FRIT_F32, 1, dims, FRIT_HOST};
    return !at.readState({&read, 1}) && w == std::vector<float>(64, value);
  }

  frit::test::Model model;
  std::string remarks;
  Module step;
  Context context;
};

} // namespace

/// Tests that without conditional nodes the host reads the conditions of steps
/// that write state, and does not run them unconditionally.
static void testConditions() {
  setenv("FRIT_FAKE_NO_CONDITIONS", "1", 1);
  OpenedState opened(0);
  CHECK(opened.remarks.find("running without a CUDA graph: ") == 0);
  CHECK(opened.holds(opened.context, 7));
  opened.call(/*go=*/false, 1);
  CHECK(opened.holds(opened.context, 7));
  opened.call(/*go=*/true, 2);
  CHECK(opened.holds(opened.context, 2));
  opened.call(/*go=*/false, 3);
  CHECK(opened.holds(opened.context, 2));
  frit_step_info guard;
  CHECK(frit_context_step(opened.context.get(), 0, &guard) == FRIT_OK);
  CHECK(!strcmp(guard.kernel, "if true, by the host"));
  unsetenv("FRIT_FAKE_NO_CONDITIONS");
}

static void testPeer() {
  OpenedState opened(FRIT_NO_CUDA_GRAPH);
  CHECK(opened.remarks.empty());
  opened.call(/*go=*/true, 5);
  Module look;
  Context peer, other;
  CHECK(!opened.step.openFunction("look", look));
  CHECK(!opened.context.createPeer(look, peer));
  CHECK(!Context::create(look, other));
  CHECK(frit_context_stream(peer.get()) ==
        frit_context_stream(opened.context.get()));
  auto read = [&](Context &context) {
    std::vector<float> y(64);
    CHECK(!context.run({}, {look.bindOutput(0, y.data())}));
    return y[63];
  };
  CHECK(read(peer) == 5 && read(other) == 7);
  opened.call(/*go=*/true, 6);
  CHECK(read(peer) == 6 && read(other) == 7);
  // A peer has no input buffers of its own; other contexts have.
  Context twin, stranger;
  CHECK(!peer.createPeer(opened.step, twin));
  CHECK(!Context::create(opened.step, stranger));
  for (uint32_t i = 0; i < 2; ++i) {
    void *buffer = frit_context_input_buffer(opened.context.get(), i);
    CHECK(buffer && frit_context_input_buffer(twin.get(), i) == buffer);
    CHECK(frit_context_input_buffer(stranger.get(), i) != buffer);
  }
  // The peer keeps the shared memory alive.
  (void)Context(std::move(opened.context));
  (void)Module(std::move(opened.step));
  CHECK(read(peer) == 6 && opened.holds(peer, 6));
}

/// Tests that small tensors are passed in commands, and large ones by an
/// upload.
static void testWrites() {
  OpenedState opened(FRIT_NO_CUDA_GRAPH);
  uint8_t small[] = {1, 2, 3, 4, 5}, found[5] = {};
  static const int64_t five[] = {5}, all[] = {64};
  frit_tensor tensor = {"small", small, FRIT_U8, 1, five, FRIT_HOST};
  CHECK(!opened.context.writeState({&tensor, 1}));
  tensor.data = found;
  CHECK(!opened.context.readState({&tensor, 1}));
  CHECK(!memcmp(small, found, sizeof small));
  std::vector<float> w(64, 9);
  frit_tensor large = {"w", w.data(), FRIT_F32, 1, all, FRIT_HOST};
  CHECK(!opened.context.writeState({&large, 1}));
  CHECK(opened.holds(opened.context, 9));
  // The fake driver's device memory is host memory.
  std::vector<float> copy(64);
  large.data = copy.data();
  large.location = FRIT_DEVICE;
  if (reinterpret_cast<uintptr_t>(copy.data()) % 16 == 0) {
    CHECK(!opened.context.readState({&large, 1}));
    CHECK(copy == w);
  }
}

/// Tests that after other code has reset the GPU, calls fail without touching
/// memory that is gone, and that a new module works.
static void testReset() {
  OpenedState opened(FRIT_NO_CUDA_GRAPH);
  opened.call(/*go=*/true, 5);
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  CHECK(driver);
  auto reset = reinterpret_cast<int (*)(int)>(
      dlsym(driver, "cuDevicePrimaryCtxReset_v2"));
  CHECK(reset(0) == 0);
  bool go = true;
  std::vector<float> x(64, 6), w(64);
  static const int64_t dims[] = {64};
  frit_tensor tensor = {"w", w.data(), FRIT_F32, 1, dims, FRIT_HOST};
  auto fails = [](const Error &error) {
    return error.status() == FRIT_DEVICE_ERROR &&
           strstr(frit_last_error(), "has reset the GPU");
  };
  CHECK(fails(opened.context.run(
      {opened.step.bindInput(0, &go), opened.step.bindInput(1, x.data())},
      {})));
  CHECK(fails(opened.context.readState({&tensor, 1})));
  CHECK(fails(opened.context.writeState({&tensor, 1})));
  CHECK(fails(opened.context.synchronize()));
  OpenedState next(FRIT_NO_CUDA_GRAPH);
  next.call(/*go=*/true, 8);
  CHECK(next.holds(next.context, 8));
  dlclose(driver);
}

int main() {
  testConditions();
  testPeer();
  testWrites();
  checkDerived(refuseRemarks(optionsFor("cuda", FRIT_NO_CUDA_GRAPH)),
               {"sm_90", emptyElf()});
  testReset();
  return finish("state_driver_test");
}
