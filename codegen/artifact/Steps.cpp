//===- Steps.cpp - Add steps to the tables of a plan ----------------------===//

#include "codegen/artifact/Steps.h"
#include "codegen/artifact/Problems.h"

#include <type_traits>

using namespace mlir;
using namespace frit;
using namespace frit::artifact;

//===----------------------------------------------------------------------===//
// The kinds: what a step has beside its arguments, kernel and edges
//===----------------------------------------------------------------------===//

static void describe(plan::LaunchOp launch, Step &step, Tables &) {
  step.shardRows = launch.getShardRows().value_or(0);
}

/// Adds a problem to its table.
template <typename Problem>
static void setProblem(Step &step, std::vector<Problem> &table,
                       const Problem &problem) {
  step.problem = table.size();
  table.push_back(problem);
}

static void describe(plan::GemmOp gemm, Step &step, Tables &tables) {
  setProblem(step, tables.gemms, problemOf(gemm));
}

static void describe(plan::ConvOp conv, Step &step, Tables &tables) {
  setProblem(step, tables.convs, problemOf(conv));
}

static void describe(plan::AttentionOp attention, Step &step, Tables &tables) {
  setProblem(step, tables.attentions, problemOf(attention));
}

static void describe(plan::CopyOp, Step &, Tables &) {}

static void describe(plan::CollectiveOp op, Step &step, Tables &) {
  step.problem = uint32_t(op.getCollective());
}

static void describe(plan::AwaitOp, Step &, Tables &) {}

static void describe(plan::GuardOp guard, Step &step, Tables &tables) {
  setProblem(step, tables.guards,
             {uint32_t(plan::stepsOf(guard).size()), guard.getWhen()});
}

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

namespace {
template <typename... Types> struct TypeList {
  static constexpr size_t size = sizeof...(Types);
  /// How many of the ops are steps.
  static constexpr size_t steps =
      (size_t(std::is_base_of_v<plan::StepOp::Trait<Types>, Types>) + ... + 0);
};
} // namespace

// The ops of each kind, such as `launchOps`.
namespace frit::plan {
#define STEP(kind, Runner, ...) using kind##Ops = TypeList<__VA_ARGS__>;
FRIT_STEP_KINDS(STEP)
#undef STEP
using AllOps = TypeList<
#define GET_OP_LIST
#include "dialects/plan/Plan.cpp.inc"
    >;
#define STEP(kind, Runner, ...) +kind##Ops::size
static_assert(AllOps::steps == 0 FRIT_STEP_KINDS(STEP),
              "step_kinds.h names the ops of all steps");
#undef STEP
} // namespace frit::plan

/// If the step is one of these ops, sets its kind and what the kind has.
template <typename... Ops>
static void describeIf(TypeList<Ops...>, StepKind kind, Operation *op,
                       Step &step, Tables &tables) {
  auto describeAs = [&](auto typed) {
    if (!typed)
      return;
    step.kind = kind;
    describe(typed, step, tables);
  };
  (describeAs(dyn_cast<Ops>(op)), ...);
}

artifact::Range StepWriter::addList(plan::CommandListOp list, bool isMain) {
  artifact::Range range{uint32_t(tables.steps.size()), 0};
  if (!list)
    return range;
  SmallVector<Operation *> steps = plan::stepsOf(list);
  for (auto [op, follows] : llvm::zip(steps, plan::followsOf(steps)))
    addStep(op, follows, isMain);
  range.count = tables.steps.size() - range.first;
  return range;
}

void StepWriter::addStep(Operation *op, const plan::Follows &follows,
                         bool isMain) {
  Step step;
  step.follows.first = tables.follows.size();
  step.follows.count = follows.size();
  llvm::append_range(tables.follows, follows);
  step.node = tables.text(plan::nodeNames(op->getLoc()));
  step.arguments.first = tables.buffers.size();
  for (Value value : plan::readsOf(op))
    addBuffer(value, false, isMain);
  for (Value value : plan::writesOf(op))
    addBuffer(value, true, isMain);
  step.arguments.count = tables.buffers.size() - step.arguments.first;
  setKernel(step, plan::kernelOf(op));
#define STEP(kind, ...)                                                        \
  describeIf(plan::kind##Ops(), StepKind::kind, op, step, tables);
  FRIT_STEP_KINDS(STEP)
#undef STEP
  tables.steps.push_back(step);
}

void StepWriter::setKernel(Step &step, FlatSymbolRefAttr name) {
  if (!name)
    return;
  auto [number, kernel] = kernels.lookup(name.getAttr());
  step.kernel = number;
  auto fill = [](uint32_t (&to)[3], std::optional<ArrayRef<int64_t>> from) {
    if (from)
      for (auto [i, size] : llvm::enumerate(*from))
        to[i] = uint32_t(size);
  };
  fill(step.grid, kernel.getGrid());
  fill(step.block, kernel.getBlock());
  step.sharedBytes = kernel.getSharedBytes().value_or(0);
}

void StepWriter::addBuffer(Value value, bool written, bool isMain) {
  Buffer entry;
  plan::BufferOp root = plan::rootOf(value, &entry.offset);
  switch (root.getSpace()) {
  case plan::Space::input:
    entry.space = Space::input;
    entry.index = *root.getIndex();
    break;
  case plan::Space::output:
    entry.space = Space::output;
    entry.index = *root.getIndex();
    break;
  case plan::Space::constant:
    entry.space = Space::constant;
    entry.index = constants.lookup(root.getSymbolAttr());
    tables.constants[entry.index].resident |= isMain;
    break;
  case plan::Space::arena:
    entry.space = Space::arena;
    entry.offset += root.getOffset().value_or(0);
    break;
  case plan::Space::prepared:
    entry.space = Space::prepared;
    entry.offset += root.getOffset().value_or(0);
    break;
  case plan::Space::state:
    entry.space = Space::state;
    entry.offset += states.lookup(root.getSymbolAttr());
    break;
  }
  entry.bytes = plan::byteSize(value.getType());
  entry.written = written;
  entry.type = uint32_t(
      plan::dtypeOf(cast<ShapedType>(value.getType()).getElementType()));
  tables.buffers.push_back(entry);
}
