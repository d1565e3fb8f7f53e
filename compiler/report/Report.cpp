//===- Report.cpp - A compilation as a picture ----------------------------===//

#include "compiler/report/Report.h"

#include "dialects/nn/operators/Custom.h"

#include "frit/host_arch.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace frit;
using namespace frit::report;

static std::vector<int64_t> numbers(std::optional<ArrayRef<int64_t>> list) {
  return list ? std::vector<int64_t>(list->begin(), list->end())
              : std::vector<int64_t>();
}

static Kernel describeKernel(plan::KernelOp op, std::optional<double> time) {
  Kernel kernel;
  kernel.name = op.getSymName();
  kernel.grid = numbers(op.getGrid());
  kernel.block = numbers(op.getBlock());
  kernel.sharedBytes = op.getSharedBytes().value_or(0);
  kernel.flops = op.getFlops().value_or(0);
  kernel.skipped = op.getSkipped().value_or(0);
  kernel.microseconds = time;
  if (plan::SourceAttr source = op.getSourceAttr())
    kernel.source = source.getText();
  auto fusion = cast<nn::FusionOp>(op.getFusion());
  if (auto custom = dyn_cast<nn::CustomOp>(fusion.getBody().front().front()))
    if (nn::UserFunctionAttr function = custom.getCustom().getDevice())
      kernel.source = function.getText();
  if (nn::Schedule schedule = fusion.getScheduleAttr()) {
    llvm::raw_string_ostream os(kernel.schedule);
    os << Attribute(schedule);
  }
  for (Operation &inner : fusion.getBody().front().without_terminator()) {
    if (isa<nn::ConstantOp>(inner) || !inner.getNumResults())
      continue;
    kernel.operators.push_back(
        {inner.getName().stripDialect().str(),
         typeText(cast<ShapedType>(inner.getResult(0).getType()))});
  }
  return kernel;
}

namespace {
/// Describes one list.
class ListReader {
public:
  ListReader(plan::TargetOp target, plan::FunctionOp function,
             plan::CommandListOp list, const llvm::StringMap<unsigned> &kernels,
             const std::vector<Kernel> &facts)
      : target(target), function(function), list(list), kernels(kernels),
        facts(facts) {}

  List read() {
    result.name = list.getSymName();
    result.arenaBytes = list.getArenaBytes().value_or(0);
    result.lowerBound = list.getLowerBound().value_or(0);
    for (Operation *op : plan::stepsOf(list))
      result.steps.push_back(readStep(op));
    return std::move(result);
  }

private:
  Step readStep(Operation *op) {
    size_t place = result.steps.size();
    Step step;
    auto collective = dyn_cast<plan::CollectiveOp>(op);
    step.kind = collective ? traitsOf(collective.getCollective()).name
                           : op->getName().stripDialect();
    step.call = describeCall(op, target.getArch());
    placeOf[op] = place;
    if (auto guard = dyn_cast<plan::GuardOp>(op->getParentOp()))
      step.guard = placeOf.lookup(guard);
    for (StringRef node : plan::nodesOf(op->getLoc()))
      step.nodes.push_back(node.str());
    TypeSwitch<Operation *>(op)
        .Case([&](plan::LaunchOp launch) {
          step.kernel = kernels.lookup(launch.getKernel());
        })
        .Case<plan::GemmOp, plan::ConvOp, plan::AttentionOp>([&](auto call) {
          step.isLibrary = !findHostArch(target.getArch());
          if (std::optional<StringRef> fallback = call.getFallback())
            step.kernel = kernels.lookup(*fallback);
        });
    SmallVector<Value> reads = plan::readsOf(op);
    // An exchange replaces its buffer, and the step that awaits it does too.
    if (isa<plan::CollectiveOp, plan::AwaitOp>(op))
      reads = plan::writesOf(op);
    for (Value value : reads) {
      size_t buffer = bufferOf(value, place);
      step.reads.push_back(buffer);
      step.bytes += plan::byteSize(value.getType());
      Range range = rangeOf(value);
      for (const Write &write : writes[buffer])
        if (write.range.begin < range.end && range.begin < write.range.end)
          step.needs.push_back(write.step);
    }
    for (Value value : plan::writesOf(op)) {
      size_t buffer = bufferOf(value, place);
      step.writes.push_back(buffer);
      Range range = rangeOf(value);
      std::vector<Write> &before = writes[buffer];
      llvm::erase_if(before, [&](const Write &write) {
        return range.begin <= write.range.begin && write.range.end <= range.end;
      });
      before.push_back({range, place});
      if (value == workspaceOf(op))
        result.buffers[buffer].isWorkspace = true;
      else
        step.bytes += plan::byteSize(value.getType());
    }
    if (isa<plan::AwaitOp>(op))
      step.bytes = 0;
    llvm::sort(step.needs);
    step.needs.erase(llvm::unique(step.needs), step.needs.end());
    if (step.kernel >= 0)
      step.bytes -= std::min<uint64_t>(step.bytes, facts[step.kernel].skipped);
    return step;
  }

  static Value workspaceOf(Operation *op) {
    return TypeSwitch<Operation *, Value>(op)
        .Case<plan::LaunchOp, plan::GemmOp, plan::ConvOp, plan::AttentionOp>(
            [](auto step) { return step.getWorkspace(); })
        .Default(Value());
  }

  /// Bytes of a buffer, and the step that wrote them.
  struct Range {
    uint64_t begin, end;
  };
  struct Write {
    Range range;
    size_t step;
  };
  static Range rangeOf(Value value) {
    uint64_t offset = 0;
    plan::rootOf(value, &offset);
    return {offset, offset + plan::byteSize(value.getType())};
  }

  /// Returns the number of the buffer under `value`, live at step `place`.
  size_t bufferOf(Value value, size_t place) {
    plan::BufferOp root = plan::rootOf(value);
    auto [it, isNew] = numbersOf.insert({root, result.buffers.size()});
    if (isNew) {
      auto type = cast<MemRefType>(root.getBuffer().getType());
      Buffer buffer;
      buffer.space = root.getSpace();
      buffer.offset = root.getOffset().value_or(0);
      buffer.bytes = plan::byteSize(type);
      buffer.type = typeText(type);
      buffer.name = nameOf(root);
      buffer.first = place;
      result.buffers.push_back(std::move(buffer));
    }
    result.buffers[it->second].last = place;
    return it->second;
  }

  std::string nameOf(plan::BufferOp buffer) {
    if (std::optional<StringRef> symbol = buffer.getSymbol())
      return symbol->str();
    bool isInput = buffer.getSpace() == plan::Space::input;
    if (!isInput && buffer.getSpace() != plan::Space::output)
      return "";
    ArrayAttr names = isInput ? function.getInputs() : function.getOutputs();
    size_t index = buffer.getIndex().value_or(0);
    if (index >= names.size())
      return "";
    return cast<StringAttr>(names[index]).str();
  }

  plan::TargetOp target;
  plan::FunctionOp function;
  plan::CommandListOp list;
  const llvm::StringMap<unsigned> &kernels;
  const std::vector<Kernel> &facts;
  List result;
  llvm::DenseMap<Operation *, size_t> numbersOf; ///< of buffers
  llvm::DenseMap<Operation *, size_t> placeOf;   ///< of steps
  /// By buffer: the writes to it that no later write covers.
  llvm::DenseMap<size_t, std::vector<Write>> writes;
};
} // namespace

/// Describes what a function runs on a target.
static Program describeProgram(plan::FunctionOp function, plan::TargetOp target,
                               KernelTime timeOf) {
  Program program;
  program.function = function.getName();
  program.arch = target.getArch();
  program.preparedBytes = target.getPreparedBytes().value_or(0);
  SmallVector<plan::CommandListOp> lists;
  llvm::StringSet<> used;
  for (auto list : target.getBody().getOps<plan::CommandListOp>()) {
    if (list.getFunction().value_or(function.getName()) != function.getName())
      continue;
    lists.push_back(list);
    list.walk([&](Operation *step) {
      if (FlatSymbolRefAttr kernel = plan::kernelOf(step))
        used.insert(kernel.getValue());
    });
  }
  llvm::StringMap<StringRef> sources;
  llvm::StringMap<unsigned> kernels;
  for (auto kernel : target.getBody().getOps<plan::KernelOp>()) {
    if (plan::SourceAttr source = kernel.getSourceAttr())
      sources[kernel.getSymName()] = source.getText();
    if (!used.contains(kernel.getSymName()))
      continue;
    kernels[kernel.getSymName()] = program.kernels.size();
    program.kernels.push_back(
        describeKernel(kernel, timeOf(target.getArch(),
                                      cast<nn::FusionOp>(kernel.getFusion()))));
    // Kernels of one text share the source of the first.
    if (std::optional<StringRef> symbol = kernel.getSymbol();
        symbol && sources.contains(*symbol))
      program.kernels.back().source = sources[*symbol].str();
  }
  for (plan::CommandListOp list : lists)
    program.lists.push_back(
        ListReader(target, function, list, kernels, program.kernels).read());
  return program;
}

Report report::describe(ModuleOp plans, KernelTime timeOf) {
  Report report;
  for (auto constant : plans.getOps<plan::ConstantOp>())
    report.weightBytes += plan::byteSize(constant.getValue().getType());
  for (auto state : plans.getOps<plan::StateOp>())
    report.stateBytes += plan::byteSize(state.getType());
  for (auto target : plans.getOps<plan::TargetOp>())
    for (auto function : plans.getOps<plan::FunctionOp>())
      report.programs.push_back(describeProgram(function, target, timeOf));
  return report;
}
