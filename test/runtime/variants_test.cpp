//===- variants_test.cpp - A model with a symbolic dimension on the host --===//

#include "Check.h"
#include "Opened.h"
#include "TestModel.h"
#include "frit/runtime.hpp"
#include "runtime/exec/StridedRegion.h"

#include <functional>
#include <vector>

using namespace frit::test;

static const frit_module_options cpuOptions =
    optionsFor("cpu", /*flags=*/0, /*threads=*/2);

static void testDescription(const frit::Module &module) {
  CHECK(module.symbolCount() == 1 && module.variantCount() == 2);
  frit_symbol_info symbol = module.symbol(0);
  CHECK(!strcmp(symbol.name, "batch") && symbol.least == 1 &&
        symbol.most == 4 && symbol.padded && symbol.size_count == 2 &&
        symbol.sizes[0] == 2 && symbol.sizes[1] == 4 && symbol.multiple == 1);
  CHECK(frit_module_symbol(module.get(), 1, &symbol) == FRIT_INVALID_ARGUMENT);
  CHECK(module.inputSymbols(0)[0] == -1 && module.inputSymbols(0)[1] == 0);
  CHECK(module.outputSymbols(1)[0] == 0 && !module.outputSymbols(2));
  // Descriptions of tensors have the sizes of the largest variant.
  CHECK(module.input(0).dims[1] == 4 && module.input(0).bytes == 48);
  frit_variant_info variant = module.variant(0, 0);
  CHECK(variant.sizes[0] == 2 && variant.steps == 2 &&
        variant.arena_bytes == 256 && variant.arena_lower_bound == 64);
  CHECK(module.target(0).arena_bytes == 512);
  CHECK(frit_module_variant(module.get(), 0, 2, &variant) ==
        FRIT_INVALID_ARGUMENT);
}

static void testCalls(const frit::Module &module) {
  frit::Context context;
  CHECK(!frit::Context::create(module, context));
  CHECK(frit_context_step_count(context.get()) == 2);
  for (int64_t batch : {4, 1, 3, 2, 4, 3}) {
    OpenCall call(batch);
    int64_t dims[2] = {};
    CHECK(!module.outputDims(call.inputs(), 0, dims));
    CHECK(dims[0] == 3 && dims[1] == batch);
    CHECK(!module.outputDims(call.inputs(), 1, dims));
    CHECK(dims[0] == 2 * batch);
    CHECK(!context.run(call.inputs(), call.outputs()));
    CHECK(call.isRight());
  }
}

/// Tests an input in the memory of its output, and one in the context's own
/// buffer.
static void testPlaces(const frit::Module &module) {
  frit::Context context;
  CHECK(!frit::Context::create(module, context));
  OpenCall over(3);
  std::vector<frit_tensor> outputs = over.outputs(), inputs = over.inputs();
  std::copy(over.x.begin(), over.x.end(), over.y.begin());
  inputs[0].data = outputs[0].data;
  CHECK(!context.run(inputs, outputs));
  CHECK(over.isRight());

  OpenCall own(3);
  inputs = own.inputs();
  outputs = own.outputs();
  void *memory = frit_context_input_buffer(context.get(), 0);
  memcpy(memory, own.x.data(), own.x.size() * sizeof(float));
  inputs[0].data = memory;
  outputs[0].data = frit_context_output_buffer(context.get(), 0);
  CHECK(!context.run(inputs, outputs));
  memcpy(own.y.data(), outputs[0].data, own.y.size() * sizeof(float));
  CHECK(own.isRight());
}

static void testMisuse(const frit::Module &module) {
  frit::Context context;
  CHECK(!frit::Context::create(module, context));
  auto fails = [&](OpenCall &call, const char *message) {
    frit::Error error = context.run(call.inputs(), call.outputs());
    return error.status() == FRIT_INVALID_ARGUMENT &&
           error.message().find(message) != std::string::npos;
  };
  OpenCall large(5);
  CHECK(fails(large, "input 'x' has batch 5, and the model holds 1..4"));
  int64_t dims[2];
  CHECK(module.outputDims(large.inputs(), 0, dims).status() ==
        FRIT_INVALID_ARGUMENT);
  OpenCall none(0);
  CHECK(fails(none, "input 'x' has batch 0, and the model holds 1..4"));
  OpenCall other(3);
  other.doubled = 8;
  CHECK(fails(other, "output 'z' must be 6xf32 and is 8xf32"));
  other.shape[0] = 2;
  CHECK(fails(other, "input 'x' must be 3xbatchxf32 and is 2x3xf32"));
  frit::Error error = context.run({}, {});
  CHECK(error.message() == "input 'x' is missing; it must be 3xbatchxf32");
}

static void testProfile(const frit::Module &module) {
  frit::Context context;
  CHECK(!frit::Context::create(module, context));
  OpenCall call(1);
  std::vector<frit_tensor> inputs = call.inputs(), outputs = call.outputs();
  std::string seen;
  auto visit = [](void *user, const frit_step_info *step) {
    *static_cast<std::string *>(user) +=
        std::string(step->kernel) + " " + std::to_string(step->bytes) + ";";
  };
  CHECK(!frit_profile(context.get(), inputs.data(), 1, outputs.data(), 2, visit,
                      &seen));
  CHECK(seen == "doubled 48;twice 40;");
  CHECK(call.isRight());
}

/// Tests two shortened dimensions and a whole one, in both directions.
static void testStridedRegion() {
  const int64_t small[] = {2, 2, 3}, large[] = {2, 4, 4};
  frit::StridedRegion region(small, large, 1);
  CHECK(!region.isWhole() && region.runs() == 4 && region.runBytes() == 3);
  CHECK(region.offset(1) == 4 && region.offset(2) == 16);
  const char *letters = "abcdefghijkl";
  char spread[32], gathered[12];
  memset(spread, '.', sizeof spread);
  frit::copyInto(region, letters, spread, sizeof spread);
  CHECK(!memcmp(spread, "abc\0def\0\0\0\0\0\0\0\0\0ghi\0jkl", 24));
  frit::copyOutOf(region, spread, gathered);
  CHECK(!memcmp(gathered, letters, 12));
  // In place.
  char memory[32];
  memcpy(memory, letters, 12);
  frit::copyInto(region, memory, memory, sizeof memory);
  CHECK(!memcmp(memory, spread, 32));
  frit::copyOutOf(region, memory, memory);
  CHECK(!memcmp(memory, letters, 12));
  // Leading rows are one run.
  const int64_t rows[] = {1, 1, 4}, all[] = {1, 3, 4};
  frit::StridedRegion front(rows, all, 2);
  CHECK(front.runs() == 1 && front.runBytes() == 8 && front.offset(0) == 0);
  frit::StridedRegion scalar({}, {}, 4);
  CHECK(scalar.isWhole() && scalar.runs() == 1 && scalar.runBytes() == 4);
}

/// Tests that the size of a call reaches the steps but is not an input of the
/// model.
static void testSizes() {
  auto [model, module, context] = Opened(makeSizedModel(), cpuOptions);
  CHECK(module.inputCount() == 1 && module.symbol(0).masked);
  CHECK(!frit_context_input_buffer(context.get(), 1));
  const float x[] = {1, 3, 8, 16};
  const float means[] = {1, 2, 4, 7};
  for (int64_t batch : {4, 1, 3, 2}) {
    float y = 0;
    frit_tensor input = {"x",      const_cast<float *>(x), FRIT_F32, 1, &batch,
                         FRIT_HOST};
    frit_tensor output = {"y", &y, FRIT_F32, 0, nullptr, FRIT_HOST};
    CHECK(!context.run({&input, 1}, {&output, 1}));
    CHECK(y == means[batch - 1]);
  }
}

/// Opens a plan with one change; returns the error.
static std::string damaged(const std::function<void(PlanWriter &)> &change) {
  PlanWriter plan;
  writeSizedPlan(plan);
  change(plan);
  Model model = plan.finish("sized model");
  frit::Module module;
  frit_module_options options = cpuOptions;
  options.device = "none";
  return frit::Module::open(*model.get(), module, &options).message();
}

static void testDamagedSizes() {
  CHECK(damaged([](PlanWriter &plan) { plan.sizes = 3; }) ==
        "the model's plan is damaged: it has more sizes than inputs");
  const char *message = "the model's plan is damaged: a size input is not an "
                        "i64 scalar of a known symbol";
  CHECK(damaged([](PlanWriter &plan) { plan.sizes = 2; }) == message);
  CHECK(damaged([](PlanWriter &plan) { plan.inputs[1].symbol = 1; }) ==
        message);
  CHECK(damaged([](PlanWriter &plan) { plan.symbols[0].multiple = 0; }) ==
        "the model's plan is damaged: symbol 'batch' has no sizes");
  // Only outputs divide, towards 0, by positive numbers.
  const char *wrongly = "the model's plan is damaged: input 'x' has a length "
                        "that is divided wrongly";
  CHECK(damaged([](PlanWriter &plan) { plan.extents[0].divisor = 0; }) ==
        wrongly);
  CHECK(damaged([](PlanWriter &plan) { plan.extents[0].divisor = 2; }) ==
        wrongly);
  CHECK(damaged([](PlanWriter &plan) { plan.extents[0].shift = 1; }) ==
        wrongly);
  CHECK(damaged([](PlanWriter &plan) {
          plan.inputs[1].type = plan.inputs[3].type =
              frit::artifact::DType::u64;
        }) == message);
}

int main() {
  testStridedRegion();
  testSizes();
  testDamagedSizes();
  Model model = makeOpenModel();
  frit::Module module;
  CHECK(!frit::Module::open(*model.get(), module, &cpuOptions));
  testDescription(module);
  testCalls(module);
  testPlaces(module);
  testMisuse(module);
  testProfile(module);
  return finish("variants_test");
}
