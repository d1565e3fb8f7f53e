//===- CudaGuards.cpp - Guarded steps on a GPU ----------------------------===//

#include "CudaLaunches.h"
#include "Opened.h"
#include "TestModel.h"

#include <algorithm>

using namespace frit::test;

static void testValues(const std::string &cubin, unsigned flags) {
  PlanWriter plan;
  writeGuardedSteps(plan);
  OpenedPlan opened(plan, cubin, /*arenaBytes=*/256, flags);
  for (int round = 0; round < 3; ++round)
    for (bool p : {true, false})
      for (bool q : {true, false}) {
        GuardedCall call(p, q, float(round));
        CHECK(!opened.context.run(call.inputs(), call.outputs()));
        CHECK(call.isRight());
      }
  GuardedCall call(/*p=*/false, /*q=*/true, 1);
  std::vector<frit_tensor> in = call.inputs(), out = call.outputs();
  std::vector<uint64_t> bytes;
  CHECK(!frit_profile(
      opened.context.get(), in.data(), uint32_t(in.size()), out.data(), 1,
      [](void *user, const frit_step_info *step) {
        static_cast<std::vector<uint64_t> *>(user)->push_back(step->bytes);
      },
      &bytes));
  CHECK(call.isRight());
  CHECK((bytes == std::vector<uint64_t>{8, 2, 1, 0, 0, 0, 0, 1, 4, 4}));

  // Use other addresses for the condition and the outputs.
  frit::Context other;
  CHECK(!frit::Context::create(opened.module, other));
  GuardedCall elsewhere(/*p=*/true, /*q=*/false, 7);
  CHECK(!other.run(elsewhere.inputs(), elsewhere.outputs()));
  for (int round = 0; round < 6; ++round) {
    frit_context *memory = round % 2 ? other.get() : opened.context.get();
    GuardedCall now(/*p=*/round % 3 == 0, /*q=*/false, float(round));
    frit::Context &filled = round % 2 ? other : opened.context;
    CHECK(!filled.run(now.inputs(), now.outputs()));
    CHECK(now.isRight());
    in = now.inputs();
    for (uint32_t i = 0; i < in.size(); ++i) {
      in[i].data = frit_context_input_buffer(memory, i);
      in[i].location = FRIT_DEVICE;
    }
    now.y = -1;
    CHECK(!opened.context.run(in, now.outputs()));
    CHECK(now.isRight());
  }
}

/// Returns microseconds per call that increments `guards` times `steps` times
/// if `p`. With `conditions` false, the steps are not guarded.
static double time(const std::string &cubin, int guards, int steps, bool p,
                   bool conditions) {
  PlanWriter plan;
  Buffer condition = plan.input("p", DType::boolean, {1});
  Buffer x = plan.input("x", DType::f32, {1});
  Buffer y = plan.output("y", DType::f32, {1});
  uint32_t kernel = plan.kernel("increment");
  plan.step(StepKind::copy, "x", {x, y});
  for (int guard = 0; guard < guards; ++guard) {
    if (conditions)
      plan.guard(condition, true, uint32_t(steps), "guard");
    for (int i = 0; i < steps; ++i)
      plan.step(StepKind::launch, "n", {y}).kernel = kernel;
  }
  OpenedPlan opened(plan, cubin, /*arenaBytes=*/256, 0);
  float from = 1, to = 0;
  std::vector<frit_tensor> in = {opened.module.bindInput(0, &p),
                                 opened.module.bindInput(1, &from)};
  frit_tensor out = opened.module.bindOutput(0, &to);
  CHECK(!opened.context.run({in[0], in[1]}, {out}));
  bool runs = p || !conditions;
  CHECK(to == 1 + float(runs ? guards * steps : 0));
  frit_context *context = opened.context.get();
  for (uint32_t i = 0; i < 2; ++i) {
    in[i].data = frit_context_input_buffer(context, i);
    in[i].location = FRIT_DEVICE;
  }
  out.data = frit_context_output_buffer(context, 0);
  out.location = FRIT_DEVICE;
  double best = 1e9;
  for (int round = 0; round < 5; ++round)
    best = std::min(best, opened.timeCalls(in, out));
  return best;
}

void frit::test::testGuards(const std::string &cubin) {
  testValues(cubin, 0);
  testValues(cubin, FRIT_NO_CUDA_GRAPH);
  constexpr int kGuards = 20;
  double nothing = time(cubin, 0, 1, true, false);
  for (int steps : {1, 4, 16}) {
    auto each = [&](bool p, bool conditions) {
      return (time(cubin, kGuards, steps, p, conditions) - nothing) / kGuards;
    };
    double plain = each(true, false), taken = each(true, true);
    double left = each(false, true);
    printf("%2d kernels: %.2f us; under a condition %.2f us where it holds, "
           "%.2f us where it does not\n",
           steps, plain, taken, left);
  }
}
