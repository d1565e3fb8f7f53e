//===- DerivedModel.cpp - Functions with a derived state ------------------===//

#include "DerivedModel.h"
#include "Check.h"

#include <array>

using namespace frit;
using namespace frit::test;

frit::test::Model
frit::test::makeDerivedModel(const DerivedModelOptions &options) {
  PlanWriter plan;
  auto end = [&](const char *function, uint32_t deriveSteps) {
    plan.target(options.arch, /*prepareSteps=*/0, deriveSteps);
    if (!options.code.empty())
      plan.module(options.code);
    plan.function(function);
  };
  (void)plan.constant("w", DType::f32, {4}, std::vector<float>{1, 2, 3, 4},
                      /*resident=*/false);
  Buffer w = plan.state("w", DType::f32, {4}, /*constant=*/0);
  (void)plan.state("rate", DType::f32, {});
  Buffer part = plan.derivedState(w, w.bytes);
  auto derive = [&] {
    plan.step(StepKind::copy, "derive", {w, PlanWriter::written(part)});
  };

  derive();
  Buffer x = plan.input("x", DType::f32, {4});
  Buffer z = plan.input("z", DType::f32, {4});
  plan.step(StepKind::copy, "y", {part, plan.output("y", DType::f32, {4})});
  plan.step(StepKind::copy, "w", {x, PlanWriter::written(w)});
  plan.step(StepKind::copy, "part", {z, PlanWriter::written(part)});
  end("step", /*deriveSteps=*/1);

  derive();
  plan.step(StepKind::copy, "y", {part, plan.output("y", DType::f32, {4})});
  end("look", /*deriveSteps=*/1);

  x = plan.input("x", DType::f32, {4});
  plan.step(StepKind::copy, "w", {x, PlanWriter::written(w)});
  end("move", /*deriveSteps=*/0);

  if (options.damage)
    options.damage(plan);
  return plan.finish("derived state");
}

namespace {
using Values = std::array<float, 4>;

/// A context of each function, all peers.
class Functions {
public:
  Functions(const frit_module_options &options, const DerivedModelOptions &kind)
      : model(makeDerivedModel(kind)) {
    CHECK(!Module::open(*model.get(), stepModule, &options));
    CHECK(!stepModule.openFunction("look", lookModule));
    CHECK(!stepModule.openFunction("move", moveModule));
    CHECK(!Context::create(stepModule, stepping));
    CHECK(!stepping.createPeer(lookModule, looking));
    CHECK(!stepping.createPeer(moveModule, moving));
  }

  /// Calls "step" and returns the derived part that it read.
  Values step(Values x, Values z) {
    Values y = {};
    CHECK(!stepping.run(
        {stepModule.bindInput(0, x.data()), stepModule.bindInput(1, z.data())},
        {stepModule.bindOutput(0, y.data())}));
    return y;
  }

  Values look() { return look(looking); }
  Values look(Context &context) {
    Values y = {};
    CHECK(!context.run({}, {lookModule.bindOutput(0, y.data())}));
    return y;
  }

  /// Calls "look" by frit_profile or frit_trace.
  Values observe(bool trace) {
    Values y = {};
    frit_tensor output = lookModule.bindOutput(0, y.data());
    auto visitTime = [](void *, const frit_step_info *) {};
    auto visit = [](void *, const frit_step_info *, const frit_step_tensor *,
                    uint32_t) {};
    CHECK(!(trace ? frit_trace(looking.get(), nullptr, 0, &output, 1, 0, visit,
                               nullptr)
                  : frit_profile(looking.get(), nullptr, 0, &output, 1,
                                 visitTime, nullptr)));
    return y;
  }

  void move(Values x) {
    CHECK(!moving.run({moveModule.bindInput(0, x.data())}, {}));
  }

  static void write(Context &context, Values w) {
    static const int64_t four[] = {4};
    frit_tensor tensor = {"w", w.data(), FRIT_F32, 1, four, FRIT_HOST};
    CHECK(!context.writeState({&tensor, 1}));
  }

  Model model;
  Module stepModule, lookModule, moveModule;
  Context stepping, looking, moving;
};
} // namespace

void frit::test::checkDerived(const frit_module_options &options,
                              const DerivedModelOptions &model) {
  const Values first = {1, 2, 3, 4}, a = {5, 6, 7, 8}, b = {9, 10, 11, 12};
  Functions f(options, model);
  // Nobody sees the part.
  CHECK(f.stepModule.stateCount() == 2 && f.stepModule.stateBytes() == 768);

  // Initial values are derived by whichever function reads them first.
  CHECK(f.look() == first);
  {
    Functions other(options, model);
    CHECK(other.step(a, b) == first);
  }

  // A step keeps the part up to date, in both functions' eyes.
  CHECK(f.step(a, b) == first);
  CHECK(f.look() == b);
  CHECK(f.step(a, first) == b);
  CHECK(f.step(b, a) == first);
  Context stranger;
  CHECK(!Context::create(f.lookModule, stranger));
  CHECK(f.look(stranger) == first && f.look() == a);

  // Writes to its source are seen, from any peer; others derive nothing.
  float rate = 1;
  frit_tensor number = {"rate", &rate, FRIT_F32, 0, nullptr, FRIT_HOST};
  CHECK(!f.stepping.writeState({&number, 1}));
  CHECK(f.step(a, b) == a);
  f.write(f.stepping, first);
  CHECK(f.step(a, b) == first);
  CHECK(f.look() == b);
  f.write(f.looking, first);
  CHECK(f.step(a, b) == first);
  f.write(f.moving, first);
  CHECK(f.look() == first);
  CHECK(f.step(a, b) == first);

  // So are calls that write the source alone.
  f.move(first);
  CHECK(f.look() == first);
  CHECK(f.step(a, b) == first);
  f.move(a);
  CHECK(f.step(b, first) == a);
  CHECK(f.look() == first);

  // Calls step by step derive, too.
  for (bool trace : {false, true}) {
    f.write(f.looking, a);
    CHECK(f.observe(trace) == a);
    CHECK(f.step(first, b) == a);
    CHECK(f.observe(trace) == b);
  }
}
