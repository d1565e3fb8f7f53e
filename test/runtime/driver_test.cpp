//===- driver_test.cpp - Errors on a machine without a GPU ----------------===//

#include "Check.h"
#include "TestModel.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/SharedDivision.h"
#include "runtime/exec/Targets.h"

using namespace frit;
using namespace frit::test;

/// Returns the test model for a GPU and, with `alsoCpu`, for the host.
static Model makeGpuModel(bool alsoCpu) {
  PlanWriter plan;
  plan.input("x", DType::f32, {1});
  Buffer y = plan.output("y", DType::f32, {1});
  Buffer x = {Space::input, 0, 0, 4};
  plan.step(StepKind::copy, "identity", {x, y});
  plan.target("sm_90a");
  if (alsoCpu) {
    plan.step(StepKind::copy, "identity", {x, y});
    plan.target("x86-64");
  }
  return plan.finish("gpu model");
}

static void testArchs() {
  CHECK(parseCudaArch("sm_90a")->suffix == 'a');
  CHECK(parseCudaArch("sm_120")->major == 12);
  CHECK(parseCudaArch("compute_80")->minor == 0);
  CHECK(!parseCudaArch("sm_9") && !parseCudaArch("sm_") &&
        !parseCudaArch("x86-64") && !parseCudaArch("sm_99999"));
  CHECK(runsCubin(*parseCudaArch("sm_90a"), 9, 0));
  CHECK(!runsCubin(*parseCudaArch("sm_90a"), 10, 0));
  CHECK(runsCubin(*parseCudaArch("sm_80"), 8, 6));
  CHECK(!runsCubin(*parseCudaArch("sm_86"), 8, 0));
  CHECK(!runsCubin(*parseCudaArch("sm_80"), 9, 0));
  CHECK(runsPtx(*parseCudaArch("sm_80"), 9, 0));
  CHECK(runsPtx(*parseCudaArch("sm_90a"), 10, 0));
  CHECK(!runsPtx(*parseCudaArch("sm_90"), 8, 9));
}

static void testSharedDivision() {
  using cuda::SharedUse;
  const cuda::SmMemory sm = {100, 200 << 10, 1 << 10, 2048};
  auto percent = [&](std::vector<SharedUse> kernels) {
    return cuda::dividedPercent(kernels, sm);
  };
  constexpr uint64_t some = 19 << 10, most = 99 << 10;
  // Of two blocks on an SM; blocks without shared memory of their own need what
  // is reserved.
  const SharedUse two = {200, 128, some}, none = {1000, 256, 0};
  CHECK(percent({none}) == 4 && percent({two}) == 20);
  CHECK(percent({two, none}) == 20);
  // An SM has no more blocks than threads for them.
  CHECK(percent({{100000, 1024, some}}) == 20);
  CHECK(percent({{1, 4096, some}}) == 10);
  // L1 keeps half.
  CHECK(percent({{100, 512, most}, two}) == 50);
  CHECK(percent({{100, 512, most + 1}, two}) == 0);
  // An unknown GPU is left to its driver.
  CHECK(cuda::dividedPercent(std::vector{two}, {}) == 0);
}

static void testChoice() {
  PlanWriter plan;
  for (const char *arch : {"sm_80", "sm_90", "sm_90a", "sm_100", "x86-64"}) {
    plan.target(arch);
    if (arch[0] == 's')
      plan.module("code", strcmp(arch, "sm_80") ? "" : "text");
  }
  Model model = plan.finish("choice");
  PlanView view;
  CHECK(!PlanView::open(*model.get(), view).failed());
  bool usePtx = true;
  auto choose = [&](int major, int minor) -> std::string {
    const Target *target = chooseCudaTarget(view, major, minor, usePtx);
    return target ? std::string(view.text(target->arch)) : "none";
  };
  CHECK(choose(9, 0) == "sm_90a" && !usePtx);
  CHECK(choose(8, 9) == "sm_80" && !usePtx);
  CHECK(choose(10, 3) == "sm_100" && !usePtx);
  CHECK(choose(12, 0) == "sm_80" && usePtx);
  CHECK(choose(7, 5) == "none");
}

/// Reads a target of two modules, with one kernel each, after `change`; returns
/// the error.
template <class Change> static std::string readModules(const Change &change) {
  PlanWriter plan;
  Buffer y = plan.output("y", DType::f32, {1});
  plan.step(StepKind::launch, "n", {y}).kernel = plan.kernel("first");
  plan.step(StepKind::launch, "n", {y}).kernel = plan.kernel("second");
  plan.target("sm_90a");
  plan.module("code", "text");
  plan.module("more code", "more text");
  plan.kernels[1].module = 1;
  plan.kernels[1].scalars = plan.shape({7});
  change(plan);
  Model model = plan.finish("modules");
  PlanView view;
  Status status = PlanView::open(*model.get(), view);
  return status.failed() ? status.message() : "";
}

static void testModules() {
  CHECK(readModules([](PlanWriter &) {}).empty());
  auto refuses = [](const char *why, auto change) {
    std::string message = readModules(change);
    if (message.find(why) == message.npos)
      printf("expected '%s', got '%s'\n", why, message.c_str());
    CHECK(message.find(why) != message.npos);
  };
  refuses("the module of kernel 'second' is out of range",
          [](PlanWriter &plan) { plan.kernels[1].module = 2; });
  refuses("the module of kernel 'first' is out of range",
          [](PlanWriter &plan) { plan.kernels[0].module = kNone; });
  refuses("a target's modules are out of range",
          [](PlanWriter &plan) { plan.targets[0].modules.count = 3; });
  refuses("a part of a target's code is missing",
          [](PlanWriter &plan) { plan.modules[1].ptx = {}; });
  refuses("a part of a target's code is missing",
          [](PlanWriter &plan) { plan.modules[0].cubin = {}; });
  refuses("a target's code reaches past its end",
          [](PlanWriter &plan) { plan.modules[1].cubin.size = 1 << 20; });
  refuses("the scalars of kernel 'second' are out of range",
          [](PlanWriter &plan) { plan.kernels[1].scalars.count = 99; });
}

int main() {
  testArchs();
  testSharedDivision();
  testModules();
  testChoice();

  cuda::Gpu gpu;
  if (!gpu.open(0).failed()) {
    printf("there is a GPU: the rest does not apply\n");
    return finish("driver_test");
  }
  Model model = makeGpuModel(/*alsoCpu=*/true);
  frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
  options.device = "cuda";
  frit_module *module = nullptr;
  CHECK(frit_module_open(model.get(), &options, &module) == FRIT_NO_DEVICE);
  CHECK(lastErrorHas("NVIDIA driver"));

  // By default the CPU target runs, with a remark.
  std::string remark;
  options.device = nullptr;
  options.remark_user = &remark;
  options.remark = [](void *user, const char *message) {
    *static_cast<std::string *>(user) = message;
  };
  CHECK(frit_module_open(model.get(), &options, &module) == FRIT_OK);
  CHECK(remark.find("running on the cpu: ") == 0 &&
        remark.find("NVIDIA driver") != remark.npos);
  frit_module_close(module);

  // If that is impossible, the error has both reasons.
  model = makeGpuModel(/*alsoCpu=*/false);
  CHECK(frit_module_open(model.get(), nullptr, &module) == FRIT_NO_DEVICE);
  CHECK(lastErrorHas("NVIDIA driver") &&
        lastErrorHas("no code for this processor; it has code for: sm_90a"));
  return finish("driver_test");
}
