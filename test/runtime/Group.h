//===- Group.h - Shared code of the tests of groups -----------------------===//
//
// Ranks are processes; each opens a model and joins the group.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_RUNTIME_GROUP_H
#define FRIT_TEST_RUNTIME_GROUP_H

#include "Check.h"
#include "Opened.h"
#include "PlanWriter.h"
#include "frit/runtime.hpp"

#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace frit::test {

/// Exceeds a rank's slot of the shared memory.
inline constexpr int64_t kCount = 150'001;
inline constexpr uint64_t kBytes = kCount * 4;

/// Returns an argument of collectives: part of the arena from byte `offset` on.
inline Buffer tensorAt(uint64_t offset, uint64_t bytes,
                       DType type = DType::f32) {
  Buffer buffer = PlanWriter::arena(offset, bytes, true);
  buffer.type = uint32_t(type);
  return buffer;
}

inline Step &addCollective(PlanWriter &plan,
                           frit::artifact::Collective collective,
                           std::string_view node, const Buffer &buffer) {
  Step &step = plan.step(StepKind::collective, node, {buffer});
  step.problem = uint32_t(collective);
  return step;
}

/// Ends a plan with one target, whose calls need `arenaBytes`.
inline Model finishPlan(PlanWriter &plan, bool isCuda, uint64_t arenaBytes) {
  plan.target(isCuda ? "sm_90" : "x86-64");
  if (isCuda)
    plan.module(emptyElf());
  plan.program().arenaBytes = arenaBytes;
  return plan.finish("group");
}

/// Returns a model whose y is the mean of x.
inline Model makeModel(bool isCuda) {
  PlanWriter plan;
  Buffer x = plan.input("x", DType::f32, {kCount});
  Buffer y = plan.output("y", DType::f32, {kCount});
  plan.step(StepKind::copy, "x", {x, PlanWriter::arena(0, kBytes, true)});
  addCollective(plan, frit::artifact::Collective::mean, "",
                tensorAt(0, kBytes));
  plan.step(StepKind::await, "", {PlanWriter::arena(0, kBytes, true)});
  plan.step(StepKind::copy, "y", {PlanWriter::arena(0, kBytes, false), y});
  return finishPlan(plan, isCuda, kBytes);
}

/// A model that is open in a process of a group.
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
inline bool runRanks(uint32_t size, const std::function<void(uint32_t)> &work) {
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

inline frit_group_id newId(bool isCuda) {
  frit_group_id id;
  CHECK(!frit_group_unique_id(Member(isCuda).module.get(), &id));
  return id;
}

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_GROUP_H
