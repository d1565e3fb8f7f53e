//===- PlanCheck.cpp - Check an artifact's plan ---------------------------===//

#include "runtime/exec/PlanView.h"
#include "runtime/exec/ProblemCheck.h"
#include "runtime/exec/ShapeCheck.h"
#include "runtime/exec/TensorMapCheck.h"
#include "runtime/exec/Types.h"

#include <cstring>
#include <unordered_set>
#include <vector>

using namespace frit;
using namespace frit::artifact;

/// Returns whether [offset, offset + size) lies in [0, limit).
static bool fits(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

namespace frit {
/// The checks. Each may rely on those before it.
class PlanCheck {
public:
  PlanCheck(const frit_image &image, PlanView &plan)
      : image(image), plan(plan) {}

  Status run() {
    FRIT_TRY(checkHeader());
    FRIT_TRY(checkTables());
    FRIT_TRY(checkFunctions());
    FRIT_TRY(checkConstants());
    FRIT_TRY(checkStates());
    for (plan.chosen = 0; plan.chosen < plan.functions().size(); ++plan.chosen)
      FRIT_TRY(checkFunction());
    plan.chosen = 0;
    return Status();
  }

private:
  /// Limits of the memory that a step list may address.
  struct Memory {
    bool preparing;
    uint64_t arena, prepared;
    uint64_t state = 0;
    std::span<const Tensor> inputs = {}, outputs = {};
  };

  Status checkHeader();
  Status checkTables();
  Status checkFunctions();
  Status checkConstants();
  Status checkStates();
  Status checkShards();
  Status checkFunction();
  Status checkTarget(const Target &target);
  Status checkModules(const Target &target);
  Status checkKernel(const Target &target, const Kernel &kernel, bool cuda);
  Status checkSteps(const Target &target, const Memory &memory, Range steps);
  Status checkStep(const Target &target, const Memory &memory,
                   const Step &step);
  Status checkArgument(const Memory &memory, const Buffer &buffer);
  const char *checkShardUse(bool cuda, const Step &step);
  static const char *checkCollective(Collective collective,
                                     std::span<const Buffer> arguments);

  bool valid(Text text) const {
    return fits(text.offset, text.size, plan.head->strings.size);
  }
  static bool valid(Range range, const Table &table) {
    return fits(range.first, range.count, table.count);
  }
  bool valid(Blob blob) const {
    return fits(blob.offset, blob.size, plan.head->bytes);
  }
  template <typename Entry>
  bool haveNames(std::span<const Entry> entries) const;

  const frit_image &image;
  PlanView &plan;
};
} // namespace frit

/// Returns whether all entries have names, all different.
template <typename Entry>
bool PlanCheck::haveNames(std::span<const Entry> entries) const {
  std::unordered_set<std::string_view> names;
  // Names of a real plan share no bytes. This bounds the work.
  uint64_t bytes = 0;
  for (const Entry &entry : entries) {
    if (!valid(entry.name) || !entry.name.size ||
        (bytes += entry.name.size) > plan.head->strings.size ||
        !names.insert(plan.text(entry.name)).second)
      return false;
  }
  return true;
}

Status PlanCheck::checkHeader() {
  if (image.abi != FRIT_IMAGE_ABI)
    return Status(FRIT_BAD_MODEL,
                  format("the model's image has ABI %u and this runtime reads "
                         "%u: compile the model with the same frit",
                         image.abi, FRIT_IMAGE_ABI));
  if (!image.plan)
    return damagedPlan("there is none");
  if (image.plan_bytes < sizeof(Header))
    return damagedPlan("it is shorter than its header");
  plan.base = static_cast<const uint8_t *>(image.plan);
  if (reinterpret_cast<uintptr_t>(plan.base) % alignof(Header))
    return damagedPlan("it is misaligned");
  plan.head = reinterpret_cast<const Header *>(plan.base);
  const Header &head = *plan.head;
  if (memcmp(head.magic, kMagic, sizeof kMagic))
    return damagedPlan("its magic bytes are wrong");
  if (head.version != kVersion)
    return Status(FRIT_BAD_MODEL,
                  format("the model's plan has version %u and this runtime "
                         "reads %u: compile the model with the same frit",
                         head.version, kVersion));
  if (head.headerBytes != sizeof(Header))
    return damagedPlan("its header has the wrong size");
  if (head.bytes < sizeof(Header) || head.bytes > image.plan_bytes)
    return damagedPlan("it is cut off");
  if (image.kernel_count && !image.kernels)
    return damagedPlan("the image has no kernels");
  if (image.weight_bytes < head.weightBytes ||
      (head.weightBytes && !image.weights))
    return damagedPlan("the weights are cut off");
  return Status();
}

Status PlanCheck::checkTables() {
  const Header &head = *plan.head;
  const struct {
    const char *name;
    const Table &table;
    uint64_t entryBytes;
  } tables[] = {
      {"dims", head.dims, sizeof(int64_t)},
      {"functions", head.functions, sizeof(Function)},
      {"states", head.states, sizeof(State)},
      {"shards", head.shards, sizeof(ShardedState)},
      {"symbols", head.symbols, sizeof(Symbol)},
      {"extents", head.extents, sizeof(Extent)},
      {"variants", head.variants, sizeof(Variant)},
      {"inputs", head.inputs, sizeof(Tensor)},
      {"outputs", head.outputs, sizeof(Tensor)},
      {"constants", head.constants, sizeof(Constant)},
      {"buffers", head.buffers, sizeof(Buffer)},
      {"modules", head.modules, sizeof(DeviceModule)},
      {"kernels", head.kernels, sizeof(Kernel)},
      {"tensor maps", head.tensorMaps, sizeof(TensorMap)},
      {"gemms", head.gemms, sizeof(Gemm)},
      {"convs", head.convs, sizeof(Conv)},
      {"attentions", head.attentions, sizeof(Attention)},
      {"guards", head.guards, sizeof(Guard)},
      {"steps", head.steps, sizeof(Step)},
      {"follows", head.follows, sizeof(uint32_t)},
      {"programs", head.programs, sizeof(Program)},
      {"targets", head.targets, sizeof(Target)},
  };
  for (const auto &[name, table, entryBytes] : tables) {
    if (table.count > head.bytes / entryBytes ||
        !fits(table.offset, table.count * entryBytes, head.bytes))
      return damagedPlan(format("the table of %s reaches past its end", name));
    if (table.offset % 8)
      return damagedPlan(format("the table of %s is misaligned", name));
  }
  if (!valid(head.strings))
    return damagedPlan("its texts reach past its end");
  if (!valid(head.model) || !valid(head.producer))
    return damagedPlan("its name is out of range");
  return Status();
}

/// Checks that the functions divide the symbols, variants and targets.
Status PlanCheck::checkFunctions() {
  const Header &head = *plan.head;
  if (plan.functions().empty())
    return damagedPlan("it has no function");
  if (!haveNames(plan.functions()))
    return damagedPlan("its functions lack names of their own");
  uint64_t symbols = 0, variants = 0, targets = 0;
  auto follows = [](Range range, const Table &table, uint64_t &end) {
    bool does = range.first == end && valid(range, table);
    end += range.count;
    return does;
  };
  for (const Function &function : plan.functions())
    if (!follows(function.symbols, head.symbols, symbols) ||
        !follows(function.variants, head.variants, variants) ||
        !follows(function.targets, head.targets, targets))
      return damagedPlan(format("the parts of function '%s' are out of range",
                                std::string(plan.text(function.name)).c_str()));
  return Status();
}

Status PlanCheck::checkFunction() {
  FRIT_TRY(checkVariants(plan));
  if (plan.targets().empty())
    return damagedPlan("it has no target");
  for (const Target &target : plan.targets())
    FRIT_TRY(checkTarget(target));
  return Status();
}

Status PlanCheck::checkConstants() {
  for (const Constant &constant : plan.constants()) {
    FRIT_TRY(checkTensor(plan, "weight", constant.name, constant.type,
                         constant.dims, constant.bytes));
    if (!valid(constant.file))
      return damagedPlan("the file of a weight is out of range");
    uint64_t limit = constant.file.size ? INT64_MAX : plan.head->weightBytes;
    if (!fits(constant.offset, constant.bytes, limit))
      return damagedPlan(format("weight '%s' reaches past the weights' end",
                                std::string(plan.text(constant.name)).c_str()));
  }
  return Status();
}

Status PlanCheck::checkStates() {
  const Header &head = *plan.head;
  if (head.stateBytes > INT64_MAX)
    return damagedPlan("its state has an impossible size");
  if (!haveNames(plan.states()))
    return damagedPlan("its states lack names of their own");
  for (const State &state : plan.states()) {
    FRIT_TRY(checkTensor(plan, "state", state.name, state.type, state.dims,
                         state.bytes));
    std::string name(plan.text(state.name));
    if (!fits(state.offset, state.bytes, head.stateBytes))
      return damagedPlan(
          format("state '%s' reaches past the state's end", name.c_str()));
    if (state.constant == kNone)
      continue;
    if (state.constant >= head.constants.count)
      return damagedPlan(format(
          "state '%s' starts as a weight that is not there", name.c_str()));
    const Constant &constant = plan.constants()[state.constant];
    if (constant.type != state.type || constant.bytes != state.bytes)
      return damagedPlan(format("state '%s' starts as a weight of another size",
                                name.c_str()));
  }
  return checkShards();
}

/// Checks that a state lies in one part that ranks divide or before all of
/// them.
Status PlanCheck::checkShards() {
  uint64_t end = 0;
  for (const ShardedState &shard : plan.shards()) {
    if (shard.offset < end || shard.offset % kAlignment ||
        shard.rows > plan.head->stateBytes ||
        !fits(shard.offset, shard.bytes(), plan.head->stateBytes))
      return damagedPlan("a state that ranks divide is out of range");
    end = shard.offset + shard.bytes();
  }
  for (const State &state : plan.states()) {
    const ShardedState *shard = plan.shardAt(state.offset);
    uint64_t limit = shard ? shard->offset + shard->bytes() : plan.wholeBytes();
    if (state.offset + state.bytes > limit ||
        (shard && state.constant != kNone))
      return damagedPlan(format("state '%s' is divided by ranks in part",
                                std::string(plan.text(state.name)).c_str()));
  }
  return Status();
}

Status PlanCheck::checkModules(const Target &target) {
  if (!valid(target.modules, plan.head->modules))
    return damagedPlan("a target's modules are out of range");
  std::span<const DeviceModule> modules = plan.modules(target);
  for (const DeviceModule &module : modules) {
    if (!valid(module.cubin) || !valid(module.ptx))
      return damagedPlan("a target's code reaches past its end");
    if (!module.cubin.size != !modules[0].cubin.size ||
        !module.ptx.size != !modules[0].ptx.size)
      return damagedPlan("a part of a target's code is missing");
  }
  return Status();
}

Status PlanCheck::checkKernel(const Target &target, const Kernel &kernel,
                              bool cuda) {
  if (!valid(kernel.name))
    return damagedPlan("the name of a kernel is out of range");
  std::string name(plan.text(kernel.name));
  if (!cuda &&
      (kernel.host >= image.kernel_count || !image.kernels[kernel.host]))
    return damagedPlan(format("the image lacks kernel '%s'", name.c_str()));
  if (cuda && (kernel.module < target.modules.first ||
               kernel.module - target.modules.first >= target.modules.count))
    return damagedPlan(
        format("the module of kernel '%s' is out of range", name.c_str()));
  if (!valid(kernel.tensorMaps, plan.head->tensorMaps))
    return damagedPlan(format("the tensor maps of kernel '%s' are out of range",
                              name.c_str()));
  if (!valid(kernel.scalars, plan.head->dims))
    return damagedPlan(
        format("the scalars of kernel '%s' are out of range", name.c_str()));
  for (const TensorMap &map : plan.tensorMaps(kernel))
    if (const char *problem = checkTensorMap(map))
      return damagedPlan(format("kernel '%s': %s", name.c_str(), problem));
  return Status();
}

Status PlanCheck::checkTarget(const Target &target) {
  const Header &head = *plan.head;
  if (!valid(target.arch))
    return damagedPlan("the name of a target is out of range");
  FRIT_TRY(checkModules(target));
  if (!valid(target.kernels, head.kernels) ||
      !valid(target.prepare, head.steps) ||
      !valid(target.programs, head.programs))
    return damagedPlan("a target's kernels or steps are out of range");
  if (target.programs.count != plan.variants().size())
    return damagedPlan(
        "a target's number of programs is not the number of variants");
  if (target.prepareArenaBytes > INT64_MAX || target.preparedBytes > INT64_MAX)
    return damagedPlan("a target's memory has an impossible size");
  bool cuda = isCudaArch(plan.text(target.arch));
  for (const Kernel &kernel :
       plan.kernels().subspan(target.kernels.first, target.kernels.count))
    FRIT_TRY(checkKernel(target, kernel, cuda));
  Memory prepare = {true, target.prepareArenaBytes, target.preparedBytes};
  FRIT_TRY(checkSteps(target, prepare, target.prepare));
  for (size_t variant = 0; variant < target.programs.count; ++variant) {
    const Program &program = plan.programs(target)[variant];
    if (!valid(program.steps, head.steps))
      return damagedPlan("a program's steps are out of range");
    if (program.arenaBytes > INT64_MAX)
      return damagedPlan("a target's memory has an impossible size");
    Memory memory = {
        false,           program.arenaBytes,   target.preparedBytes,
        head.stateBytes, plan.inputs(variant), plan.outputs(variant)};
    FRIT_TRY(checkSteps(target, memory, program.steps));
  }
  return Status();
}

Status PlanCheck::checkSteps(const Target &target, const Memory &memory,
                             Range steps) {
  uint32_t place = 0;
  uint64_t done = 0; // steps share no `follows` entries, which bounds the work
  std::vector<uint64_t> ends = {steps.count}; // where the enclosing guards end
  for (const Step &step : plan.steps(steps)) {
    FRIT_TRY(checkStep(target, memory, step));
    if (!PlanView::followsAll(step)) {
      if (!valid(step.follows, plan.head->follows) || step.follows.first < done)
        return damagedPlan("the dependencies of a step are out of range");
      done = uint64_t(step.follows.first) + step.follows.count;
      for (uint32_t other : plan.follows(step))
        if (other >= place)
          return damagedPlan("a step depends on itself or a later step");
    }
    ++place;
    if (ends.size() > 1 &&
        (step.kind == StepKind::collective || step.kind == StepKind::await))
      return damagedPlan("a guard's steps reduce over ranks");
    if (step.kind == StepKind::guard)
      ends.push_back(uint64_t(place) + plan.guard(step).steps);
    if (ends.size() > 1 &&
        (!PlanView::followsAll(step) || ends.back() > ends[ends.size() - 2]))
      return damagedPlan("a guard's steps reach past the enclosing guard, or "
                         "have dependencies");
    while (ends.size() > 1 && ends.back() == place)
      ends.pop_back();
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

Status PlanCheck::checkStep(const Target &target, const Memory &memory,
                            const Step &step) {
  const Header &head = *plan.head;
  if (!valid(step.node))
    return damagedPlan("the node of a step is out of range");
  if (!valid(step.arguments, head.buffers))
    return damagedPlan("the arguments of a step are out of range");
  std::span<const Buffer> arguments = plan.arguments(step);
  for (const Buffer &buffer : arguments)
    FRIT_TRY(checkArgument(memory, buffer));
  bool kernel = step.kernel >= target.kernels.first &&
                step.kernel - target.kernels.first < target.kernels.count;
  if (!kernel && (step.kernel != kNone || step.kind == StepKind::launch))
    return damagedPlan("a step launches a kernel that is not there");
  for (int i = 0; i < 3; ++i)
    if (step.grid[i] > INT32_MAX || step.block[i] > INT32_MAX)
      return damagedPlan("a step has an impossible grid");

  const char *problem = nullptr;
  switch (step.kind) {
  case StepKind::launch:
    if (uint64_t bytes = plan.kernels()[step.kernel].workspaceBytes)
      if (arguments.empty() || arguments.back().space != Space::arena ||
          arguments.back().bytes < bytes)
        problem = "its workspace is too small";
    break;
  case StepKind::gemm:
    if (step.problem >= head.gemms.count)
      return damagedPlan("a gemm is out of range");
    problem = checkGemm(plan.gemm(step), arguments);
    break;
  case StepKind::conv:
    if (step.problem >= head.convs.count)
      return damagedPlan("a convolution is out of range");
    problem = checkConv(plan.conv(step), arguments);
    break;
  case StepKind::attention:
    if (step.problem >= head.attentions.count)
      return damagedPlan("an attention is out of range");
    problem = checkAttention(plan.attention(step), arguments);
    break;
  case StepKind::guard:
    if (step.problem >= head.guards.count)
      return damagedPlan("a guard is out of range");
    if (arguments.size() != 1 || arguments[0].bytes != 1)
      problem = "its condition is not a single byte";
    break;
  case StepKind::copy:
    if (arguments.size() != 2 || arguments[0].bytes != arguments[1].bytes)
      problem = "its two arguments differ in size";
    else if (!arguments[1].written)
      problem = "it does not write its second argument";
    break;
  case StepKind::collective:
    if (memory.preparing)
      return damagedPlan("a prepare step is a collective");
    problem = checkCollective(Collective(step.problem), arguments);
    break;
  case StepKind::await:
    break;
  default:
    return damagedPlan("a step is of no known kind");
  }
  if (kernel && !problem)
    for (const TensorMap &map : plan.tensorMaps(plan.kernels()[step.kernel]))
      if (!problem)
        problem = checkTensorMap(map, plan.kernelArguments(step));
  if (!problem)
    problem = checkShardUse(isCudaArch(plan.text(target.arch)), step);
  if (problem)
    return damagedPlan(format("%s: %s", plan.nodeOf(step).c_str(), problem));
  return Status();
}

const char *PlanCheck::checkCollective(Collective collective,
                                       std::span<const Buffer> arguments) {
  if (collective > Collective::allGather)
    return "it is no known collective";
  if (arguments.size() != 1 || !arguments[0].written)
    return "it does not replace its argument";
  const Buffer &buffer = arguments[0];
  bool gathers = collective == Collective::allGather;
  auto type = DType(buffer.type);
  if (type != DType::f32 && (type != DType::bf16 || gathers))
    return "its elements are of the wrong type";
  if (buffer.space != Space::arena &&
      (buffer.space != Space::state || !gathers))
    return "its argument lies outside of a call's arena";
  bool divides = gathers || collective == Collective::reduceScatter;
  if (buffer.bytes % (elementBytes(type) * (divides ? kShardRow : 1)))
    return "its argument is no whole number of rows";
  return nullptr;
}

/// Checks that a launch of a shard can be made for fewer rows, and that on a
/// GPU nothing else uses a state that ranks divide.
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

Status PlanView::open(const frit_image &image, PlanView &plan) {
  PlanView view;
  FRIT_TRY(PlanCheck(image, view).run());
  plan = view;
  return Status();
}
