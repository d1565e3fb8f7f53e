//===- StateModel.cpp - Two functions that share state --------------------===//

#include "StateModel.h"
#include "Check.h"

#include <array>

using namespace frit;
using namespace frit::test;

static void increment(void *const *arguments, void *, int64_t, int64_t) {
  *static_cast<float *>(arguments[0]) += 1;
}

frit::test::Model frit::test::makeStateModel(const StateModelOptions &options) {
  PlanWriter plan;
  auto end = [&](const char *function, uint64_t arenaBytes) {
    plan.target(options.cubin ? "sm_90a" : "x86-64");
    if (options.cubin)
      plan.module(*options.cubin);
    plan.program().arenaBytes = arenaBytes;
    plan.function(function);
  };
  (void)plan.constant("w", DType::f32, {4}, std::vector<float>{1, 2, 3, 4},
                      /*resident=*/false);
  Buffer w = plan.state("w", DType::f32, {4}, /*constant=*/0);
  Buffer count = plan.state("count", DType::f32, {});
  (void)plan.state("rate", DType::f32, {});

  Buffer go = plan.input("go", DType::boolean, {1});
  Buffer x = plan.input("x", DType::f32, {4});
  Buffer y = plan.output("y", DType::f32, {});
  Buffer old = plan.output("old", DType::f32, {4});
  plan.step(StepKind::copy, "old", {w, old});
  if (options.guarded)
    plan.guard(go, true, 2, "if go");
  plan.step(StepKind::launch, "add", {PlanWriter::written(count)}).kernel =
      plan.kernel("increment", 0);
  plan.step(StepKind::copy, "set", {x, PlanWriter::written(w)});
  plan.step(StepKind::copy, "y", {count, y});
  end("step", 256);

  y = plan.output("y", DType::f32, {});
  Buffer found = plan.output("w", DType::f32, {4});
  Buffer between = PlanWriter::arena(options.lookArena - 16, 16, false);
  plan.step(StepKind::copy, "y", {count, y});
  plan.step(StepKind::copy, "w", {w, PlanWriter::written(between)});
  plan.step(StepKind::copy, "w", {between, found});
  end("look", options.lookArena);

  if (options.damage)
    options.damage(plan);
  Model model = plan.finish("state model");
  model.kernels = {increment};
  return model;
}

frit_tensor frit::test::stateTensor(const char *name, void *data,
                                    bool isScalar) {
  static const int64_t four[] = {4};
  return {name, data, FRIT_F32, isScalar ? 0u : 1u, four, FRIT_HOST};
}

namespace {
using Values = std::array<float, 4>;

/// The functions of a state model and the expected state.
class Checker {
public:
  Checker(const frit_module_options &options, const StateModelOptions &kind)
      : guarded(kind.guarded), model(makeStateModel(kind)) {
    CHECK(!Module::open(*model.get(), step, &options));
    CHECK(!step.openFunction("look", look));
    CHECK(!Context::create(step, stepping));
    CHECK(!stepping.createPeer(look, looking));
  }

  /// Calls "step" and checks its outputs, then the state by a call of "look".
  void call(Values x, bool go = true) {
    bind(x, go);
    CHECK(!stepping.run(inputs, outputs));
    expect(x, go);
  }

  /// Makes the same call by frit_profile.
  void profile(Values x, bool go) {
    bind(x, go);
    CHECK(!frit_profile(
        stepping.get(), inputs.data(), uint32_t(inputs.size()), outputs.data(),
        uint32_t(outputs.size()), [](void *, const frit_step_info *) {},
        nullptr));
    expect(x, go);
  }

  /// Checks the outputs of "look".
  void checkLook() {
    float found = -1;
    Values values = {};
    CHECK(!looking.run(
        {}, {look.bindOutput(0, &found), look.bindOutput(1, values.data())}));
    CHECK(found == count && values == w);
  }

  /// Checks the results of frit_state_read.
  void checkRead(Context &context) {
    float found = -1;
    Values values = {};
    CHECK(
        !context.readState(std::array{stateTensor("count", &found, true),
                                      stateTensor("w", values.data(), false)}));
    CHECK(found == count && values == w);
  }

  bool guarded;
  Model model;
  Module step, look;
  Context stepping, looking;
  float count = 0;
  Values w = {1, 2, 3, 4};

private:
  void bind(Values &x, bool &go) {
    inputs = {step.bindInput(0, &go), step.bindInput(1, x.data())};
    outputs = {step.bindOutput(0, &y), step.bindOutput(1, old.data())};
  }

  void expect(const Values &x, bool go) {
    CHECK(old == w);
    if (go || !guarded) {
      w = x;
      ++count;
    }
    CHECK(y == count);
    checkLook();
  }

  std::vector<frit_tensor> inputs, outputs;
  float y = -1;
  Values old = {};
};
} // namespace

static void checkCalls(const frit_module_options &options,
                       const StateModelOptions &kind) {
  Checker checker(options, kind);
  checker.checkLook();
  for (float i = 0; i < 4; ++i)
    checker.call({i, i + 5, i + 7, -i});
  checker.checkRead(checker.stepping);
  checker.checkRead(checker.looking);
  checker.call({9, 9, 9, 9}, /*go=*/false);
  checker.call({8, 7, 6, 5}, /*go=*/true);
  // A profile is one call.
  checker.profile({1, 0, 1, 0}, /*go=*/true);
  checker.profile({0, 1, 0, 1}, /*go=*/false);
  checker.call({4, 4, 2, 2});
}

static void checkWrites(const frit_module_options &options,
                        const StateModelOptions &kind) {
  Checker checker(options, kind);
  checker.call({1, 1, 1, 1});
  // A call reads values written before it, by either context.
  checker.count = 41;
  checker.w = {5, 6, 7, 8};
  std::array tensors = {stateTensor(nullptr, checker.w.data(), false),
                        stateTensor(nullptr, &checker.count, true)};
  CHECK(!checker.looking.writeState(tensors));
  checker.checkRead(checker.stepping);
  checker.call({2, 2, 2, 2});
  checker.checkLook();
  // A copied tensor in device memory.
  Values moved = {};
  checker.call({3, 1, 4, 1});
  frit_tensor device = stateTensor("w", nullptr, false);
  device.data = frit_context_output_buffer(checker.stepping.get(), 1);
  device.location = FRIT_DEVICE;
  CHECK(device.data);
  CHECK(!checker.stepping.readState({&device, 1}));
  Values zeros = {};
  frit_tensor cleared = stateTensor("w", zeros.data(), false);
  CHECK(!checker.stepping.writeState({&cleared, 1}));
  frit_tensor read = stateTensor("w", moved.data(), false);
  CHECK(!checker.stepping.readState({&read, 1}));
  CHECK(moved == zeros);
  CHECK(!checker.stepping.writeState({&device, 1}));
  checker.checkRead(checker.looking);
  checker.checkLook();
}

/// Checks that contexts share state only with their peers, and that nothing
/// outlives its owner.
static void checkLifetimes(const frit_module_options &options,
                           const StateModelOptions &kind) {
  Checker checker(options, kind);
  checker.call({2, 3, 4, 5});
  Context other;
  CHECK(!Context::create(checker.look, other));
  float found = -1;
  Values values = {};
  CHECK(!other.run({}, {checker.look.bindOutput(0, &found),
                        checker.look.bindOutput(1, values.data())}));
  CHECK(found == 0 && (values == Values{1, 2, 3, 4}));
  // Destroy the first context and its module; the peer stays.
  Context().operator=(std::move(checker.stepping));
  Module().operator=(std::move(checker.step));
  checker.checkLook();
  checker.checkRead(checker.looking);
  // Open a function from the remaining one, and create a peer of it.
  CHECK(!checker.look.openFunction("step", checker.step));
  CHECK(!checker.looking.createPeer(checker.step, checker.stepping));
  checker.call({6, 6, 5, 5});
}

void frit::test::checkState(const frit_module_options &options,
                            const StateModelOptions &model) {
  checkCalls(options, model);
  checkWrites(options, model);
  checkLifetimes(options, model);
  // Create a peer that needs more scratch memory than the first context has.
  StateModelOptions larger = model;
  larger.lookArena = 4096;
  checkCalls(options, larger);
}
