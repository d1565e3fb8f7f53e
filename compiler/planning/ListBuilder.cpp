//===- ListBuilder.cpp - Command lists of a program -----------------------===//

#include "compiler/planning/ListBuilder.h"
#include "compiler/planning/CollectiveOrder.h"
#include "compiler/planning/Contractions.h"
#include "compiler/planning/InPlace.h"
#include "dialects/nn/StridedView.h"
#include "dialects/plan/LibraryCall.h"
#include "dialects/plan/Plan.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace frit;
using namespace frit::planning;

static MemRefType bufferType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// Returns the shards that ranks gather to `value`, or `value` itself.
static Value throughGather(Value value) {
  auto gather =
      planning::throughReshapes(value).getDefiningOp<nn::AllGatherOp>();
  return gather ? gather.getX() : value;
}

namespace {
/// Translates a function to a command list.
class ListBuilder {
public:
  ListBuilder(func::FuncOp function, plan::ProgramOp program, Kernels &kernels,
              Constants &constants, const BuildPlanOptions &options)
      : function(function), program(program), kernels(kernels),
        constants(constants), options(options),
        b(function.getLoc(), function.getContext()) {
    b.setInsertionPointToEnd(&program.getBody().front());
    list = plan::CommandListOp::create(b, TypeRange(), ValueRange());
    list.setSymName(function.getSymName());
    b.setInsertionPointToEnd(&list.getBody().emplaceBlock());
    auto module = program->getParentOfType<ModuleOp>();
    for (auto state : module.getOps<plan::StateOp>())
      if (state.getSharded())
        sharded.insert(state.getSymNameAttr());
  }

  /// `resultSpace` is the memory space of the function's results; `prepared`
  /// has the offsets of prepared buffers.
  LogicalResult run(plan::Space resultSpace, ArrayRef<int64_t> prepared) {
    if (failed(bindArguments(prepared)))
      return failure();
    orderCollectives(function);
    bindResults(resultSpace, prepared);
    bindPacks();
    if (resultSpace == plan::Space::output)
      recordTypes();
    for (Operation &op : function.getBody().front().without_terminator()) {
      b.setLoc(op.getLoc());
      if (failed(translate(&op)))
        return failure();
    }
    storeResults();
    return success();
  }

private:
  Value buffer(Type tensor, plan::Space space, std::optional<int64_t> index,
               StringAttr symbol = nullptr,
               std::optional<int64_t> offset = {}) {
    auto attr = [&](std::optional<int64_t> v) {
      return v ? b.getI64IntegerAttr(*v) : IntegerAttr();
    };
    return plan::BufferOp::create(b, bufferType(tensor), space, attr(index),
                                  symbol, attr(offset));
  }

  /// Returns `value` viewed with the shape of `tensor`.
  Value view(Value value, Type tensor) {
    MemRefType type = bufferType(tensor);
    return value.getType() == type
               ? value
               : Value(plan::ViewOp::create(b, type, value, 0));
  }

  LogicalResult bindArguments(ArrayRef<int64_t> prepared) {
    int64_t inputs = 0;
    for (BlockArgument argument : function.getArguments()) {
      if (auto state = function.getArgAttrOfType<FlatSymbolRefAttr>(
              argument.getArgNumber(), "nn.state")) {
        map.map(argument, buffer(argument.getType(), plan::Space::state, {},
                                 state.getAttr()));
        states[state.getAttr()] = argument;
        continue;
      }
      auto index = function.getArgAttrOfType<IntegerAttr>(
          argument.getArgNumber(), "nn.prepared");
      if (!index) {
        map.map(argument,
                buffer(argument.getType(), plan::Space::input, inputs++));
        continue;
      }
      if (index.getInt() < 0 || index.getInt() >= int64_t(prepared.size()))
        return function.emitError() << "nn.prepared = " << index.getInt()
                                    << " is no result of @prepare";
      map.map(argument, buffer(argument.getType(), plan::Space::prepared, {},
                               nullptr, prepared[index.getInt()]));
    }
    return success();
  }

  bool isInput(BlockArgument argument) {
    unsigned i = argument.getArgNumber();
    return !function.getArgAttr(i, "nn.prepared") &&
           !function.getArgAttr(i, "nn.state");
  }

  /// Returns the name of the state that a result is the next value of, or null.
  StringAttr stateOf(unsigned result) {
    auto state =
        function.getResultAttrOfType<FlatSymbolRefAttr>(result, "nn.state");
    return state ? state.getAttr() : StringAttr();
  }

  void recordTypes() {
    SmallVector<Type> inputs, outputs;
    for (BlockArgument argument : function.getArguments())
      if (isInput(argument))
        inputs.push_back(argument.getType());
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      if (!stateOf(i))
        outputs.push_back(type);
    list.setInputTypesAttr(b.getTypeArrayAttr(inputs));
    list.setOutputTypesAttr(b.getTypeArrayAttr(outputs));
  }

  /// Creates the buffers of the results. The fusion that computes a result,
  /// possibly reshaped, writes there directly.
  void bindResults(plan::Space space, ArrayRef<int64_t> prepared) {
    Operation *terminator = function.getBody().front().getTerminator();
    int64_t outputs = 0;
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      if (StringAttr state = stateOf(i)) {
        BlockArgument before = states.lookup(state);
        results.push_back(map.lookup(before));
        Value made = throughGather(value);
        if (options.overwritesState && mayOverwrite(before, made))
          destination.try_emplace(throughReshapes(made), results.back());
        continue;
      }
      bool output = space == plan::Space::output;
      Value result = buffer(
          value.getType(), space,
          output ? std::optional<int64_t>(outputs++) : std::nullopt, nullptr,
          output ? std::nullopt : std::optional<int64_t>(prepared[i]));
      results.push_back(result);
      Value source = throughReshapes(value);
      if (source.getDefiningOp<nn::FusionOp>())
        destination.try_emplace(source, result);
    }
  }

  /// Creates the buffers of packs. The fusion that computes a part, possibly
  /// reshaped, writes there directly.
  void bindPacks() {
    for (auto pack : function.getBody().front().getOps<nn::PackOp>()) {
      Value whole = buffer(pack.getY().getType(), plan::Space::arena, {});
      map.map(pack.getY(), whole);
      bool changes = isReduced(pack.getY());
      for (auto [x, offset] : llvm::zip(pack.getXs(), pack.getOffsets())) {
        Value source = throughReshapes(x);
        // A pack that is reduced in place must not hold what others read.
        if (source.getDefiningOp<nn::FusionOp>() &&
            (!changes || hasOneReader(source)))
          destination.try_emplace(source,
                                  part(whole, offset, source.getType()));
      }
    }
  }

  /// Returns the view of a flat buffer from element `offset` on.
  Value part(Value whole, int64_t offset, Type tensor) {
    MemRefType type = bufferType(tensor);
    int64_t bytes = offset * type.getElementTypeBitWidth() / 8;
    return plan::ViewOp::create(b, type, whole, bytes);
  }

  /// Copies the parts that nothing has written in place, and zeros between
  /// parts.
  void translatePack(nn::PackOp pack) {
    Value whole = map.lookup(pack.getY());
    int64_t end = 0;
    auto clear = [&](int64_t from, int64_t to) {
      if (from == to)
        return;
      auto type =
          cast<RankedTensorType>(pack.getY().getType()).clone({to - from});
      Value zeros =
          buffer(type, plan::Space::constant, {},
                 constants.get("zeros",
                               DenseElementsAttr::get(
                                   type, b.getZeroAttr(type.getElementType())),
                               pack.getLoc()));
      plan::CopyOp::create(b, zeros, part(whole, from, type));
    };
    for (auto [x, offset] : llvm::zip(pack.getXs(), pack.getOffsets())) {
      clear(end, offset);
      Value place = part(whole, offset, x.getType()), source = map.lookup(x);
      uint64_t at = 0;
      if (plan::rootOf(source, &at) != plan::rootOf(place) ||
          at != uint64_t(offset) *
                    pack.getY().getType().getElementTypeBitWidth() / 8)
        plan::CopyOp::create(b, source, place);
      end = offset + nn::tensorType(x).getNumElements();
    }
    clear(end, pack.getSize());
  }

  /// Reduces the operand in place, or a copy of it if something else reads it.
  void translateReduction(Operation *op) {
    Value x = op->getOperand(0), source = throughReshapes(x);
    Value place = map.lookup(x);
    if (!hasOneReader(source) ||
        !isa_and_nonnull<nn::FusionOp, nn::PackOp>(source.getDefiningOp()) ||
        plan::rootOf(place).getSpace() != plan::Space::arena) {
      Value copy = buffer(x.getType(), plan::Space::arena, {});
      plan::CopyOp::create(b, place, copy);
      place = copy;
    }
    map.map(op->getResult(0), place);
    if (auto reduce = dyn_cast<nn::AllReduceOp>(op))
      plan::AllReduceOp::create(b, place, reduce.getSum());
    else
      plan::ReduceScatterOp::create(b, place);
    exchanged.push_back(place);
  }

  /// Gathers the shards in place.
  void translateAllGather(nn::AllGatherOp op) {
    Value place = map.lookup(op.getX());
    map.map(op.getY(), place);
    plan::AllGatherOp::create(b, place);
    exchanged.push_back(place);
  }

  /// Waits for the exchanges whose results a step reads, before that step.
  void awaitExchanges(Operation *op) {
    auto isRead = [&](Value place) {
      return llvm::any_of(op->getOperands(), [&](Value operand) {
        Value known = map.lookupOrNull(operand);
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
    // A slice is a kernel unless it is contiguous.
    auto slice = dyn_cast<nn::SliceOp>(op);
    if (!isa<nn::ReshapeOp>(op) && !(slice && nn::contiguousOffset(slice)))
      awaitExchanges(op);
    if (auto gather = dyn_cast<nn::AllGatherOp>(op))
      return translateAllGather(gather), success();
    if (nn::isCollective(op))
      return translateReduction(op), success();
    if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
      map.map(constant.getY(),
              buffer(constant.getY().getType(), plan::Space::constant, {},
                     constants.get(constant)));
      return success();
    }
    if (auto reshape = dyn_cast<nn::ReshapeOp>(op)) {
      map.map(reshape.getY(),
              view(map.lookup(reshape.getX()), reshape.getY().getType()));
      return success();
    }
    if (slice)
      if (auto offset = nn::contiguousOffset(slice)) {
        MemRefType type = bufferType(slice.getY().getType());
        int64_t count = std::max<int64_t>(type.getNumElements(), 1);
        map.map(slice.getY(),
                plan::ViewOp::create(b, type, map.lookup(slice.getX()),
                                     *offset * (plan::byteSize(type) / count)));
        return success();
      }
    if (auto pack = dyn_cast<nn::PackOp>(op))
      return translatePack(pack), success();
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
      inputs.push_back(map.lookup(input));
    if (schedule.readsConstantsEarly())
      markConstants(fusion, inputs);
    for (Value result : fusion.getResults()) {
      auto it = destination.find(result);
      Value out = it == destination.end()
                      ? buffer(result.getType(), plan::Space::arena, {})
                      : view(it->second, result.getType());
      map.map(result, out);
      outputs.push_back(out);
    }
    if (auto call = dyn_cast<plan::LibraryCall>(schedule)) {
      plan::CallBuffers buffers = {inputs, outputs, /*fallback=*/nullptr,
                                   options.workspaceBytes};
      if (auto own =
              dyn_cast_or_null<nn::Schedule>(schedule.fallbackSchedule());
          own && options.fallbacks) {
        fusion.setScheduleAttr(own);
        buffers.fallback = kernels.get(fusion);
      }
      nn::Problem problem(fusion);
      return call.buildStep(b, problem, buffers);
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
      plan::BufferOp root = plan::rootOf(map.lookup(value));
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
        plan::GuardOp::create(b, map.lookup(op.getCondition()), op.getWhen());
    Block &inner = op.getBody().front();
    for (auto [input, argument] :
         llvm::zip(op.getInputs(), inner.getArguments()))
      map.map(argument, map.lookup(input));
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
      map.map(result, map.lookup(value));
    for (Operation &made : llvm::make_early_inc_range(guard.getBody().front()))
      if (!plan::isStep(&made))
        made.moveBefore(guard);
    return success();
  }

  /// Marks the kernel's inputs that no step of this list writes. The kernel may
  /// read them before preceding kernels have ended (PDL).
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
  }

  /// Copies results that no fusion of this list has written in place.
  void storeResults() {
    Operation *terminator = function.getBody().front().getTerminator();
    awaitExchanges(terminator);
    for (auto [value, result] : llvm::zip(terminator->getOperands(), results)) {
      Value source = map.lookup(value);
      if (plan::rootOf(source) != plan::rootOf(result))
        plan::CopyOp::create(b, view(source, value.getType()), result);
    }
  }

  func::FuncOp function;
  plan::ProgramOp program;
  Kernels &kernels;
  Constants &constants;
  const BuildPlanOptions &options;
  ImplicitLocOpBuilder b;
  plan::CommandListOp list;
  IRMapping map;
  SmallVector<Value> results;
  SmallVector<Value> exchanged; ///< buffers that are not waited for yet
  DenseMap<Value, Value> destination;
  DenseMap<StringAttr, BlockArgument> states; ///< values before the call
  DenseSet<StringAttr> sharded; ///< states of which a rank has a shard
};
} // namespace

LogicalResult planning::buildList(func::FuncOp function,
                                  plan::ProgramOp program, Kernels &kernels,
                                  Constants &constants,
                                  const BuildPlanOptions &options,
                                  plan::Space resultSpace,
                                  ArrayRef<int64_t> prepared) {
  return ListBuilder(function, program, kernels, constants, options)
      .run(resultSpace, prepared);
}
