//===- BuildPlan.cpp - Turn scheduled fusions into steps ------------------===//
//
//   func.func @main(%x: tensor<4xf32> {nn.name = "x"})
//       -> (tensor<4xf32> {nn.name = "y"}) {
//     %0 = nn.fusion(%x) schedule(#cuda.map<vector = 4, threads = 64>) : ... {
//     relu } return %0
//   }
// ==>
//   plan.program @model "sm_90a" {
//     plan.kernel @relu { nn.fusion ... }
//     plan.command_list @main {
//       %x = plan.buffer input[0] : memref<4xf32>
//       %y = plan.buffer output[0] : memref<4xf32>
//       plan.launch @relu(%x) -> (%y) : memref<4xf32> -> memref<4xf32>
//     }
//   }
//
// Fusions with the same text share a kernel. An nn.guard becomes a plan.guard.
// A fusion whose result is returned writes it directly to the output; reshapes
// are views. So does one whose result is part of an nn.pack.
//
// An nn.state becomes a plan.state, and the arguments and results that name it
// its buffer. A kernel writes the new value over the old one where nothing
// reads the old one afterwards; otherwise it is copied at the end of the list.
//
// An nn.all_reduce becomes a plan.all_reduce of its operand's buffer where the
// operand is ready, and a plan.await before the first step that uses the
// result.
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/Contractions.h"
#include "compiler/planning/Kernels.h"
#include "compiler/planning/Passes.h"
#include "dialects/nn/StridedView.h"
#include "dialects/plan/Plan.h"
#include "frit/artifact.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace frit;

namespace {

MemRefType bufferType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// The module's plan.constants. Constants with equal names and values share an
/// entry.
class Constants {
public:
  explicit Constants(ModuleOp module) : module(module), symbols(module) {}

  /// Returns the name of the constant's entry; creates it if needed.
  StringAttr get(nn::ConstantOp op) {
    return get(op.getName().value_or("constant"), op.getValue(), op.getLoc());
  }
  StringAttr get(StringRef wanted, ElementsAttr value, Location loc) {
    Namesakes &namesakes = byName[wanted];
    while (true) {
      if (StringAttr known = namesakes.entries.lookup(value))
        return known;
      std::string name = wanted.str();
      if (namesakes.taken)
        name += "." + std::to_string(namesakes.taken);
      Operation *taken = symbols.lookup(name);
      if (!taken)
        return namesakes.entries[value] = create(name, value, loc);
      if (auto constant = dyn_cast<plan::ConstantOp>(taken))
        namesakes.entries.try_emplace(constant.getValue(),
                                      constant.getSymNameAttr());
      ++namesakes.taken;
    }
  }

private:
  StringAttr create(StringRef name, ElementsAttr value, Location loc) {
    OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
    auto constant = plan::ConstantOp::create(
        outside, loc, outside.getStringAttr(name), value);
    symbols.insert(constant);
    return constant.getSymNameAttr();
  }

  /// Entries with the same wanted name; they get numbers as suffixes.
  struct Namesakes {
    int taken = 0; ///< suffixes tried so far
    DenseMap<Attribute, StringAttr> entries;
  };

  ModuleOp module;
  SymbolTable symbols;
  llvm::StringMap<Namesakes> byName;
};

/// Translates a function to a command list.
class ListBuilder {
public:
  ListBuilder(func::FuncOp function, plan::ProgramOp program,
              planning::Kernels &kernels, Constants &constants,
              const planning::BuildPlanOptions &options)
      : function(function), program(program), kernels(kernels),
        constants(constants), options(options),
        b(function.getLoc(), function.getContext()) {
    b.setInsertionPointToEnd(&program.getBody().front());
    list = plan::CommandListOp::create(b, TypeRange(), ValueRange());
    list.setSymName(function.getSymName());
    b.setInsertionPointToEnd(&list.getBody().emplaceBlock());
  }

  /// `resultSpace` is the memory space of the function's results; `prepared`
  /// has the offsets of prepared buffers.
  LogicalResult run(plan::Space resultSpace, ArrayRef<int64_t> prepared) {
    if (failed(bindArguments(prepared)))
      return failure();
    raiseReductions();
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
        if (mayOverwrite(before, value))
          destination.try_emplace(throughReshapes(value), results.back());
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

  /// Moves each nn.all_reduce, and the nn.pack that it reduces, to where the
  /// last operand is ready.
  void raiseReductions() {
    auto raise = [](Operation *op) {
      Operation *last = nullptr;
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if (!last || last->isBeforeInBlock(def))
            last = def;
      if (last)
        op->moveAfter(last);
    };
    for (auto reduce : llvm::make_early_inc_range(
             function.getBody().front().getOps<nn::AllReduceOp>())) {
      SmallVector<Operation *> chain = {reduce};
      while (isa_and_nonnull<nn::ReshapeOp, nn::PackOp>(
          chain.back()->getOperand(0).getDefiningOp())) {
        chain.push_back(chain.back()->getOperand(0).getDefiningOp());
        if (isa<nn::PackOp>(chain.back()))
          break;
      }
      if (auto pack = dyn_cast<nn::PackOp>(chain.back()))
        for (Value x : pack.getXs()) {
          SmallVector<Operation *> reshapes;
          while (auto reshape = x.getDefiningOp<nn::ReshapeOp>()) {
            reshapes.push_back(reshape);
            x = reshape.getX();
          }
          for (Operation *reshape : llvm::reverse(reshapes))
            raise(reshape);
        }
      for (Operation *op : llvm::reverse(chain))
        raise(op);
    }
  }

  /// Returns whether nothing but one operator, possibly through reshapes, uses
  /// a value.
  static bool hasOneReader(Value value) {
    while (value.hasOneUse())
      if (auto reshape = dyn_cast<nn::ReshapeOp>(*value.user_begin()))
        value = reshape.getY();
      else
        return true;
    return false;
  }

  /// Returns whether a value, possibly through reshapes, is replaced by its
  /// mean.
  static bool isReduced(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      auto reshape = dyn_cast<nn::ReshapeOp>(user);
      return isa<nn::AllReduceOp>(user) ||
             (reshape && isReduced(reshape.getY()));
    });
  }

  static Value throughReshapes(Value value) {
    while (auto reshape = value.getDefiningOp<nn::ReshapeOp>())
      value = reshape.getX();
    return value;
  }

  /// Returns whether the kernel that computes the next value of a state may
  /// write it over the value before: all other readers of that run earlier, and
  /// it reads each element only to compute the same element.
  bool mayOverwrite(BlockArgument before, Value after) {
    Value source = throughReshapes(after);
    auto fusion = source.getDefiningOp<nn::FusionOp>();
    if (!options.overwritesState || !fusion || destination.contains(source))
      return false;
    SmallVector<Value> views = {before};
    while (!views.empty()) {
      Value view = views.pop_back_val();
      for (OpOperand &use : view.getUses()) {
        Operation *user = use.getOwner();
        auto slice = dyn_cast<nn::SliceOp>(user);
        if (isa<nn::ReshapeOp>(user) || (slice && nn::contiguousOffset(slice)))
          views.push_back(user->getResult(0));
        else if (user == fusion ? !readsElementwise(fusion, use)
                                : !user->isBeforeInBlock(fusion))
          return false;
      }
    }
    return true;
  }

  /// Returns whether the results of a fusion depend on an operand elementwise,
  /// and are as large.
  static bool readsElementwise(nn::FusionOp fusion, OpOperand &use) {
    SmallVector<Value> work = {
        fusion.getBody().getArgument(use.getOperandNumber())};
    ArrayRef<int64_t> shape = nn::shapeOf(work[0]);
    while (!work.empty())
      for (Operation *user : work.pop_back_val().getUsers()) {
        if (isa<nn::YieldOp>(user))
          continue;
        if (!isa<nn::ElementwiseOp>(user) ||
            nn::shapeOf(user->getResult(0)) != shape)
          return false;
        work.push_back(user->getResult(0));
      }
    return true;
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
        // Other readers of a part see it as it was.
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
  void translateAllReduce(nn::AllReduceOp op) {
    Value source = throughReshapes(op.getX());
    Value place = map.lookup(op.getX());
    if (!hasOneReader(source) ||
        !isa_and_nonnull<nn::FusionOp, nn::PackOp>(source.getDefiningOp()) ||
        plan::rootOf(place).getSpace() != plan::Space::arena) {
      Value copy = buffer(op.getY().getType(), plan::Space::arena, {});
      plan::CopyOp::create(b, place, copy);
      place = copy;
    }
    map.map(op.getY(), place);
    plan::AllReduceOp::create(b, place);
    reducing.push_back(place);
  }

  /// Waits for the reductions before a step that reads their results.
  void awaitReductions(Operation *op) {
    auto isReducing = [&](Value operand) {
      Value known = map.lookupOrNull(operand);
      return known && llvm::any_of(reducing, [&](Value place) {
               return plan::rootOf(place) == plan::rootOf(known);
             });
    };
    if (reducing.empty() || llvm::none_of(op->getOperands(), isReducing))
      return;
    plan::AwaitOp::create(b, reducing);
    reducing.clear();
  }

  LogicalResult translate(Operation *op) {
    // A slice is a kernel unless it is contiguous.
    auto slice = dyn_cast<nn::SliceOp>(op);
    if (!isa<nn::ReshapeOp>(op) && !(slice && nn::contiguousOffset(slice)))
      awaitReductions(op);
    if (auto reduce = dyn_cast<nn::AllReduceOp>(op))
      return translateAllReduce(reduce), success();
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
      planning::orderContractionInputs(fusion);
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
    if (schedule.isLibraryCall()) {
      FlatSymbolRefAttr fallback;
      if (auto own =
              dyn_cast_or_null<nn::Schedule>(schedule.fallbackSchedule());
          own && options.fallbacks) {
        fusion.setScheduleAttr(own);
        fallback = kernels.get(fusion);
      }
      return planning::buildContraction(b, fusion, schedule.libraryAlgorithm(),
                                        inputs, outputs, fallback,
                                        options.workspaceBytes);
    }
    FlatSymbolRefAttr kernel = kernels.get(fusion);
    plan::LaunchOp::create(b, kernel, inputs, outputs, /*workspace=*/nullptr,
                           /*follows=*/nullptr);
    return success();
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
    awaitReductions(terminator);
    for (auto [value, result] : llvm::zip(terminator->getOperands(), results)) {
      Value source = map.lookup(value);
      if (plan::rootOf(source) != plan::rootOf(result))
        plan::CopyOp::create(b, view(source, value.getType()), result);
    }
  }

  func::FuncOp function;
  plan::ProgramOp program;
  planning::Kernels &kernels;
  Constants &constants;
  const planning::BuildPlanOptions &options;
  ImplicitLocOpBuilder b;
  plan::CommandListOp list;
  IRMapping map;
  SmallVector<Value> results;
  SmallVector<Value> reducing; ///< buffers of reductions not waited for yet
  DenseMap<Value, Value> destination;
  DenseMap<StringAttr, BlockArgument> states; ///< values before the call
};

struct BuildPlan : PassWrapper<BuildPlan, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BuildPlan)

  BuildPlan() = default;
  explicit BuildPlan(planning::BuildPlanOptions options)
      : options(std::move(options)) {}
  BuildPlan(const BuildPlan &other)
      : PassWrapper(other), options(other.options) {}

  StringRef getArgument() const override { return "build-plan"; }
  StringRef getDescription() const override {
    return "Turn scheduled fusions into a plan";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<plan::PlanDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main) {
      module.emitError("has no function @main");
      return signalPassFailure();
    }
    ImplicitLocOpBuilder b(module.getLoc(), &getContext());
    b.setInsertionPointToEnd(module.getBody());
    std::string name = "plan_" + options.arch;
    llvm::replace(name, '-', '_');
    auto program = plan::ProgramOp::create(b, TypeRange(), ValueRange());
    program.setSymName(name);
    program.setArch(options.arch);
    if (!options.function.empty())
      program.setFunction(options.function);
    program.getBody().emplaceBlock();
    describe(main, program, b);

    Constants constants(module);
    for (auto state : llvm::make_early_inc_range(module.getOps<nn::StateOp>()))
      translateState(state, constants);
    planning::Kernels kernels(program);
    SmallVector<int64_t> prepared;
    int64_t preparedBytes = 0;
    auto prepare = module.lookupSymbol<func::FuncOp>("prepare");
    if (prepare)
      for (Type type : prepare.getResultTypes()) {
        prepared.push_back(preparedBytes);
        preparedBytes +=
            llvm::alignTo(plan::byteSize(type), artifact::kAlignment);
      }
    program.setPreparedBytesAttr(b.getI64IntegerAttr(preparedBytes));
    if (prepare &&
        failed(ListBuilder(prepare, program, kernels, constants, options)
                   .run(plan::Space::prepared, prepared)))
      return signalPassFailure();
    if (failed(ListBuilder(main, program, kernels, constants, options)
                   .run(plan::Space::output, prepared)))
      return signalPassFailure();
    main.erase();
    if (prepare)
      prepare.erase();
  }

private:
  static void translateState(nn::StateOp state, Constants &constants) {
    OpBuilder b(state);
    SmallVector<Attribute> members;
    for (auto member : state.getMembers().getAsRange<nn::MemberAttr>()) {
      FlatSymbolRefAttr initial;
      if (ElementsAttr value = member.getInitial())
        initial = FlatSymbolRefAttr::get(
            constants.get(member.getName(), value, state.getLoc()));
      members.push_back(plan::MemberAttr::get(b.getContext(), member.getName(),
                                              member.getOffset(),
                                              member.getType(), initial));
    }
    std::string name = state.getSymName().str();
    Location loc = state.getLoc();
    auto type = cast<RankedTensorType>(state.getType());
    b.setInsertionPointAfter(state);
    state.erase();
    plan::StateOp::create(b, loc, name, IntegerAttr(), type,
                          b.getArrayAttr(members));
  }

  /// Records the names of the model's inputs and outputs.
  void describe(func::FuncOp main, plan::ProgramOp program, Builder &b) {
    SmallVector<Attribute> inputs, outputs;
    for (BlockArgument argument : main.getArguments()) {
      unsigned i = argument.getArgNumber();
      if (main.getArgAttr(i, "nn.prepared") || main.getArgAttr(i, "nn.state"))
        continue;
      auto name = main.getArgAttrOfType<StringAttr>(i, "nn.name");
      inputs.push_back(name ? name : b.getStringAttr("input" + Twine(i)));
    }
    for (unsigned i = 0; i < main.getNumResults(); ++i) {
      if (main.getResultAttr(i, "nn.state"))
        continue;
      auto name = main.getResultAttrOfType<StringAttr>(i, "nn.name");
      outputs.push_back(name ? name : b.getStringAttr("output" + Twine(i)));
    }
    program.setInputsAttr(b.getArrayAttr(inputs));
    program.setOutputsAttr(b.getArrayAttr(outputs));
  }

  planning::BuildPlanOptions options;
};

} // namespace

std::unique_ptr<Pass>
frit::planning::createBuildPlanPass(const BuildPlanOptions &options) {
  return std::make_unique<BuildPlan>(options);
}

void frit::planning::registerPlanningPasses(const nn::Target &target) {
  registerPass(
      [] { return createBuildPlanPass(BuildPlanOptions{.arch = "sm_90a"}); });
  registerPass([&target] { return createForkPass(target); });
  registerPass(createMergePlansPass);
  registerPass(createPlanMemoryPass);
}
