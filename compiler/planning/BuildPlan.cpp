//===- BuildPlan.cpp - Turn scheduled fusions into steps ------------------===//
//
//   func.func @main(%x: tensor<4xf32> {nn.name = "x"})
//       -> (tensor<4xf32> {nn.name = "y"}) {
//     %0 = nn.fusion(%x) schedule(#cuda.map<vector = 4, ...>) { relu }
//     return %0
//   }
// ==>
//   plan.function "main" inputs ["x"] outputs ["y"]
//   plan.target "sm_90a" {
//     plan.kernel @relu { nn.fusion ... }
//     plan.command_list @main of "main" {
//       %x = plan.buffer input[0] : memref<4xf32>
//       %y = plan.buffer output[0] : memref<4xf32>
//       plan.launch @relu(%x) -> (%y) : memref<4xf32> -> memref<4xf32>
//     }
//   }
//
// Fusions with the same text share a kernel. An nn.guard becomes a plan.guard.
// Reshapes are views. A fusion writes a result of the function, or a part of an
// nn.pack, directly where it belongs.
//
// An nn.state becomes a plan.state; the arguments and results that name it
// become its buffer. A result must be tied to the argument by nn.update. The
// kernel that computes the new value writes it over the old one if nothing
// reads the old one afterwards; otherwise the new one is copied, after all
// steps if they read the old one. @derive, which computes derived states,
// becomes a list too.
//
// A kernel that replaces rows of a state (nn.update at an offset) writes them
// in the state's buffer, or in a copy of it if something still reads the old
// ones.
//
// An nn.all_reduce becomes a plan.collective of its operand's buffer, as soon
// as the operand is ready, and a plan.await before the first step that uses the
// result; likewise nn.reduce_scatter and nn.all_gather. Launches between these
// two compute the rank's shard.
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/ListBuilder.h"
#include "dialects/plan/Plan.h"
#include "frit/artifact.h"
#include "frit/role_names.h"

#include "llvm/Support/MathExtras.h"

namespace frit::planning {
#define GEN_PASS_DEF_BUILDPLAN
#include "compiler/planning/Passes.h.inc"
} // namespace frit::planning

using namespace mlir;
using namespace frit;

namespace {

struct BuildPlan : frit::planning::impl::BuildPlanBase<BuildPlan> {
  explicit BuildPlan(planning::BuildPlanOptions options)
      : options(std::move(options)) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main) {
      module.emitError("has no function @main");
      return signalPassFailure();
    }
    ImplicitLocOpBuilder b(module.getLoc(), &getContext());
    b.setInsertionPointToEnd(module.getBody());
    describe(main, b);
    auto target = plan::TargetOp::create(b, TypeRange(), ValueRange());
    target.setArch(options.target.arch());
    target.getBody().emplaceBlock();

    planning::Constants constants(module);
    DenseMap<Attribute, StringAttr> parameters = initialValues(module);
    for (auto state : llvm::make_early_inc_range(module.getOps<nn::StateOp>()))
      translateState(state, constants, parameters);
    planning::Kernels kernels(target);
    SmallVector<int64_t> prepared;
    int64_t preparedBytes = 0;
    auto prepare = module.lookupSymbol<func::FuncOp>("prepare");
    if (prepare)
      for (Type type : prepare.getResultTypes()) {
        prepared.push_back(preparedBytes);
        preparedBytes +=
            llvm::alignTo(plan::byteSize(type), artifact::kAlignment);
      }
    target.setPreparedBytesAttr(b.getI64IntegerAttr(preparedBytes));
    if (prepare &&
        failed(planning::buildList(prepare, target, kernels, constants, options,
                                   plan::Space::prepared, prepared)))
      return signalPassFailure();
    auto derive = module.lookupSymbol<func::FuncOp>("derive");
    for (unsigned i = 0; derive && i < derive.getNumResults(); ++i)
      if (!derive.getResultAttr(i, "nn.state")) {
        derive.emitError("has a result that is no state");
        return signalPassFailure();
      }
    if (derive &&
        failed(planning::buildList(derive, target, kernels, constants, options,
                                   plan::Space::state, prepared)))
      return signalPassFailure();
    if (failed(planning::buildList(main, target, kernels, constants, options,
                                   plan::Space::output, prepared)))
      return signalPassFailure();
    for (func::FuncOp function : {main, prepare, derive})
      if (function)
        function.erase();
  }

private:
  /// Returns the initial values of parameters, with their names.
  static DenseMap<Attribute, StringAttr> initialValues(ModuleOp module) {
    DenseMap<Attribute, StringAttr> names;
    for (auto state : module.getOps<nn::StateOp>())
      if (state.getRole() == artifact::kStateRoles[FRIT_STATE_PARAMETER])
        for (auto member : state.getMembers().getAsRange<nn::MemberAttr>())
          if (ElementsAttr value = member.getInitial())
            names.try_emplace(value, member.getName());
    return names;
  }

  /// An initial value has the name of its tensor, or of the parameter with the
  /// same one: a moving average begins as the weight, which programs replace by
  /// its name.
  static void
  translateState(nn::StateOp state, planning::Constants &constants,
                 const DenseMap<Attribute, StringAttr> &parameters) {
    OpBuilder b(state);
    SmallVector<Attribute> members;
    for (auto member : state.getMembers().getAsRange<nn::MemberAttr>()) {
      FlatSymbolRefAttr initial;
      if (ElementsAttr value = member.getInitial()) {
        bool isParameter =
            state.getRole() == artifact::kStateRoles[FRIT_STATE_PARAMETER];
        StringAttr name = isParameter ? StringAttr() : parameters.lookup(value);
        initial = FlatSymbolRefAttr::get(constants.get(
            name ? name : member.getName(), value, state.getLoc()));
      }
      members.push_back(plan::MemberAttr::get(b.getContext(), member.getName(),
                                              member.getOffset(),
                                              member.getType(), initial));
    }
    std::string name = state.getSymName().str();
    Location loc = state.getLoc();
    auto type = cast<RankedTensorType>(state.getType());
    bool sharded = state.getSharded();
    std::string role = state.getRole().str();
    FlatSymbolRefAttr source = state.getDerivedFromAttr();
    b.setInsertionPointAfter(state);
    state.erase();
    plan::StateOp::create(b, loc, name, IntegerAttr(), type,
                          b.getArrayAttr(members), role, sharded, source);
  }

  /// Creates the plan.function, with the names of the model's inputs and
  /// outputs.
  void describe(func::FuncOp main, ImplicitLocOpBuilder &b) {
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
    plan::FunctionOp::create(b, options.function, b.getArrayAttr(inputs),
                             b.getArrayAttr(outputs),
                             artifact::kFunctionRoles[options.role]);
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
      [&target] { return createBuildPlanPass(BuildPlanOptions{target}); });
  registerPass(createBatchLaunchesPass);
  registerPass(createOrderStepsPass);
  registerPass([&target] { return createForkPass(target); });
  registerPass(createMergePlansPass);
  registerPass(createCheckEdgesPass);
  registerPass(createPlanMemoryPass);
}
