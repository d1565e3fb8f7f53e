//===- group_test.cpp - Collectives of the ranks of a group ---------------===//
//
// On the cpu target, and on the fake driver of ../fuzz/Driver.cpp with the fake
// NCCL of FakeNccl.cpp. Ranks are processes.
//
//===----------------------------------------------------------------------===//

#include "Group.h"
#include "test/fuzz/Driver.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>

using namespace frit::test;
using frit::artifact::Collective;
using frit::cuda::FakeEdge;

namespace {

void testMean(bool isCuda) {
  frit_group_id id = newId(isCuda);
  CHECK(runRanks(3, [&](uint32_t rank) {
    Member member(isCuda);
    // It has no group until it joins one.
    CHECK(member.call(5, 7) == 12);
    CHECK(member.join(rank, 3, id));
    for (int call = 0; call < 3; ++call) {
      float first = float(rank * 30 + uint32_t(call));
      CHECK(member.call(first, 0) == float(30 + call));
      CHECK(member.call(first, kCount - 1) ==
            float(30 + call + (kCount - 1) % 1024));
    }
  }));
}

void testRankEnds() {
  frit_group_id id = newId(false);
  // Otherwise the ended process would keep its id until it is waited for.
  signal(SIGCHLD, SIG_IGN);
  CHECK(runRanks(2, [&](uint32_t rank) {
    Member member(false);
    CHECK(member.join(rank, 2, id));
    if (rank)
      return;
    std::vector<float> x(kCount), y(kCount);
    CHECK(member.context.run({member.module.bindInput(0, x.data())},
                             {member.module.bindOutput(0, y.data())}));
    CHECK(lastErrorHas("the all-reduce of 585.9 KiB: cannot average over the "
                       "ranks: rank 1 has ended"));
  }));
  signal(SIGCHLD, SIG_DFL);
}

void testRefused() {
  Member member(false);
  frit_group_id id = newId(false), other = {};
  CHECK(!member.join(2, 2, id) && lastErrorHas("rank 2 is not one of 2"));
  CHECK(!member.join(0, 100, id) && lastErrorHas("at most 64 ranks"));
  CHECK(!member.join(0, 1, other) && lastErrorHas("not made on the cpu"));
  CHECK(member.join(0, 1, id) && member.call(1, 3) == 4);

  using Change = std::function<void(PlanWriter &, Step &)>;
  auto refuses = [](const char *why, const Change &change,
                    bool guarded = false) {
    PlanWriter plan;
    Buffer go = plan.input("go", DType::boolean, {});
    Buffer y = plan.output("y", DType::f32, {4});
    if (guarded)
      plan.guard(go, true, 1, "if go");
    change(plan,
           addCollective(plan, Collective::mean, "mean", tensorAt(0, 16)));
    plan.step(StepKind::copy, "y", {PlanWriter::arena(0, 16, false), y});
    Model model = finishPlan(plan, /*isCuda=*/false, 16);
    frit::Module module;
    return frit::Module::open(*model.get(), module) && lastErrorHas(why);
  };
  CHECK(!refuses("", [](PlanWriter &, Step &) {}));
  CHECK(refuses("no known collective",
                [](PlanWriter &, Step &step) { step.problem = 4; }));
  CHECK(refuses("does not replace its argument",
                [](PlanWriter &, Step &step) { step.arguments.count = 0; }));
  CHECK(refuses("no whole number of rows", [](PlanWriter &plan, Step &) {
    plan.buffers.back().bytes = 15;
  }));
  CHECK(refuses("no whole number of rows", [](PlanWriter &, Step &step) {
    step.problem = uint32_t(Collective::reduceScatter);
  }));
  CHECK(refuses("elements are of the wrong type", [](PlanWriter &plan, Step &) {
    plan.buffers.back().type = uint32_t(DType::f16);
  }));
  CHECK(refuses("elements are of the wrong type",
                [](PlanWriter &plan, Step &step) {
                  step.problem = uint32_t(Collective::allGather);
                  plan.buffers.back().type = uint32_t(DType::bf16);
                }));
  CHECK(refuses("outside of a call's arena", [](PlanWriter &plan, Step &) {
    plan.buffers.back().space = Space::output;
  }));
  CHECK(refuses(
      "a guard's steps reduce over ranks", [](PlanWriter &, Step &) {}, true));
}

/// Checks that ranks average bf16 values in f32 and round once.
void testHalf(bool isCuda) {
  PlanWriter plan;
  Buffer x = plan.input("x", DType::bf16, {4});
  Buffer y = plan.output("y", DType::bf16, {4});
  plan.step(StepKind::copy, "x", {x, PlanWriter::arena(0, 8, true)});
  addCollective(plan, Collective::mean, "mean", tensorAt(0, 8, DType::bf16));
  plan.step(StepKind::copy, "y", {PlanWriter::arena(0, 8, false), y});
  Model model = finishPlan(plan, isCuda, 8);
  frit_group_id id = newId(isCuda);
  CHECK(runRanks(2, [&](uint32_t rank) {
    Member member(model, isCuda);
    CHECK(member.join(rank, 2, id));
    // 1 and 2; 1 and 1 + 2⁻⁷, whose mean is a tie; -3 and 3; infinity and 1.
    std::array<uint16_t, 4> values = {0x3f80, 0x3f80, 0xc040, 0x7f80};
    if (rank)
      values = {0x4000, 0x3f81, 0x4040, 0x3f80};
    std::array<uint16_t, 4> means = {};
    CHECK(!member.context.run({member.module.bindInput(0, values.data())},
                              {member.module.bindOutput(0, means.data())}));
    CHECK((means == std::array<uint16_t, 4>{0x3fc0, 0x3f80, 0, 0x7f80}));
  }));
}

/// Checks that kernels run concurrently with an all-reduce that they do not
/// follow, and that an await adds no edges where there is no group.
void testGraph() {
  PlanWriter plan;
  plan.output("y", DType::f32, {4});
  uint32_t kernel = plan.kernel("waiting");
  plan.kernels.back().waits = 1;
  auto launch = [&]() -> Step & {
    Step &step = plan.step(
        StepKind::launch, "n",
        {PlanWriter::arena(0, 16, false), PlanWriter::arena(16, 16, true)});
    step.kernel = kernel;
    return step;
  };
  auto reduce = [&](const char *node, uint64_t offset) -> Step & {
    return addCollective(plan, Collective::mean, node, tensorAt(offset, 4));
  };
  auto await = [&](const char *node, uint64_t offset) -> Step & {
    return plan.step(StepKind::await, node,
                     {PlanWriter::arena(offset, 4, true)});
  };
  launch();                             // node 1
  reduce("a", 32);                      // node 2
  plan.follow(launch(), {0});           // node 3
  plan.follow(reduce("b", 64), {1, 2}); // node 4
  plan.follow(launch(), {2});           // node 5
  plan.follow(await("a", 32), {1, 4});
  launch(); // node 6
  plan.follow(await("b", 64), {3, 6});
  launch(); // node 7
  auto [model, module, context] =
      Opened(finishPlan(plan, /*isCuda=*/true, 128), optionsFor("cuda"));
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
  // With NCCL there is a single capture.
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
  Member member(true);
  frit_group_id id = {};
  CHECK(frit_group_unique_id(member.module.get(), &id) == FRIT_UNSUPPORTED &&
        lastErrorHas("NCCL was not found"));
  CHECK(!member.join(0, 2, id) && lastErrorHas("nvidia-nccl-cu13"));
  unsetenv("FRIT_NCCL");
}

} // namespace

int main() {
  testMean(false);
  testMean(true);
  testHalf(false);
  testHalf(true);
  testRankEnds();
  testRefused();
  testGraph();
  testNoNccl();
  return finish("group_test");
}
