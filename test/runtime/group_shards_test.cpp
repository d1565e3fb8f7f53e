//===- group_shards_test.cpp - Tensors that ranks divide ------------------===//
//
// Each rank has a shard: some rows of a tensor or state. As in group_test.cpp,
// ranks are processes, on the cpu target and on the fake driver.
//
//===----------------------------------------------------------------------===//

#include "Group.h"

#include <bit>

using namespace frit::test;
using frit::artifact::Collective;
using frit::artifact::kShardRow;

namespace {

/// Elements of a row, signed as dims are.
constexpr int64_t kRow = kShardRow;

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

} // namespace

int main() {
  for (bool isCuda : {false, true}) {
    testShards(isCuda, 2, 5);
    testShards(isCuda, 3, 6);
    testShards(isCuda, 4, 3);
    testShards(isCuda, 1, 2);
  }
  testShardedState();
  testShardsRefused();
  return finish("group_shards_test");
}
