//===- group_test.cpp - Means over the ranks of a group -------------------===//
//
// On the cpu target, and on the fake driver of ../fuzz/Driver.cpp with the fake
// NCCL of FakeNccl.cpp. Ranks are processes.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "PlanWriter.h"
#include "frit/runtime.hpp"
#include "test/fuzz/Driver.h"

#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <elf.h>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

using namespace frit::test;
using frit::cuda::FakeEdge;

namespace {

/// More than a rank's slot of the shared memory holds.
constexpr int64_t kCount = 150'001;
constexpr uint64_t kBytes = kCount * 4;

std::string emptyElf() {
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  return std::string(reinterpret_cast<const char *>(&header), sizeof header);
}

/// y is the mean of x.
Model makeModel(bool isCuda) {
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f32, {kCount});
  Buffer y = plan.output("y", DType::f32, {kCount});
  plan.step(StepKind::copy, "x", {x, PlanWriter::arena(0, kBytes, true)});
  plan.step(StepKind::allReduce, "mean", {PlanWriter::arena(0, kBytes, true)});
  plan.step(StepKind::await, "mean", {PlanWriter::arena(0, kBytes, true)});
  plan.step(StepKind::copy, "y", {PlanWriter::arena(0, kBytes, false), y});
  plan.target(isCuda ? "sm_90" : "x86-64");
  if (isCuda)
    plan.module(emptyElf());
  plan.program().arenaBytes = kBytes;
  Model model;
  model.plan = plan.finish("mean");
  return model;
}

struct Opened {
  explicit Opened(bool isCuda) : model(makeModel(isCuda)) {
    frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
    options.device = isCuda ? "cuda" : "cpu";
    // The graphs of the fake driver run nothing.
    options.flags = FRIT_NO_CUDA_GRAPH;
    CHECK(!frit::Module::open(*model.get(), module, &options));
    CHECK(!frit::Context::create(module, context));
  }

  bool join(uint32_t rank, uint32_t size, const frit_group_id &id) {
    frit_group group = {rank, size, id};
    return !frit_context_join(context.get(), &group);
  }

  /// Returns element i of y for an x of `first` + i.
  float call(float first, int64_t i) {
    std::vector<float> x(kCount), y(kCount);
    for (int64_t k = 0; k < kCount; ++k)
      x[size_t(k)] = first + float(k % 1024);
    CHECK(!context.run({module.bindInput(0, x.data())},
                       {module.bindOutput(0, y.data())}));
    return y[size_t(i)];
  }

  Model model;
  frit::Module module;
  frit::Context context;
};

/// Runs `work` in processes of ranks 1 to `size` - 1 and then in this one.
/// Returns whether the others ended well.
bool runRanks(uint32_t size, const std::function<void(uint32_t)> &work) {
  std::vector<pid_t> others;
  for (uint32_t rank = 1; rank < size; ++rank) {
    pid_t made = fork();
    if (!made) {
      work(rank);
      _exit(failures ? 1 : 0);
    }
    others.push_back(made);
  }
  work(0);
  bool good = true;
  for (pid_t other : others) {
    int status = 0;
    waitpid(other, &status, 0);
    good &= status == 0;
  }
  return good;
}

frit_group_id newId(bool isCuda) {
  frit_group_id id;
  CHECK(!frit_group_unique_id(Opened(isCuda).module.get(), &id));
  return id;
}

void testMean(bool isCuda) {
  frit_group_id id = newId(isCuda);
  CHECK(runRanks(3, [&](uint32_t rank) {
    Opened opened(isCuda);
    // Alone until it joins.
    CHECK(opened.call(5, 7) == 12);
    CHECK(opened.join(rank, 3, id));
    for (int call = 0; call < 3; ++call) {
      float first = float(rank * 30 + uint32_t(call));
      CHECK(opened.call(first, 0) == float(30 + call));
      CHECK(opened.call(first, kCount - 1) ==
            float(30 + call + (kCount - 1) % 1024));
    }
  }));
}

void testRankEnds() {
  frit_group_id id = newId(false);
  // Otherwise the other process has its number until it is waited for.
  signal(SIGCHLD, SIG_IGN);
  CHECK(runRanks(2, [&](uint32_t rank) {
    Opened opened(false);
    CHECK(opened.join(rank, 2, id));
    if (rank)
      return;
    std::vector<float> x(kCount), y(kCount);
    CHECK(opened.context.run({opened.module.bindInput(0, x.data())},
                             {opened.module.bindOutput(0, y.data())}));
    CHECK(lastErrorHas("node 'mean': cannot average over the ranks: rank 1 has "
                       "ended"));
  }));
  signal(SIGCHLD, SIG_DFL);
}

void testRefused() {
  Opened opened(false);
  frit_group_id id = newId(false), other = {};
  CHECK(!opened.join(2, 2, id) && lastErrorHas("rank 2 is not one of 2"));
  CHECK(!opened.join(0, 100, id) && lastErrorHas("at most 64 ranks"));
  CHECK(!opened.join(0, 1, other) && lastErrorHas("not made on the cpu"));
  CHECK(opened.join(0, 1, id) && opened.call(1, 3) == 4);

  auto refuses = [](const char *why, const std::function<void(Step &)> &change,
                    bool guarded = false) {
    PlanWriter plan;
    Buffer go = plan.input("go", DType::boolean, {});
    Buffer y = plan.output("y", DType::f32, {4});
    if (guarded)
      plan.guard(go, true, 1, "if go");
    change(plan.step(StepKind::allReduce, "mean",
                     {PlanWriter::arena(0, guarded ? 16 : 15, true)}));
    plan.step(StepKind::copy, "y", {PlanWriter::arena(0, 16, false), y});
    plan.target("x86-64");
    plan.program().arenaBytes = 16;
    Model model;
    model.plan = plan.finish("wrong");
    frit::Module module;
    return frit::Module::open(*model.get(), module) && lastErrorHas(why);
  };
  CHECK(refuses("does not reduce a part of a call's arena", [](Step &) {}));
  CHECK(refuses("does not reduce a part of a call's arena",
                [](Step &step) { step.arguments.count = 0; }));
  CHECK(refuses("a guard's steps reduce over ranks", [](Step &) {}, true));
}

/// Kernels run beside an all-reduce until it is awaited, each for itself; the
/// next one follows it.
void testGraph() {
  PlanWriter plan;
  plan.output("y", DType::f32, {4});
  uint32_t kernel = plan.kernel("waiting");
  plan.kernels.back().waits = 1;
  auto launch = [&] {
    plan.step(
            StepKind::launch, "n",
            {PlanWriter::arena(0, 16, false), PlanWriter::arena(16, 16, true)})
        .kernel = kernel;
  };
  launch();                                                              // 1
  plan.step(StepKind::allReduce, "a", {PlanWriter::arena(32, 4, true)}); // 2
  launch();                                                              // 3
  plan.step(StepKind::allReduce, "b", {PlanWriter::arena(64, 4, true)}); // 4
  launch();                                                              // 5
  plan.step(StepKind::await, "a", {PlanWriter::arena(32, 4, true)});
  launch(); // 6
  plan.step(StepKind::await, "b", {PlanWriter::arena(64, 4, true)});
  launch(); // 7
  plan.target("sm_90");
  plan.module(emptyElf());
  plan.program().arenaBytes = 128;
  Model model;
  model.plan = plan.finish("graph");
  frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
  options.device = "cuda";
  frit::Module module;
  frit::Context context;
  CHECK(!frit::Module::open(*model.get(), module, &options));
  CHECK(!frit::Context::create(module, context));
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  auto ask = reinterpret_cast<decltype(&frit::cuda::fritFakeEdges)>(
      dlsym(driver, "fritFakeEdges"));
  auto captures = reinterpret_cast<decltype(&frit::cuda::fritFakeCaptures)>(
      dlsym(driver, "fritFakeCaptures"));
  auto edges = [&] {
    const FakeEdge *all = nullptr;
    size_t count = ask(&all);
    return std::vector<FakeEdge>(all, all + count);
  };
  using Edges = std::vector<FakeEdge>;
  // One rank: five kernels, one after another.
  CHECK((edges() ==
         Edges{{1, 2, false}, {2, 3, false}, {3, 4, false}, {4, 5, false}}));
  frit_group group = {0, 1, newId(true)};
  CHECK(!frit_context_join(context.get(), &group));
  // NCCL takes no more.
  CHECK(captures() == 1);
  CHECK((edges() == Edges{{1, 2, true},
                          {1, 3, false},
                          {2, 4, true},
                          {3, 4, true},
                          {3, 5, false},
                          {2, 6, true},
                          {5, 6, false},
                          {4, 7, true},
                          {6, 7, false}}));
}

void testNoNccl() {
  setenv("FRIT_NCCL", "", 1);
  Opened opened(true);
  frit_group_id id = {};
  CHECK(frit_group_unique_id(opened.module.get(), &id) == FRIT_UNSUPPORTED &&
        lastErrorHas("NCCL was not found"));
  CHECK(!opened.join(0, 2, id) && lastErrorHas("nvidia-nccl-cu13"));
  unsetenv("FRIT_NCCL");
}

} // namespace

int main() {
  testMean(false);
  testMean(true);
  testRankEnds();
  testRefused();
  testGraph();
  testNoNccl();
  return finish("group_test");
}
