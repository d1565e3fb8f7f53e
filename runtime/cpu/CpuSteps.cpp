//===- CpuSteps.cpp - A list of steps bound to host memory ----------------===//

#include "runtime/cpu/CpuSteps.h"

#include <cstring>

using namespace frit;
using namespace frit::cpu;
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

Status CpuSteps::launch(size_t index, ThreadPool &pool) {
  const artifact::Step &step = steps[index];
  if (step.kernel == artifact::kNone)
    return noKernel(model.plan, step);
  const artifact::Kernel &entry = model.plan.kernels()[step.kernel];
  frit_host_kernel kernel = model.image->kernels[entry.host];
  void *const *pointers = arguments.data() + firstArgument[index];
  int64_t items = step.grid[0];
  if (uint64_t bytes = entry.workspaceBytes) {
    const artifact::Buffer &workspace = model.plan.arguments(step).back();
    auto *first =
        static_cast<uint8_t *>(pointers[model.plan.arguments(step).size() - 1]);
    pool.parallelSlots(items, workspace.bytes / bytes,
                       [&](int64_t begin, int64_t end, int64_t slot) {
                         kernel(pointers, first + slot * bytes, begin, end);
                       });
  } else if (items == 1) {
    kernel(pointers, nullptr, 0, 1);
  } else {
    pool.parallelFor(items, [&](int64_t begin, int64_t end) {
      kernel(pointers, nullptr, begin, end);
    });
  }
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
  case StepKind::allReduce:
    return group ? stepFailed(model.plan, step,
                              group->mean(static_cast<float *>(pointers[0]),
                                          model.plan.arguments(step)[0].bytes /
                                              sizeof(float)))
                 : Status();
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
  if (step.kind == StepKind::allReduce)
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
