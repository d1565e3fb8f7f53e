//===- PlanCheck.cpp - Check an artifact's plan ---------------------------===//

#include "runtime/plan/PlanCheck.h"
#include "runtime/exec/Types.h"
#include "runtime/plan/StringCheck.h"
#include "runtime/plan/TensorMapCheck.h"

#include "frit/role_names.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

using namespace frit;
using namespace frit::artifact;

/// Returns whether all entries have names, all different.
template <typename Entry>
bool PlanCheck::haveNames(std::span<const Entry> entries) const {
  std::unordered_set<std::string_view> names;
  // The names of a valid plan share no bytes. This bounds the work.
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
#define TABLE(name, Entry, words) {words, head.name, sizeof(Entry)},
      FRIT_PLAN_TABLES(TABLE)
#undef TABLE
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
  return checkVocabulary(plan);
}

/// Checks that the functions partition the symbols and variants.
Status PlanCheck::checkFunctions() {
  const Header &head = *plan.head;
  if (plan.functions().empty())
    return damagedPlan("it has no function");
  if (!haveNames(plan.functions()))
    return damagedPlan("its functions lack names of their own");
  uint64_t symbols = 0, variants = 0;
  auto follows = [](Range range, const Table &table, uint64_t &end) {
    bool does = range.first == end && valid(range, table);
    end += range.count;
    return does;
  };
  for (const Function &function : plan.functions()) {
    std::string name(plan.text(function.name));
    if (function.role >= std::size(kFunctionRoles))
      return damagedPlan(
          format("the role of function '%s' is unknown", name.c_str()));
    if (!follows(function.symbols, head.symbols, symbols) ||
        !follows(function.variants, head.variants, variants))
      return damagedPlan(
          format("the parts of function '%s' are out of range", name.c_str()));
  }
  return Status();
}

Status PlanCheck::checkTargets() {
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
    if (state.role >= std::size(kStateRoles))
      return damagedPlan(
          format("the role of state '%s' is unknown", name.c_str()));
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

/// Checks that each state lies entirely in one part that ranks divide, or
/// before all such parts, as derived states and their sources do.
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
  for (const DerivedState &state : plan.derived())
    if (!fits(state.offset, state.bytes, plan.wholeBytes()) ||
        !fits(state.source, state.sourceBytes, plan.wholeBytes()))
      return damagedPlan("a derived state is out of range");
  return Status();
}

/// Checks the derive list of a target whose programs have been checked. It uses
/// the arena of a call of any function.
Status PlanCheck::checkDerive(const Target &target) {
  uint64_t arena = INT64_MAX;
  for (const Program &program : plan.allPrograms(target))
    arena = std::min(arena, program.arenaBytes);
  Memory memory = {false, arena, target.preparedBytes, plan.head->stateBytes};
  FRIT_TRY(checkSteps(target, memory, target.derive));
  for (const Step &step : plan.steps(target.derive))
    if (step.kind != StepKind::launch && step.kind != StepKind::copy)
      return damagedPlan("a derive step is no launch and no copy");
  if (plan.usesShards(plan.steps(target.derive)))
    return damagedPlan("a derive step uses a state that ranks divide");
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
      !valid(target.prepare, head.steps) || !valid(target.derive, head.steps) ||
      !valid(target.programs, head.programs))
    return damagedPlan("a target's kernels or steps are out of range");
  if (target.programs.count != head.variants.count)
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
  for (plan.chosen = 0; plan.chosen < plan.functions().size(); ++plan.chosen)
    FRIT_TRY(checkPrograms(target));
  plan.chosen = 0;
  return checkDerive(target);
}

/// Checks the work of the function that the view shows.
Status PlanCheck::checkPrograms(const Target &target) {
  const Header &head = *plan.head;
  for (size_t variant = 0; variant < plan.variants().size(); ++variant) {
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

Status PlanView::open(const frit_image &image, PlanView &plan) {
  PlanView view;
  FRIT_TRY(PlanCheck(image, view).run());
  plan = view;
  return Status();
}
