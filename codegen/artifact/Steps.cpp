//===- Steps.cpp - Add steps to the tables of a plan ----------------------===//

#include "codegen/artifact/Steps.h"
#include "codegen/artifact/Problems.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace frit;
using namespace frit::artifact;

static void setCollective(Step &step, Collective collective) {
  step.kind = StepKind::collective;
  step.problem = uint32_t(collective);
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
  TypeSwitch<Operation *>(op)
      .Case([&](plan::LaunchOp launch) {
        step.kind = StepKind::launch;
        step.shardRows = launch.getShardRows().value_or(0);
      })
      .Case([&](plan::GemmOp gemm) {
        step.kind = StepKind::gemm;
        step.problem = tables.gemms.size();
        tables.gemms.push_back(problemOf(gemm));
      })
      .Case([&](plan::ConvOp conv) {
        step.kind = StepKind::conv;
        step.problem = tables.convs.size();
        tables.convs.push_back(problemOf(conv));
      })
      .Case([&](plan::AttentionOp attention) {
        step.kind = StepKind::attention;
        step.problem = tables.attentions.size();
        tables.attentions.push_back(problemOf(attention));
      })
      .Case([&](plan::CopyOp) { step.kind = StepKind::copy; })
      .Case([&](plan::AllReduceOp reduce) {
        setCollective(step,
                      reduce.getSum() ? Collective::sum : Collective::mean);
      })
      .Case([&](plan::ReduceScatterOp) {
        setCollective(step, Collective::reduceScatter);
      })
      .Case([&](plan::AllGatherOp) {
        setCollective(step, Collective::allGather);
      })
      .Case([&](plan::AwaitOp) { step.kind = StepKind::await; })
      .Case([&](plan::GuardOp guard) {
        step.kind = StepKind::guard;
        step.problem = tables.guards.size();
        tables.guards.push_back(
            {uint32_t(plan::stepsOf(guard).size()), guard.getWhen()});
      });
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
