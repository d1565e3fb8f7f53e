//===- counts_test.cpp - Data-dependent output sizes on the host ----------===//

#include "Check.h"
#include "Opened.h"
#include "TestModel.h"
#include "frit/runtime.hpp"

#include <functional>

using namespace frit::test;

static const frit_module_options cpuOptions =
    optionsFor("cpu", /*flags=*/0, /*threads=*/2);

static void testDescription(const frit::Module &module) {
  CHECK(module.outputCount() == 3 && module.counts() == 1);
  CHECK(module.outputCounts(0)[0] == 0);
  CHECK(module.outputCounts(1)[0] == -1 && module.outputCounts(1)[1] == 0);
  CHECK(!module.outputCounts(3));
  // Descriptions of outputs have the upper bound.
  CHECK(module.output(1).dims[1] == 4 && module.output(1).bytes == 32);
}

static void testCalls(const frit::Module &module) {
  frit::Context context;
  CHECK(!frit::Context::create(module, context));
  int64_t dims[2];
  CHECK(context.outputDims(0, dims).status() == FRIT_INVALID_ARGUMENT);
  for (const std::vector<float> &x : countedInputs()) {
    CountedCall call(x);
    CHECK(!module.outputDims(call.inputs(), 1, dims));
    CHECK(dims[0] == 2 && dims[1] == 4);
    CHECK(!context.run(call.inputs(), call.outputs()));
    CHECK(call.isRight(context.get()));
  }
  CHECK(context.outputDims(3, dims).status() == FRIT_INVALID_ARGUMENT);

  // Outputs that were not requested have shapes too.
  CountedCall call(countedInputs()[0]);
  CHECK(!context.run(call.inputs(), {}));
  CHECK(!context.outputDims(1, dims));
  CHECK(dims[0] == 2 && dims[1] == 2);

  std::vector<frit_tensor> inputs = call.inputs(), outputs = call.outputs();
  auto visit = [](void *, const frit_step_info *) {};
  CHECK(!frit_profile(context.get(), inputs.data(), 1, outputs.data(), 3, visit,
                      nullptr));
  CHECK(call.isRight(context.get()));
}

static void testMisuse(const frit::Module &module) {
  frit::Context context;
  CHECK(!frit::Context::create(module, context));
  CountedCall many({100, 1, 1, 1, 1, 1, 1, 1});
  CHECK(!context.run(many.inputs(), many.outputs()));
  CHECK(many.isRight(context.get()));
  CountedCall call({200, 1, 1, 1, 1, 1, 1, 1});
  frit::Error error = context.run(call.inputs(), call.outputs());
  CHECK(error.status() == FRIT_BAD_MODEL);
  CHECK(error.message() == "dimension 0 of output 'y' cannot be as long as a "
                           "count of -1 makes it");
  // Memory must hold the upper bound.
  std::vector<frit_tensor> outputs = call.outputs();
  const int64_t two[] = {2};
  outputs[0].dims = two;
  error = context.run(call.inputs(), outputs);
  CHECK(error.message() == "output 'y' must be 4xf32 and is 2xf32");
  // A count is not an output.
  outputs[0].name = "count";
  error = context.run(call.inputs(), outputs);
  CHECK(error.message() ==
        "there is no output 'count'; the model's outputs are: y, z, w");
}

/// Opens a plan with one change; returns the error.
static std::string damaged(const std::function<void(PlanWriter &)> &change) {
  PlanWriter plan;
  writeCountedSteps(plan, /*cuda=*/false);
  plan.target("x86-64");
  change(plan);
  Model model = makeCountedModel();
  model.plan = plan.finish("counted model").plan;
  frit::Module module;
  return frit::Module::open(*model.get(), module, &cpuOptions).message();
}

static void testDamage() {
  CHECK(damaged([](PlanWriter &plan) { plan.counts = 5; }) ==
        "the model's plan is damaged: it has more counts than outputs");
  CHECK(damaged([](PlanWriter &plan) { plan.counts = 2; }) ==
        "the model's plan is damaged: a count output is not an i64 scalar");
  CHECK(damaged(
            [](PlanWriter &plan) { plan.outputs.back().type = DType::u64; }) ==
        "the model's plan is damaged: a count output is not an i64 scalar");
  CHECK(damaged([](PlanWriter &plan) { plan.extents[0].count = 1; }) ==
        "the model's plan is damaged: output 'y' has a count that cannot be "
        "its");
  CHECK(damaged([](PlanWriter &plan) { plan.extents[0].symbol = 0; }) ==
        "the model's plan is damaged: output 'y' has a symbol that is not "
        "there");
  CHECK(damaged([](PlanWriter &plan) { plan.inputs[0].extents = {1, 2}; }) ==
        "the model's plan is damaged: input 'x' has a count that cannot be "
        "its");
  CHECK(damaged([](PlanWriter &plan) { plan.inputs[0].indices = {0, 1}; }) ==
        "the model's plan is damaged: the indices of input 'x' are out of "
        "range");
  auto withIndices = [](PlanWriter &plan, int64_t first, int64_t size) {
    uint32_t place = uint32_t(plan.dims.size());
    plan.dims.insert(plan.dims.end(), {0, first, 2, size});
    plan.indices = {{{}, {place, 2}, {place + 2, 2}, 0, 1, 0}};
    plan.inputs[0].indices = {0, 1};
  };
  CHECK(damaged([&](PlanWriter &plan) { withIndices(plan, 1, 3); }).empty());
  for (auto [first, size] : {std::pair(1, 4), {-1, 2}, {5, 0}, {0, -1}})
    CHECK(damaged([&](PlanWriter &plan) { withIndices(plan, first, size); }) ==
          "the model's plan is damaged: indices of input 'x' are not in it");
  // Lengths that depend on a count are checked once it is known.
  CHECK(damaged([](PlanWriter &plan) {
          plan.extents[0].factor = INT64_MAX;
        }).empty());
}

int main() {
  testDamage();
  Model model = makeCountedModel();
  frit::Module module;
  CHECK(!frit::Module::open(*model.get(), module, &cpuOptions));
  testDescription(module);
  testCalls(module);
  testMisuse(module);
  return finish("counts_test");
}
