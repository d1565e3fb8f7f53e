//===- StepCheck.cpp - Check the steps of an artifact's plan --------------===//

#include "runtime/exec/Types.h"
#include "runtime/plan/PlanCheck.h"
#include "runtime/plan/ProblemCheck.h"
#include "runtime/plan/ShapeCheck.h"
#include "runtime/plan/TensorMapCheck.h"

#include <vector>

using namespace frit;
using namespace frit::artifact;

/// Nested guards, which the runtime enters by recursion.
static constexpr size_t kMostGuards = 1000;

Status PlanCheck::checkSteps(const Target &target, const Memory &memory,
                             Range steps) {
  uint64_t done = 0; // steps share no `follows` entries, which bounds the work
  // The enclosing guards, and where they end. The outermost is the list.
  constexpr uint32_t noGuard = kNone;
  struct Block {
    uint32_t guard;
    uint64_t end;
  };
  std::vector<Block> blocks = {{noGuard, steps.count}};
  std::vector<uint32_t> guardOf; // innermost guard of each step so far
  for (const Step &step : plan.steps(steps)) {
    auto place = uint32_t(guardOf.size());
    uint32_t guard = blocks.back().guard;
    guardOf.push_back(guard);
    FRIT_TRY(checkStep(target, memory, step));
    if (!valid(step.follows, plan.head->follows) || step.follows.first < done)
      return damagedPlan("the dependencies of a step are out of range");
    done = uint64_t(step.follows.first) + step.follows.count;
    for (uint32_t other : plan.follows(step)) {
      if (other >= place)
        return damagedPlan("a step depends on itself or a later step");
      if (guardOf[other] != guard && other != guard)
        return damagedPlan("a step depends on one in another guard");
    }
    if (guard != noGuard) {
      if (step.kind == StepKind::collective || step.kind == StepKind::await)
        return damagedPlan("a guard's steps reduce over ranks");
      if (!step.follows.count)
        return damagedPlan("a guard's step does not depend on it");
    }
    if (step.kind == StepKind::guard) {
      uint64_t end = uint64_t(place) + 1 + plan.guard(step).steps;
      if (end > blocks.back().end)
        return damagedPlan("a guard's steps reach past the enclosing guard");
      if (blocks.size() > kMostGuards)
        return damagedPlan("guards are nested too deep");
      blocks.push_back({place, end});
    }
    while (blocks.size() > 1 && blocks.back().end == place + 1)
      blocks.pop_back();
  }
  return Status();
}

Status PlanCheck::checkArgument(const Memory &memory, const Buffer &buffer) {
  const Header &head = *plan.head;
  uint64_t limit = 0;
  bool writable = true;
  switch (buffer.space) {
  case Space::input:
  case Space::output: {
    bool input = buffer.space == Space::input;
    if (memory.preparing)
      return damagedPlan("a prepare step uses an input or output");
    std::span<const Tensor> tensors = input ? memory.inputs : memory.outputs;
    if (buffer.index >= tensors.size())
      return damagedPlan(
          "an argument names an input or output that is not there");
    limit = tensors[buffer.index].bytes;
    writable = !input;
    break;
  }
  case Space::constant:
    if (buffer.index >= head.constants.count)
      return damagedPlan("an argument names a weight that is not there");
    if (!memory.preparing && !plan.constants()[buffer.index].resident)
      return damagedPlan(
          "a step reads a weight that is not kept on the device");
    limit = plan.constants()[buffer.index].bytes;
    writable = false;
    break;
  case Space::arena:
    limit = memory.arena;
    break;
  case Space::prepared:
    limit = memory.prepared;
    writable = memory.preparing;
    break;
  case Space::state:
    if (memory.preparing)
      return damagedPlan("a prepare step uses state");
    limit = memory.state;
    break;
  default:
    return damagedPlan("an argument lies in no known memory");
  }
  if (!fits(buffer.offset, buffer.bytes, limit))
    return damagedPlan("an argument reaches past its memory's end");
  if (buffer.written && !writable)
    return damagedPlan("a step writes constant memory");
  return Status();
}

//===----------------------------------------------------------------------===//
// The kinds
//===----------------------------------------------------------------------===//

/// Returns a failure if a step of a plan has a problem.
static Status refuse(const PlanView &plan, const Step &step,
                     const char *problem) {
  if (!problem)
    return Status();
  return damagedPlan(format("%s: %s", plan.nodeOf(step).c_str(), problem));
}

template <>
Status PlanCheck::checkKind<StepKind::launch>(const Memory &,
                                              const Step &step) {
  uint64_t bytes = plan.kernels()[step.kernel].workspaceBytes;
  std::span<const Buffer> arguments = plan.arguments(step);
  bool fits =
      !bytes || (!arguments.empty() && arguments.back().space == Space::arena &&
                 arguments.back().bytes >= bytes);
  return refuse(plan, step, fits ? nullptr : "its workspace is too small");
}

template <>
Status PlanCheck::checkKind<StepKind::gemm>(const Memory &, const Step &step) {
  if (step.problem >= plan.head->gemms.count)
    return damagedPlan("a gemm is out of range");
  return refuse(plan, step, checkGemm(plan.gemm(step), plan.arguments(step)));
}

template <>
Status PlanCheck::checkKind<StepKind::conv>(const Memory &, const Step &step) {
  if (step.problem >= plan.head->convs.count)
    return damagedPlan("a convolution is out of range");
  return refuse(plan, step, checkConv(plan.conv(step), plan.arguments(step)));
}

template <>
Status PlanCheck::checkKind<StepKind::attention>(const Memory &,
                                                 const Step &step) {
  if (step.problem >= plan.head->attentions.count)
    return damagedPlan("an attention is out of range");
  return refuse(plan, step,
                checkAttention(plan.attention(step), plan.arguments(step)));
}

template <>
Status PlanCheck::checkKind<StepKind::guard>(const Memory &, const Step &step) {
  if (step.problem >= plan.head->guards.count)
    return damagedPlan("a guard is out of range");
  std::span<const Buffer> arguments = plan.arguments(step);
  bool isByte = arguments.size() == 1 && arguments[0].bytes == 1;
  return refuse(plan, step,
                isByte ? nullptr : "its condition is not a single byte");
}

template <>
Status PlanCheck::checkKind<StepKind::copy>(const Memory &, const Step &step) {
  std::span<const Buffer> arguments = plan.arguments(step);
  if (arguments.size() != 2 || arguments[0].bytes != arguments[1].bytes)
    return refuse(plan, step, "its two arguments differ in size");
  if (!arguments[1].written)
    return refuse(plan, step, "it does not write its second argument");
  return Status();
}

template <>
Status PlanCheck::checkKind<StepKind::collective>(const Memory &memory,
                                                  const Step &step) {
  if (memory.preparing)
    return damagedPlan("a prepare step is a collective");
  return refuse(
      plan, step,
      checkCollective(Collective(step.problem), plan.arguments(step)));
}

template <>
Status PlanCheck::checkKind<StepKind::await>(const Memory &, const Step &) {
  return Status();
}

const char *PlanCheck::checkCollective(Collective collective,
                                       std::span<const Buffer> arguments) {
  if (!isKnown(collective))
    return "it is no known collective";
  if (arguments.size() != 1 || !arguments[0].written)
    return "it does not replace its argument";
  const Buffer &buffer = arguments[0];
  const CollectiveTraits traits = traitsOf(collective);
  auto type = DType(buffer.type);
  if (type != DType::f32 && (type != DType::bf16 || traits.gathers))
    return "its elements are of the wrong type";
  if (buffer.space != Space::arena &&
      (buffer.space != Space::state || !traits.gathers))
    return "its argument lies outside of a call's arena";
  if (buffer.bytes % (elementBytes(type) * (traits.divides ? kShardRow : 1)))
    return "its argument is no whole number of rows";
  return nullptr;
}

/// Checks that a launch of a shard works with fewer rows, and that on a GPU no
/// other step uses a divided state.
const char *PlanCheck::checkShardUse(bool cuda, const Step &step) {
  uint64_t rows = step.shardRows;
  if (rows && step.kind != StepKind::launch)
    return "it cannot be launched for a shard";
  if (!cuda)
    return nullptr;
  if (rows) {
    const Kernel &kernel = plan.kernels()[step.kernel];
    if (kernel.tensorMaps.count || kernel.workspaceBytes)
      return "it cannot be launched for a shard";
    std::span<const int64_t> scalars = plan.scalars(kernel);
    if (scalars.size() != 1 || uint64_t(scalars[0]) != rows * kShardRow)
      return "its kernel has no number of elements";
  }
  for (const Buffer &buffer : plan.arguments(step)) {
    bool isDivided = PlanView::isDivided(step, buffer);
    if (rows && (isDivided ? buffer.bytes % (rows * kShardRow)
                           : buffer.bytes > 8 || buffer.written))
      return "an argument has another number of rows";
    if (buffer.space != Space::state ||
        buffer.offset + buffer.bytes <= plan.wholeBytes())
      continue;
    const ShardedState *shard = plan.shardAt(buffer.offset);
    if (!isDivided || !shard || shard->offset != buffer.offset ||
        shard->bytes() != buffer.bytes)
      return "it uses what other ranks have of a state";
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// All steps
//===----------------------------------------------------------------------===//

Status PlanCheck::checkStep(const Target &target, const Memory &memory,
                            const Step &step) {
  if (!valid(step.node))
    return damagedPlan("the node of a step is out of range");
  if (!valid(step.arguments, plan.head->buffers))
    return damagedPlan("the arguments of a step are out of range");
  for (const Buffer &buffer : plan.arguments(step))
    FRIT_TRY(checkArgument(memory, buffer));
  bool kernel = step.kernel >= target.kernels.first &&
                step.kernel - target.kernels.first < target.kernels.count;
  if (!kernel && (step.kernel != kNone || step.kind == StepKind::launch))
    return damagedPlan("a step launches a kernel that is not there");
  for (int i = 0; i < 3; ++i)
    if (step.grid[i] > INT32_MAX || step.block[i] > INT32_MAX)
      return damagedPlan("a step has an impossible grid");

  switch (step.kind) {
#define STEP(kind, ...)                                                        \
  case StepKind::kind:                                                         \
    FRIT_TRY(checkKind<StepKind::kind>(memory, step));                         \
    break;
    FRIT_STEP_KINDS(STEP)
#undef STEP
  default:
    return damagedPlan("a step is of no known kind");
  }
  const char *problem = nullptr;
  if (kernel && !problem)
    for (const TensorMap &map : plan.tensorMaps(plan.kernels()[step.kernel]))
      if (!problem)
        problem = checkTensorMap(map, plan.kernelArguments(step));
  if (!problem)
    problem = checkShardUse(isCudaArch(plan.text(target.arch)), step);
  return refuse(plan, step, problem);
}
