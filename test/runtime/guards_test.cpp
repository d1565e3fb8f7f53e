//===- guards_test.cpp - Guarded steps on the host ------------------------===//

#include "Check.h"
#include "Opened.h"
#include "TestModel.h"
#include "frit/runtime.hpp"

#include <functional>

using namespace frit::test;

static const frit_module_options cpuOptions =
    optionsFor("cpu", /*flags=*/0, /*threads=*/1);

static void testValues() {
  auto [model, module, context] = Opened(makeGuardedModel(), cpuOptions);
  for (bool p : {true, false})
    for (bool q : {true, false}) {
      GuardedCall call(p, q, 5);
      CHECK(!context.run(call.inputs(), call.outputs()));
      CHECK(call.isRight());
    }
}

/// Checks that a profile shows no time and no bytes for skipped steps.
static void testProfile() {
  auto [model, module, context] = Opened(makeGuardedModel(), cpuOptions);
  GuardedCall call(/*p=*/true, /*q=*/true, 1);
  std::vector<frit_tensor> in = call.inputs(), out = call.outputs();
  std::vector<frit_step_info> steps;
  CHECK(!frit_profile(
      context.get(), in.data(), uint32_t(in.size()), out.data(), 1,
      [](void *user, const frit_step_info *step) {
        static_cast<std::vector<frit_step_info> *>(user)->push_back(*step);
      },
      &steps));
  CHECK(call.isRight());
  CHECK(steps.size() == 10);
  double last = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    bool skipped = i == 5 || i == 8;
    CHECK((steps[i].bytes == 0) == skipped);
    CHECK((steps[i].duration == 0) == skipped);
    CHECK(steps[i].start >= last);
    last = steps[i].start;
    CHECK(steps[i].guarded == (i == 2 ? 4 : i == 4 || i == 7 ? 1 : 0));
  }
  CHECK(!strcmp(steps[2].kind, "guard") &&
        !strcmp(steps[2].kernel, "if true, by a branch"));
  CHECK(!strcmp(steps[4].kernel, "if false, by a branch"));
}

/// Checks that a damaged plan is rejected with this message.
static void refuses(const char *words,
                    const std::function<void(PlanWriter &)> &damage) {
  PlanWriter plan;
  writeGuardedSteps(plan);
  damage(plan);
  plan.target("x86-64");
  plan.program().arenaBytes = 256;
  Model model = makeGuardedModel();
  model.plan = plan.finish("damaged").plan;
  frit::Module module;
  CHECK(frit::Module::open(*model.get(), module, &cpuOptions));
  CHECK(lastErrorHas(words));
}

static void testDamage() {
  const char *misfit = "a guard's steps reach past the enclosing guard";
  refuses(misfit, [](PlanWriter &plan) { plan.guards[2].steps = 3; });
  refuses(misfit, [](PlanWriter &plan) { plan.guards[0].steps = ~0u; });
  // The inner guard would end after the outer one.
  refuses(misfit, [](PlanWriter &plan) { plan.guards[1].steps = 3; });
  refuses("a step depends on one in another guard",
          [](PlanWriter &plan) { plan.follow(plan.steps[5], {3}); });
  refuses("a guard's step does not depend on it",
          [](PlanWriter &plan) { plan.follow(plan.steps[8], {}); });
  refuses("a guard is out of range",
          [](PlanWriter &plan) { plan.steps[2].problem = 3; });
  refuses("its condition is not a single byte", [](PlanWriter &plan) {
    plan.buffers[plan.steps[4].arguments.first].bytes = 2;
  });
}

int main() {
  testValues();
  testProfile();
  testDamage();
  return finish("guards_test");
}
