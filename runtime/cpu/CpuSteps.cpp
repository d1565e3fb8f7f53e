//===- CpuSteps.cpp - A list of steps bound to host memory ----------------===//

#include "runtime/cpu/CpuSteps.h"

#include "runtime/exec/Types.h"

#include <cstring>

using namespace frit;
using namespace frit::cpu;
using artifact::Collective;
using artifact::Space;
using artifact::StepKind;
using artifact::StepRunner;

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
    packed.push_back(spaces.packed ? spaces.packed->of(step) : nullptr);
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

Status CpuSteps::runKernel(size_t index, ThreadPool &pool) {
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

Status CpuSteps::runExchange(size_t index, ThreadPool &) {
  if (!group)
    return Status();
  const artifact::Step &step = steps[index];
  void *data = arguments[firstArgument[index]];
  const artifact::Buffer &buffer = model.plan.arguments(step)[0];
  auto type = artifact::DType(buffer.type);
  uint64_t width = elementBytes(type), count = buffer.bytes / width;
  artifact::Shard shard = group->shardOf(count / artifact::kShardRow);
  HostGroup::Part own = {shard.begin * artifact::kShardRow,
                         shard.end * artifact::kShardRow};
  auto collective = Collective(step.problem);
  const artifact::CollectiveTraits traits = traitsOf(collective);
  if (traits.gathers)
    return stepFailed(model.plan, step,
                      group->gather(static_cast<float *>(data), count, own));
  bool isMean = collective != Collective::sum;
  HostGroup::Part part = traits.divides ? own : HostGroup::Part{0, count};
  FRIT_TRY(stepFailed(model.plan, step,
                      group->reduce(data, count, type, isMean, part)));
  if (!traits.divides)
    return Status();
  auto *bytes = static_cast<uint8_t *>(data);
  memset(bytes, 0, own.begin * width);
  memset(bytes + own.end * width, 0, (count - own.end) * width);
  return Status();
}

/// Computes a gemm or convolution by the runtime's own code. Returns false if
/// there is none for the problem.
bool CpuSteps::compute(size_t index, ThreadPool &pool) const {
  const artifact::Step &step = steps[index];
  void *const *pointers = arguments.data() + firstArgument[index];
  if (step.kind == StepKind::gemm)
    return gemm(model.plan.gemm(step), pointers, pool);
  return step.kind == StepKind::conv &&
         convPacked(model.plan.conv(step), pointers, packed[index], pool);
}

Status CpuSteps::runCall(size_t index, ThreadPool &pool) {
  if (!declined[index] && compute(index, pool))
    return Status();
  declined[index] = true;
  return runKernel(index, pool);
}

Status CpuSteps::runCopy(size_t index, ThreadPool &) {
  void *const *pointers = arguments.data() + firstArgument[index];
  if (uint64_t bytes = model.plan.arguments(steps[index])[0].bytes)
    memmove(pointers[1], pointers[0], bytes);
  return Status();
}

Status CpuSteps::runGuard(size_t, ThreadPool &) { return Status(); }

Status CpuSteps::runAwait(size_t, ThreadPool &) { return Status(); }

Status CpuSteps::run(size_t index, ThreadPool &pool) {
  switch (artifact::runnerOf(steps[index].kind)) {
#define RUNNER(Name)                                                           \
  case StepRunner::Name:                                                       \
    return run##Name(index, pool);
    FRIT_STEP_RUNNERS(RUNNER)
#undef RUNNER
  }
  return Status();
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
  switch (artifact::runnerOf(steps[index].kind)) {
#define RUNNER(Name)                                                           \
  case StepRunner::Name:                                                       \
    return pick##Name(index);
    FRIT_STEP_RUNNERS(RUNNER)
#undef RUNNER
  }
  return "none";
}

std::string CpuSteps::pickKernel(size_t index) const {
  return std::string(model.plan.kernelName(steps[index]));
}

std::string CpuSteps::pickCall(size_t index) const {
  // Attention always runs its kernel.
  bool isOwn = !declined[index] && steps[index].kind != StepKind::attention;
  return isOwn ? format("frit %s", artifact::kindName(steps[index]))
               : pickKernel(index);
}

std::string CpuSteps::pickCopy(size_t) const { return "memmove"; }

std::string CpuSteps::pickGuard(size_t index) const {
  return model.plan.textOf(model.plan.guard(steps[index]), ", by a branch");
}

std::string CpuSteps::pickExchange(size_t) const {
  return group ? "shared memory" : "one rank";
}

std::string CpuSteps::pickAwait(size_t) const { return "join"; }
