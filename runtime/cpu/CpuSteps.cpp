//===- CpuSteps.cpp - A list of steps bound to host memory ----------------===//

#include "runtime/cpu/CpuSteps.h"

#include "runtime/exec/Types.h"

#include <cstring>

using namespace frit;
using namespace frit::cpu;
using artifact::Collective;
using artifact::Space;
using artifact::StepKind;

ScratchSize frit::cpu::scratchOf(const PlanView &plan,
                                 std::span<const artifact::Step> steps, Isa isa,
                                 unsigned threads) {
  ScratchSize size;
  for (const artifact::Step &step : steps) {
    std::optional<ScratchSize> needed;
    if (step.kind == StepKind::gemm)
      needed = scratchOf(plan.gemm(step), isa, threads);
    else if (step.kind == StepKind::conv)
      needed = scratchOf(plan.conv(step), isa, threads);
    if (needed)
      size.include(*needed);
  }
  return size;
}

CpuSteps::CpuSteps(const Model &model, std::span<const artifact::Step> steps,
                   const Spaces &spaces)
    : model(model), steps(steps), declined(steps.size()) {
  for (const artifact::Step &step : steps) {
    firstArgument.push_back(arguments.size());
    for (const artifact::Buffer &buffer : model.plan.arguments(step)) {
      void *base = nullptr;
      switch (buffer.space) {
      case Space::input:
      case Space::output:
        patches.push_back({arguments.size(), buffer.offset, buffer.index,
                           buffer.space == Space::output});
        break;
      case Space::constant:
        base = spaces.constants[buffer.index];
        break;
      case Space::arena:
        base = spaces.arena;
        break;
      case Space::prepared:
        base = spaces.prepared;
        break;
      case Space::state:
        base = spaces.state;
        break;
      }
      arguments.push_back(base ? static_cast<uint8_t *>(base) + buffer.offset
                               : nullptr);
    }
  }
}

void CpuSteps::bind(std::span<void *const> tensors, bool output) {
  for (const Patch &patch : patches)
    if (patch.output == output)
      arguments[patch.argument] =
          static_cast<uint8_t *>(tensors[patch.index]) + patch.offset;
}

/// Returns the work items [first, last) of a launch that contain this rank's
/// shard. Elements that they compute outside of it are not used.
std::pair<int64_t, int64_t>
CpuSteps::itemsOf(const artifact::Step &step) const {
  uint64_t items = step.grid[0], rows = step.shardRows;
  if (!rows || !group)
    return {0, items};
  artifact::Shard shard = group->shardOf(rows);
  if (!shard.rows())
    return {0, 0};
  return {items * shard.begin / rows, (items * shard.end + rows - 1) / rows};
}

Status CpuSteps::launch(size_t index, ThreadPool &pool) {
  const artifact::Step &step = steps[index];
  if (step.kernel == artifact::kNone)
    return noKernel(model.plan, step);
  const artifact::Kernel &entry = model.plan.kernels()[step.kernel];
  frit_host_kernel kernel = model.image->kernels[entry.host];
  void *const *pointers = arguments.data() + firstArgument[index];
  auto [first, last] = itemsOf(step);
  int64_t items = last - first;
  if (uint64_t bytes = entry.workspaceBytes) {
    const artifact::Buffer &workspace = model.plan.arguments(step).back();
    auto *scratch =
        static_cast<uint8_t *>(pointers[model.plan.arguments(step).size() - 1]);
    pool.parallelSlots(items, workspace.bytes / bytes,
                       [&](int64_t begin, int64_t end, int64_t slot) {
                         kernel(pointers, scratch + slot * bytes, first + begin,
                                first + end);
                       });
  } else if (items == 1) {
    kernel(pointers, nullptr, first, last);
  } else {
    pool.parallelFor(items, [&](int64_t begin, int64_t end) {
      kernel(pointers, nullptr, first + begin, first + end);
    });
  }
  return Status();
}

/// Performs a collective step with the other ranks.
Status CpuSteps::runCollective(const artifact::Step &step, void *data) {
  if (!group)
    return Status();
  const artifact::Buffer &buffer = model.plan.arguments(step)[0];
  auto type = artifact::DType(buffer.type);
  uint64_t width = elementBytes(type), count = buffer.bytes / width;
  artifact::Shard shard = group->shardOf(count / artifact::kShardRow);
  HostGroup::Part own = {shard.begin * artifact::kShardRow,
                         shard.end * artifact::kShardRow};
  switch (Collective(step.problem)) {
  case Collective::mean:
  case Collective::sum:
    return group->reduce(data, count, type,
                         Collective(step.problem) == Collective::mean,
                         {0, count});
  case Collective::allGather:
    return group->gather(static_cast<float *>(data), count, own);
  case Collective::reduceScatter:
    break;
  }
  FRIT_TRY(group->reduce(data, count, type, /*isMean=*/true, own));
  auto *bytes = static_cast<uint8_t *>(data);
  memset(bytes, 0, own.begin * width);
  memset(bytes + own.end * width, 0, (count - own.end) * width);
  return Status();
}

Status CpuSteps::run(size_t index, ThreadPool &pool) {
  const artifact::Step &step = steps[index];
  void *const *pointers = arguments.data() + firstArgument[index];
  switch (step.kind) {
  case StepKind::launch:
    return launch(index, pool);
  case StepKind::gemm:
    if (!declined[index] && gemm(model.plan.gemm(step), pointers, pool))
      return Status();
    break;
  case StepKind::conv:
    if (!declined[index] && conv(model.plan.conv(step), pointers, pool))
      return Status();
    break;
  case StepKind::attention:
    break;
  case StepKind::guard:
  case StepKind::await:
    return Status();
  case StepKind::collective:
    return stepFailed(model.plan, step, runCollective(step, pointers[0]));
  case StepKind::copy:
    if (uint64_t bytes = model.plan.arguments(step)[0].bytes)
      memmove(pointers[1], pointers[0], bytes);
    return Status();
  }
  declined[index] = true;
  return launch(index, pool);
}

size_t CpuSteps::next(size_t index) const {
  const artifact::Step &step = steps[index];
  if (step.kind != StepKind::guard)
    return index + 1;
  const artifact::Guard &guard = model.plan.guard(step);
  const void *condition = arguments[firstArgument[index]];
  bool holds = *static_cast<const uint8_t *>(condition) != 0;
  return index + 1 + (holds == bool(guard.when) ? 0 : guard.steps);
}

std::string CpuSteps::pick(size_t index) const {
  const artifact::Step &step = steps[index];
  if (step.kind == StepKind::guard)
    return model.plan.textOf(model.plan.guard(step), ", by a branch");
  if (step.kind == StepKind::copy)
    return "memmove";
  if (step.kind == StepKind::collective)
    return group ? "shared memory" : "one rank";
  if (step.kind == StepKind::await)
    return "join";
  bool isGemm = step.kind == StepKind::gemm;
  if ((isGemm || step.kind == StepKind::conv) && !declined[index])
    return isGemm ? "frit gemm" : "frit conv";
  if (step.kernel == artifact::kNone)
    return "none";
  return std::string(model.plan.text(model.plan.kernels()[step.kernel].name));
}
