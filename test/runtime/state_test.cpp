//===- state_test.cpp - Functions that share state, on the host -----------===//

#include "Check.h"
#include "DerivedModel.h"
#include "Opened.h"
#include "StateModel.h"

#include <array>

using namespace frit;
using namespace frit::test;

static const frit_module_options cpuOptions =
    optionsFor("cpu", /*flags=*/0, /*threads=*/1);

static void testDescriptions() {
  Model model = makeStateModel();
  Module module, look;
  CHECK(!Module::open(*model.get(), module, &cpuOptions));
  CHECK(module.functionCount() == 2);
  CHECK(!strcmp(module.functionName(0), "step"));
  CHECK(!strcmp(module.functionName(1), "look"));
  CHECK(!module.functionName(2));
  CHECK(!strcmp(module.function(), "step"));
  CHECK(module.inputCount() == 2 && module.outputCount() == 2);
  CHECK(!module.openFunction("look", look));
  CHECK(!strcmp(look.function(), "look") && look.functionCount() == 2);
  CHECK(look.inputCount() == 0 && look.outputCount() == 2);
  CHECK(!strcmp(look.output(1).name, "w"));
  CHECK(look.targetCount() == 1 && look.target(0).chosen);
  CHECK(look.target(0).copies == 3 && module.target(0).copies == 3);
  CHECK(module.target(0).launches == 1);

  CHECK(module.stateCount() == 3 && look.stateCount() == 3);
  CHECK(module.stateBytes() == 768);
  CHECK(!strcmp(module.state(0).name, "w") && module.state(0).rank == 1);
  CHECK(module.state(0).dims[0] == 4 && module.state(0).bytes == 16);
  CHECK(!strcmp(look.state(2).name, "rate") && look.state(2).rank == 0);
  CHECK(look.state(2).dtype == FRIT_F32);
  frit_tensor_info info;
  CHECK(frit_module_state(module.get(), 3, &info) == FRIT_INVALID_ARGUMENT);
  CHECK(module.device().context_bytes - module.target(0).arena_bytes >= 768);
  CHECK(frit_module_function_count(nullptr) == 0);
  CHECK(frit_module_state_count(nullptr) == 0);

  // A module that only describes.
  frit_module_options options = cpuOptions;
  options.device = "none";
  Module described, function;
  CHECK(!Module::open(*model.get(), described, &options));
  CHECK(!described.openFunction("look", function));
  CHECK(function.outputCount() == 2);
  Context context;
  CHECK(Context::create(function, context));
}

static void testWrongCalls() {
  Model model = makeStateModel();
  Module module, look, twin;
  CHECK(!Module::open(*model.get(), module, &cpuOptions));
  CHECK(!module.openFunction("look", look));
  CHECK(module.openFunction("main", twin));
  CHECK(lastErrorHas("there is no function 'main'; the model's functions are: "
                     "step, look"));
  CHECK(frit_module_open_function(module.get(), nullptr, nullptr) ==
        FRIT_INVALID_ARGUMENT);

  Context context, peer;
  CHECK(!Context::create(module, context));
  CHECK(!Module::open(*model.get(), twin, &cpuOptions));
  CHECK(context.createPeer(twin, peer));
  CHECK(lastErrorHas("are not of the same opened model"));

  float one = 1, values[4] = {};
  auto refuses = [&](const char *words,
                     std::initializer_list<frit_tensor> all) {
    std::span<const frit_tensor> tensors(all.begin(), all.size());
    for (bool writes : {false, true}) {
      Error error =
          writes ? context.writeState(tensors) : context.readState(tensors);
      CHECK(error.status() == FRIT_INVALID_ARGUMENT && lastErrorHas(words));
    }
  };
  frit_tensor w = stateTensor("w", values, false);
  frit_tensor count = stateTensor("count", &one, true);
  refuses("there is no state 'v'; the model's states are: w, count, rate",
          {stateTensor("v", values, false)});
  refuses("state 'w' must be 4xf32 and is f32", {stateTensor("w", &one, true)});
  refuses("state 'count' is given twice", {count, w, count});
  refuses("state 'w' has no data", {stateTensor("w", nullptr, false)});
  refuses("there are too many states: the model has 3",
          {w, count, stateTensor("rate", &one, true),
           stateTensor(nullptr, &one, true)});
  frit_tensor halved = w;
  halved.dtype = FRIT_F16;
  refuses("state 'w' must be 4xf32 and is 4xf16", {halved});
  halved = w;
  halved.dims = nullptr;
  refuses("state 'w' has no dims", {halved});
  // Nothing is written if one tensor is wrong.
  refuses("state 'rate' must be f32",
          {count, stateTensor("rate", values, false)});
  float found = -1;
  frit_tensor read = stateTensor("count", &found, true);
  CHECK(!context.readState({&read, 1}) && found == 0);
  CHECK(frit_state_read(context.get(), nullptr, 1) == FRIT_INVALID_ARGUMENT);
  CHECK(frit_state_write(nullptr, &w, 1) == FRIT_INVALID_ARGUMENT);
  CHECK(!context.readState({}));
}

/// Checks that the damaged plan of a model, by default one with states, is
/// rejected with this message.
template <class Options = StateModelOptions>
static void refuses(const char *words, void (*damage)(PlanWriter &plan),
                    Model (*make)(const Options &) = makeStateModel) {
  Options options;
  options.damage = damage;
  Model model = make(options);
  Module module;
  CHECK(Module::open(*model.get(), module, &cpuOptions).status() ==
        FRIT_BAD_MODEL);
  CHECK(lastErrorHas(words));
}

static void testDamage() {
  refuses("its functions lack names of their own",
          [](PlanWriter &plan) { plan.functions[1].name.size = 0; });
  refuses("its functions lack names of their own", [](PlanWriter &plan) {
    plan.functions[1].name = plan.functions[0].name;
  });
  refuses("its functions lack names of their own",
          [](PlanWriter &plan) { plan.functions[1].name.offset = 1 << 30; });
  refuses("the parts of function 'look' are out of range",
          [](PlanWriter &plan) { plan.functions[1].variants.count = 2; });
  refuses("the parts of function 'step' are out of range",
          [](PlanWriter &plan) { plan.functions[0].symbols.count = ~0u; });
  refuses("the role of function 'step' is unknown",
          [](PlanWriter &plan) { plan.functions[0].role = 99; });
  refuses("the role of state 'count' is unknown",
          [](PlanWriter &plan) { plan.states[1].role = ~0u; });
  refuses("it has no variant", [](PlanWriter &plan) {
    plan.functions[0].variants.count = 0;
    plan.functions[1].variants = {0, 2};
  });
  refuses("it has no target", [](PlanWriter &plan) { plan.targets.clear(); });
  refuses("a target's number of programs is not the number of variants",
          [](PlanWriter &plan) { plan.targets[0].programs.count = 1; });
  refuses("its states lack names of their own",
          [](PlanWriter &plan) { plan.states[2].name = plan.states[0].name; });
  refuses("state 'count' reaches past the state's end",
          [](PlanWriter &plan) { plan.states[1].offset = 765; });
  refuses("state 'count' reaches past the state's end",
          [](PlanWriter &plan) { plan.states[1].offset = ~uint64_t(0); });
  refuses("the size of state 'w' does not match its shape",
          [](PlanWriter &plan) { plan.states[0].bytes = 8; });
  refuses("the type of state 'rate' is unknown",
          [](PlanWriter &plan) { plan.states[2].type = DType(99); });
  refuses("state 'w' starts as a weight that is not there",
          [](PlanWriter &plan) { plan.states[0].constant = 1; });
  refuses("state 'rate' starts as a weight of another size",
          [](PlanWriter &plan) { plan.states[2].constant = 0; });
  refuses("state 'w' starts as a weight of another size",
          [](PlanWriter &plan) { plan.states[0].type = DType::i32; });
  refuses("its state has an impossible size",
          [](PlanWriter &plan) { plan.stateBytes = ~uint64_t(0); });
  refuses("an argument reaches past its memory's end", [](PlanWriter &plan) {
    plan.stateBytes = 512;
    plan.states.pop_back();
    plan.states[1].offset = 0;
    plan.buffers[plan.steps[2].arguments.first].offset = 512;
  });
  refuses("a prepare step uses state", [](PlanWriter &plan) {
    plan.targets[0].prepare = plan.programs[1].steps;
  });
}

static void testDerivedDamage() {
  auto refusesDerived = [](const char *words, void (*damage)(PlanWriter &)) {
    refuses(words, damage, makeDerivedModel);
  };
  refusesDerived("a derived state is out of range",
                 [](PlanWriter &plan) { plan.derived[0].offset = 768; });
  refusesDerived("a derived state is out of range", [](PlanWriter &plan) {
    plan.derived[0].sourceBytes = ~uint64_t(0);
  });
  refusesDerived("a derived state is out of range", [](PlanWriter &plan) {
    plan.stateBytes = 1 << 20;
    plan.shards.push_back({512, 1});
  });
  refusesDerived("a target's kernels or steps are out of range",
                 [](PlanWriter &plan) { plan.targets[0].derive.count = 99; });
  refusesDerived(
      "a derive step is no launch and no copy", [](PlanWriter &plan) {
        plan.steps[plan.targets[0].derive.first].kind = StepKind::await;
      });
  refusesDerived("an argument names an input or output that is not there",
                 [](PlanWriter &plan) {
                   const Step &step = plan.steps[plan.targets[0].derive.first];
                   plan.buffers[step.arguments.first].space = Space::input;
                 });
  refusesDerived("a derive step uses a state that ranks divide",
                 [](PlanWriter &plan) {
                   const Step &step = plan.steps[plan.targets[0].derive.first];
                   plan.stateBytes = 1 << 20;
                   plan.shards.push_back({768, 1});
                   plan.buffers[step.arguments.first].offset = 768;
                 });
}

/// Tests a function that needs more state than there is memory.
static void testMemory() {
  StateModelOptions options;
  options.damage = [](PlanWriter &plan) { plan.stateBytes = INT64_MAX; };
  Model model = makeStateModel(options);
  Module module;
  Context context;
  CHECK(!Module::open(*model.get(), module, &cpuOptions));
  CHECK(Context::create(module, context).status() == FRIT_OUT_OF_MEMORY);
  CHECK(lastErrorHas("the model's state needs 8388608.0 TiB"));
}

int main() {
  testDescriptions();
  checkState(cpuOptions, {});
  StateModelOptions always;
  always.guarded = false;
  checkState(cpuOptions, always);
  testWrongCalls();
  testDamage();
  testDerivedDamage();
  checkDerived(cpuOptions, {});
  testMemory();
  return finish("state_test");
}
