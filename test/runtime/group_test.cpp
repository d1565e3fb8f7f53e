//===- group_test.cpp - Collectives of the ranks of a group ---------------===//
//
// On the cpu target, and on the fake driver of ../fuzz/Driver.cpp with the fake
// NCCL of FakeNccl.cpp. Ranks are processes.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Opened.h"
#include "PlanWriter.h"
#include "frit/runtime.hpp"
#include "test/fuzz/Driver.h"

#include <array>
#include <bit>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <elf.h>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

using namespace frit::test;
using frit::artifact::Collective;
using frit::artifact::kShardRow;
using frit::cuda::FakeEdge;

namespace {

/// Exceeds a rank's slot of the shared memory.
constexpr int64_t kCount = 150'001;
constexpr uint64_t kBytes = kCount * 4;

std::string emptyElf() {
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  return std::string(reinterpret_cast<const char *>(&header), sizeof header);
}

/// Elements of a row, signed as dims are.
constexpr int64_t kRow = kShardRow;

/// Returns an argument of collectives: part of the arena from byte `offset` on.
Buffer tensorAt(uint64_t offset, uint64_t bytes, DType type = DType::f32) {
  Buffer buffer = PlanWriter::arena(offset, bytes, true);
  buffer.type = uint32_t(type);
  return buffer;
}

Step &addCollective(PlanWriter &plan, Collective collective,
                    std::string_view node, const Buffer &buffer) {
  Step &step = plan.step(StepKind::collective, node, {buffer});
  step.problem = uint32_t(collective);
  return step;
}

/// Ends a plan with one target, whose calls need `arenaBytes`.
Model finishPlan(PlanWriter &plan, bool isCuda, uint64_t arenaBytes) {
  plan.target(isCuda ? "sm_90" : "x86-64");
  if (isCuda)
    plan.module(emptyElf());
  plan.program().arenaBytes = arenaBytes;
  return plan.finish("group");
}

/// Returns a model whose y is the mean of x.
Model makeModel(bool isCuda) {
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f32, {kCount});
  Buffer y = plan.output("y", DType::f32, {kCount});
  plan.step(StepKind::copy, "x", {x, PlanWriter::arena(0, kBytes, true)});
  addCollective(plan, Collective::mean, "", tensorAt(0, kBytes));
  plan.step(StepKind::await, "", {PlanWriter::arena(0, kBytes, true)});
  plan.step(StepKind::copy, "y", {PlanWriter::arena(0, kBytes, false), y});
  return finishPlan(plan, isCuda, kBytes);
}

struct Member : Opened {
  explicit Member(bool isCuda) : Member(makeModel(isCuda), isCuda) {}
  // The graphs of the fake driver run nothing.
  Member(Model given, bool isCuda)
      : Opened(std::move(given),
               optionsFor(isCuda ? "cuda" : "cpu", FRIT_NO_CUDA_GRAPH)) {}

  bool join(uint32_t rank, uint32_t size, const frit_group_id &id) {
    frit_group group = {rank, size, id};
    return !frit_context_join(context.get(), &group);
  }

  /// Returns element i of y for x[i] = `first` + i.
  float call(float first, int64_t i) {
    std::vector<float> x(kCount), y(kCount);
    for (int64_t k = 0; k < kCount; ++k)
      x[size_t(k)] = first + float(k % 1024);
    CHECK(!context.run({module.bindInput(0, x.data())},
                       {module.bindOutput(0, y.data())}));
    return y[size_t(i)];
  }
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
  CHECK(!frit_group_unique_id(Member(isCuda).module.get(), &id));
  return id;
}

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

/// Reduces and gathers shards of a tensor of `rows` rows.
void testShards(bool isCuda, uint32_t ranks, int64_t rows) {
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f32, {rows * kRow});
  Buffer mean = plan.output("mean", DType::f32, {rows * kRow});
  Buffer all = plan.output("all", DType::f32, {rows * kRow});
  uint64_t bytes = uint64_t(rows) * kRow * 4;
  Buffer place = tensorAt(0, bytes);
  for (auto [collective, to] : {std::pair(Collective::reduceScatter, mean),
                                std::pair(Collective::allGather, all)}) {
    plan.step(StepKind::copy, "x", {x, place});
    addCollective(plan, collective, "shards", place);
    plan.step(StepKind::await, "shards", {place});
    plan.step(StepKind::copy, "result",
              {PlanWriter::arena(0, bytes, false), to});
  }
  Model model = finishPlan(plan, isCuda, bytes);
  frit_group_id id = newId(isCuda);
  CHECK(runRanks(ranks, [&](uint32_t rank) {
    Member member(model, isCuda);
    CHECK(member.join(rank, ranks, id));
    std::vector<float> given(size_t(rows * kRow)), means(given),
        gathered(given);
    for (size_t i = 0; i < given.size(); ++i)
      given[i] = float(rank * 1000 + i / kRow * 10 + i % 2);
    CHECK(!member.context.run({member.module.bindInput(0, given.data())},
                              {member.module.bindOutput(0, means.data()),
                               member.module.bindOutput(1, gathered.data())}));
    int64_t each = rows / ranks;
    for (size_t i = 0; i < given.size(); ++i) {
      int64_t row = int64_t(i) / kRow;
      uint32_t owner =
          each ? std::min(uint32_t(row / each), ranks - 1) : ranks - 1;
      float rest = float(row * 10 + int64_t(i % 2));
      float expected = owner == rank ? float(ranks - 1) * 500 + rest : 0;
      CHECK(means[i] == expected);
      CHECK(gathered[i] == float(owner * 1000) + rest);
    }
  }));
}

/// Checks that a rank has memory only for its shard of a state, that a kernel
/// gets its shard of all arguments, and that reading the state returns all of
/// it.
void testShardedState() {
  PlanWriter plan;
  constexpr int64_t count = 3 * kRow;
  Buffer y = plan.output("y", DType::f32, {count});
  Buffer number = plan.state("number", DType::f32, {});
  Buffer m = plan.state("m", DType::f32, {count});
  plan.shards.push_back({m.offset, 3});
  uint32_t kernel = plan.kernel("frit_probe"); // fills its first argument
  plan.kernels.back().scalars = plan.shape({count});
  Step &launch =
      plan.step(StepKind::launch, "fill", {PlanWriter::written(m), number, y});
  launch.kernel = kernel;
  launch.block[0] = 8;
  launch.shardRows = 3;
  addCollective(plan, Collective::mean, "mean", tensorAt(0, 4));
  Model model = finishPlan(plan, /*isCuda=*/true, 4);
  frit_group_id id = newId(true);
  CHECK(runRanks(2, [&](uint32_t rank) {
    Member member(model, true);
    CHECK(member.module.stateBytes() == 256 + count * 4 &&
          member.module.shardedStateBytes() == count * 4);
    std::vector<float> values(count);
    int64_t dims[] = {count};
    frit_tensor tensor = {"m", values.data(), FRIT_F32, 1, dims, FRIT_HOST};
    // Without a group it has the whole state.
    values[0] = 1, values[kRow] = 2, values[2 * kRow + 9] = 3;
    CHECK(!frit_state_write(member.context.get(), &tensor, 1));
    CHECK(member.join(rank, 2, id));
    if (rank)
      tensor.data = nullptr; // only takes part
    values.assign(count, 0);
    CHECK(!frit_state_read(member.context.get(), &tensor, 1));
    CHECK(rank ||
          (values[0] == 1 && values[kRow] == 2 && values[2 * kRow + 9] == 3));
    CHECK(!member.context.run({}, {}));
    tensor.data = values.data();
    CHECK(!frit_state_read(member.context.get(), &tensor, 1));
    auto bits = [&](int64_t i) {
      return std::bit_cast<uint32_t>(values[size_t(i)]);
    };
    // Each rank's launch started at its shard.
    CHECK(bits(0) == 7 && bits(1) == 8 && bits(kRow) == 7 &&
          bits(kRow + 2) == 11 && values[2 * kRow + 9] == 3 &&
          values[2 * kRow] == 0);
    // A peer's calls use the same ranks, and affect no others.
    frit::Context peer;
    CHECK(!member.context.createPeer(member.module, peer));
    CHECK(peer.run({}, {}) &&
          lastErrorHas("a peer divides the state among 2 ranks"));
    CHECK(!member.join(0, 1, id) &&
          lastErrorHas(" of the 2 that divide its state, so it cannot be rank "
                       "0 of 1"));
  }));
}

void testShardsRefused() {
  auto refuses = [](const char *why,
                    const std::function<void(PlanWriter &, Step &)> &change) {
    PlanWriter plan;
    Buffer m = plan.state("m", DType::f32, {2 * kRow});
    plan.shards.push_back({m.offset, 2});
    uint32_t kernel = plan.kernel("fill");
    Step &launch =
        plan.step(StepKind::launch, "fill", {PlanWriter::written(m)});
    launch.kernel = kernel;
    launch.shardRows = 2;
    plan.kernels.back().scalars = plan.shape({2 * kRow});
    change(plan, launch);
    Model model = finishPlan(plan, /*isCuda=*/true, 0);
    frit::Module module;
    frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
    options.device = "none";
    return frit::Module::open(*model.get(), module, &options) &&
           lastErrorHas(why);
  };
  CHECK(!refuses("", [](PlanWriter &, Step &) {}));
  CHECK(refuses("uses what other ranks have of a state",
                [](PlanWriter &, Step &step) { step.shardRows = 0; }));
  CHECK(refuses("an argument has another number of rows",
                [](PlanWriter &plan, Step &step) {
                  step.shardRows = 3;
                  plan.kernels.back().scalars = plan.shape({3 * kRow});
                }));
  CHECK(refuses("cannot be launched for a shard",
                [](PlanWriter &, Step &step) { step.kind = StepKind::await; }));
  CHECK(refuses("its kernel has no number of elements",
                [](PlanWriter &plan, Step &) {
                  plan.kernels.back().scalars = plan.shape({kRow});
                }));
  CHECK(refuses("a state that ranks divide is out of range",
                [](PlanWriter &plan, Step &) { plan.shards[0].offset += 4; }));
  CHECK(refuses("a state that ranks divide is out of range",
                [](PlanWriter &plan, Step &) { plan.shards[0].rows += 1; }));
  CHECK(refuses("a state that ranks divide is out of range",
                [](PlanWriter &plan, Step &) { plan.shards[0].rows = ~0ull; }));
  CHECK(refuses("state 'm' is divided by ranks in part",
                [](PlanWriter &plan, Step &) { plan.shards[0].rows -= 1; }));
}

/// Checks that kernels run concurrently with an all-reduce until it is awaited,
/// and that the next all-reduce follows it.
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
  launch();                                                    // 1
  addCollective(plan, Collective::mean, "a", tensorAt(32, 4)); // 2
  launch();                                                    // 3
  addCollective(plan, Collective::mean, "b", tensorAt(64, 4)); // 4
  launch();                                                    // 5
  plan.step(StepKind::await, "a", {PlanWriter::arena(32, 4, true)});
  launch(); // 6
  plan.step(StepKind::await, "b", {PlanWriter::arena(64, 4, true)});
  launch(); // 7
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
  for (bool isCuda : {false, true}) {
    testHalf(isCuda);
    testShards(isCuda, 2, 5);
    testShards(isCuda, 3, 6);
    testShards(isCuda, 4, 3);
    testShards(isCuda, 1, 2);
  }
  testShardedState();
  testShardsRefused();
  testRankEnds();
  testRefused();
  testGraph();
  testNoNccl();
  return finish("group_test");
}
