//===- ListBuilder.cpp - Command lists of a target ------------------------===//

#include "compiler/planning/ListBuilder.h"
#include "compiler/planning/CollectiveOrder.h"
#include "compiler/planning/Contractions.h"
#include "compiler/planning/InPlace.h"
#include "compiler/planning/ListBuffers.h"
#include "dialects/nn/Fold.h"
#include "dialects/nn/StridedView.h"
#include "dialects/plan/LibraryCall.h"
#include "dialects/plan/Plan.h"

using namespace mlir;
using namespace frit;
using namespace frit::planning;

namespace {
/// Translates a function to a command list.
class ListBuilder {
public:
  ListBuilder(func::FuncOp function, plan::TargetOp target, Kernels &kernels,
              Constants &constants, const BuildPlanOptions &options)
      : function(function), target(target), kernels(kernels),
        constants(constants), options(options),
        b(function.getLoc(), function.getContext()),
        buffers(function, b, constants, options.target.overwritesState()) {
    b.setInsertionPointToEnd(&target.getBody().front());
    list = plan::CommandListOp::create(b, TypeRange(), ValueRange());
    list.setSymName(function.getSymName());
    b.setInsertionPointToEnd(&list.getBody().emplaceBlock());
    auto module = target->getParentOfType<ModuleOp>();
    for (auto state : module.getOps<plan::StateOp>())
      if (state.getSharded())
        sharded.insert(state.getSymNameAttr());
  }

  /// `resultSpace` is the memory space of the function's results; `prepared`
  /// has the offsets of prepared buffers.
  LogicalResult run(plan::Space resultSpace, ArrayRef<int64_t> prepared) {
    sinkReplacements();
    orderCollectives(function);
    if (failed(buffers.bind(resultSpace, prepared)))
      return failure();
    if (resultSpace == plan::Space::output) {
      list.setSymName(options.function);
      list.setFunction(options.function);
      list.setInputTypesAttr(b.getTypeArrayAttr(buffers.inputTypes()));
      list.setOutputTypesAttr(b.getTypeArrayAttr(buffers.outputTypes()));
    }
    for (Operation &op : function.getBody().front().without_terminator()) {
      b.setLoc(op.getLoc());
      if (failed(translate(&op)))
        return failure();
    }
    awaitExchanges(function.getBody().front().getTerminator());
    buffers.storeResults();
    return success();
  }

private:
  /// Moves the replacements of states to the end, so that readers of the values
  /// before come earlier.
  void sinkReplacements() {
    Block &block = function.getBody().front();
    Operation *end = block.getTerminator();
    for (nn::UpdateOp update : llvm::to_vector(block.getOps<nn::UpdateOp>()))
      if (llvm::all_of(update->getUsers(),
                       [&](Operation *user) { return user == end; }))
        update->moveBefore(end);
  }

  /// Reduces the operand in place, or a copy of it if something else reads it.
  void translateReduction(Operation *op) {
    Value x = op->getOperand(0), source = nn::throughReshapes(x);
    Value place = buffers.of(x);
    if (!hasOneReader(source) ||
        !isa_and_nonnull<nn::FusionOp, nn::PackOp>(source.getDefiningOp()) ||
        plan::rootOf(place).getSpace() != plan::Space::arena) {
      Value copy = buffers.createInArena(x.getType());
      plan::CopyOp::create(b, place, copy);
      place = copy;
    }
    buffers.set(op->getResult(0), place);
    auto reduce = dyn_cast<nn::AllReduceOp>(op);
    plan::CollectiveOp::create(b,
                               !reduce ? plan::Collective::reduce_scatter
                               : reduce.getSum() ? plan::Collective::sum
                                                 : plan::Collective::mean,
                               place);
    exchanged.push_back(place);
  }

  /// Gathers the shards in place.
  void translateAllGather(nn::AllGatherOp op) {
    Value place = buffers.of(op.getX());
    buffers.set(op.getY(), place);
    plan::CollectiveOp::create(b, plan::Collective::all_gather, place);
    exchanged.push_back(place);
  }

  /// Waits for the exchanges whose results a step reads, before that step.
  void awaitExchanges(Operation *op) {
    auto isRead = [&](Value place) {
      return llvm::any_of(op->getOperands(), [&](Value operand) {
        Value known = buffers.find(operand);
        return known && plan::rootOf(known) == plan::rootOf(place);
      });
    };
    auto rest =
        std::stable_partition(exchanged.begin(), exchanged.end(), isRead);
    if (rest == exchanged.begin())
      return;
    plan::AwaitOp::create(b, ArrayRef(exchanged.begin(), rest));
    exchanged.erase(exchanged.begin(), rest);
  }

  LogicalResult translate(Operation *op) {
    if (auto update = dyn_cast<nn::UpdateOp>(op);
        update && !update.getOffset()) {
      if (!buffers.isInPlace(update))
        awaitExchanges(op);
      return buffers.replace(update), success();
    }
    // A slice is a kernel unless it is contiguous.
    auto slice = dyn_cast<nn::SliceOp>(op);
    if (!isa<nn::ReshapeOp>(op) && !(slice && nn::contiguousOffset(slice)))
      awaitExchanges(op);
    if (auto gather = dyn_cast<nn::AllGatherOp>(op))
      return translateAllGather(gather), success();
    if (nn::isCollective(op))
      return translateReduction(op), success();
    if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
      buffers.set(constant.getY(),
                  buffers.createConstant(constant.getY().getType(),
                                         constants.get(constant)));
      return success();
    }
    if (auto reshape = dyn_cast<nn::ReshapeOp>(op)) {
      buffers.set(reshape.getY(), buffers.view(buffers.of(reshape.getX()),
                                               reshape.getY().getType()));
      return success();
    }
    if (slice)
      if (auto offset = nn::contiguousOffset(slice)) {
        buffers.set(slice.getY(),
                    buffers.part(buffers.of(slice.getX()), *offset,
                                 slice.getY().getType()));
        return success();
      }
    if (auto pack = dyn_cast<nn::PackOp>(op))
      return buffers.fill(pack), success();
    if (auto fusion = dyn_cast<nn::FusionOp>(op))
      return translateFusion(fusion);
    if (auto guard = dyn_cast<nn::GuardOp>(op))
      return translateGuard(guard);
    return op->emitError() << "'" << op->getName()
                           << "' is in no fusion, so it has no step";
  }

  LogicalResult translateFusion(nn::FusionOp fusion) {
    nn::Schedule schedule = fusion.getScheduleAttr();
    if (!schedule)
      return fusion.emitError("has no schedule");
    if (schedule.ordersOperands())
      orderContractionInputs(fusion);
    SmallVector<Value> inputs, outputs;
    for (Value input : fusion.getInputs())
      inputs.push_back(buffers.of(input));
    if (schedule.readsConstantsEarly())
      markConstants(fusion, inputs);
    for (OpResult result : fusion.getResults()) {
      auto operand = fusion.replacedOperand(result);
      outputs.push_back(
          operand
              ? buffers.createTied(fusion, result.getResultNumber(), *operand)
              : buffers.createFor(result));
      if (operand)
        inputs[*operand] = outputs.back();
    }
    if (!fusion.getBody().front().getOps<nn::AttentionOp>().empty())
      markSettled(fusion, inputs);
    if (auto call = dyn_cast<plan::LibraryCall>(schedule)) {
      plan::CallBuffers arguments = {inputs, outputs, /*fallback=*/nullptr,
                                     options.target.workspaceBytes()};
      if (auto own =
              dyn_cast_or_null<nn::Schedule>(schedule.fallbackSchedule());
          own && options.fallbacks && options.target.needsFallbacks()) {
        fusion.setScheduleAttr(own);
        arguments.fallback = kernels.get(fusion);
      }
      nn::Problem problem(fusion);
      return call.buildStep(b, problem, arguments);
    }
    FlatSymbolRefAttr kernel = kernels.get(fusion);
    plan::LaunchOp::create(b, kernel, inputs, outputs, /*workspace=*/nullptr,
                           /*follows=*/nullptr, shardRows(fusion));
    return success();
  }

  /// Returns the number of rows if a rank computes only its shard of the
  /// fusion's results: the fusion uses a sharded state, or ranks exchange the
  /// shards. Null otherwise.
  IntegerAttr shardRows(nn::FusionOp fusion) {
    auto isSharded = [&](Value value) {
      plan::BufferOp root = plan::rootOf(buffers.of(value));
      return root.getSpace() == plan::Space::state &&
             sharded.contains(root.getSymbolAttr());
    };
    auto isGathered = [](Value value) {
      return llvm::any_of(value.getUsers(), [](Operation *user) {
        return isa<nn::AllGatherOp>(user);
      });
    };
    if (!llvm::any_of(fusion.getInputs(), isSharded) &&
        !llvm::any_of(fusion.getResults(), isSharded) &&
        !llvm::any_of(fusion.getResults(), isGathered))
      return nullptr;
    int64_t count = nn::tensorType(fusion.getResult(0)).getNumElements();
    return b.getI64IntegerAttr(count / nn::kShardRow);
  }

  /// Creates buffers in the list, not in the guard, because steps after the
  /// guard read some of them.
  LogicalResult translateGuard(nn::GuardOp op) {
    auto guard =
        plan::GuardOp::create(b, buffers.of(op.getCondition()), op.getWhen());
    Block &inner = op.getBody().front();
    for (auto [input, argument] :
         llvm::zip(op.getInputs(), inner.getArguments()))
      buffers.set(argument, buffers.of(input));
    {
      OpBuilder::InsertionGuard outside(b);
      b.setInsertionPointToEnd(&guard.getBody().emplaceBlock());
      for (Operation &step : inner.without_terminator()) {
        b.setLoc(step.getLoc());
        if (failed(translate(&step)))
          return failure();
      }
    }
    for (auto [result, value] :
         llvm::zip(op.getOutputs(), inner.getTerminator()->getOperands()))
      buffers.set(result, buffers.of(value));
    for (Operation &made : llvm::make_early_inc_range(guard.getBody().front()))
      if (!plan::isStep(&made))
        made.moveBefore(guard);
    return success();
  }

  /// Marks the kernel's inputs that no step of this list writes. The kernel may
  /// read them before preceding kernels have ended (PDL). Also marks those that
  /// are the integer 0.
  void markConstants(nn::FusionOp fusion, ArrayRef<Value> inputs) {
    SmallVector<int64_t> constants;
    for (auto [i, input] : llvm::enumerate(inputs)) {
      plan::Space space = plan::rootOf(input).getSpace();
      if (space == plan::Space::constant ||
          (space == plan::Space::prepared && function.getSymName() == "main"))
        constants.push_back(i);
    }
    if (!constants.empty())
      fusion->setAttr("plan.constant_inputs",
                      b.getDenseI64ArrayAttr(constants));
    SmallVector<int64_t> zeros;
    for (auto [i, input] : llvm::enumerate(fusion.getInputs()))
      if (nn::isZeroInteger(input))
        zeros.push_back(i);
    if (!zeros.empty())
      fusion->setAttr("plan.zero_inputs", b.getDenseI64ArrayAttr(zeros));
  }

  /// Marks the kernel's inputs that are states which no step has written yet.
  /// The kernel may read what it does not write itself before preceding kernels
  /// have ended (PDL): a call begins when all of the one before has ended, and
  /// later steps write after this one.
  void markSettled(nn::FusionOp fusion, ArrayRef<Value> inputs) {
    DenseSet<StringAttr> written;
    list.walk([&](Operation *step) {
      if (plan::isStep(step))
        for (Value buffer : plan::writesOf(step))
          if (plan::BufferOp root = plan::rootOf(buffer);
              root.getSpace() == plan::Space::state)
            written.insert(root.getSymbolAttr());
    });
    SmallVector<int64_t> settled;
    for (auto [i, input] : llvm::enumerate(inputs))
      if (plan::BufferOp root = plan::rootOf(input);
          root.getSpace() == plan::Space::state &&
          !written.contains(root.getSymbolAttr()))
        settled.push_back(i);
    if (!settled.empty())
      fusion->setAttr("plan.settled_inputs", b.getDenseI64ArrayAttr(settled));
  }

  func::FuncOp function;
  plan::TargetOp target;
  Kernels &kernels;
  Constants &constants;
  const BuildPlanOptions &options;
  ImplicitLocOpBuilder b;
  plan::CommandListOp list;
  ListBuffers buffers;
  SmallVector<Value> exchanged; ///< buffers that are not waited for yet
  DenseSet<StringAttr> sharded; ///< states of which a rank has a shard
};
} // namespace

LogicalResult planning::buildList(func::FuncOp function, plan::TargetOp target,
                                  Kernels &kernels, Constants &constants,
                                  const BuildPlanOptions &options,
                                  plan::Space resultSpace,
                                  ArrayRef<int64_t> prepared) {
  return ListBuilder(function, target, kernels, constants, options)
      .run(resultSpace, prepared);
}
