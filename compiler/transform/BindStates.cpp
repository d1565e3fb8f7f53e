//===- BindStates.cpp - Inputs and outputs that stay between calls --------===//
//
// states=past:present
//   func.func @main(%past: tensor<4x8xf32> {nn.name = "past"}, %x ...)
//       -> (tensor<4x8xf32> {nn.name = "present"}) {
//     %w = nn.cast %past {to = f16}
//     %u = nn.update %w, %x, %at
//     %p = nn.cast %u {to = f32}
//     return %p
// ==>
//   nn.state @past : tensor<4x8xf16> [#nn.member<"past" ...>] {role = "cache"}
//   func.func @main(%x ..., %past: tensor<4x8xf16> {nn.state = @past})
//       -> (tensor<4x8xf16> {nn.state = @past}) {
//     %u = nn.update %past, %x, %at
//     return %u
//
// The state has the type that the model computes with: casts at both ends
// disappear. A next value that is not made of the value before, row by row,
// replaces it: `nn.update %past, %value`.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Passes.h"

#include "frit/role_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit {
#define GEN_PASS_DEF_BINDSTATES
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// The numbers of an argument and of a result.
struct Pair {
  unsigned argument, result;
};

class BindStates : public frit::impl::BindStatesBase<BindStates> {
public:
  using BindStatesBase::BindStatesBase;

  void runOnOperation() override;

private:
  FailureOr<Pair> find(func::FuncOp main, StringRef spec);
  LogicalResult bind(func::FuncOp main, Pair pair);
};
} // namespace

static StringRef nameOf(DictionaryAttr attributes) {
  auto name = attributes ? attributes.getAs<StringAttr>("nn.name") : nullptr;
  return name ? name.getValue() : "";
}

static std::string listNames(ArrayAttr attributes) {
  SmallVector<std::string> names;
  if (attributes)
    for (auto one : attributes.getAsRange<DictionaryAttr>())
      if (!nameOf(one).empty())
        names.push_back(("'" + nameOf(one) + "'").str());
  return llvm::join(names, ", ");
}

/// Finds the input and the output of IN:OUT. Either name may contain colons.
FailureOr<Pair> BindStates::find(func::FuncOp main, StringRef spec) {
  auto place = [](ArrayAttr attributes, StringRef name) {
    std::optional<unsigned> found;
    if (attributes)
      for (auto [i, one] :
           llvm::enumerate(attributes.getAsRange<DictionaryAttr>()))
        if (nameOf(one) == name)
          found = i;
    return found;
  };
  bool isInput = false;
  for (size_t colon = spec.find(':'); colon != StringRef::npos;
       colon = spec.find(':', colon + 1)) {
    auto argument = place(main.getAllArgAttrs(), spec.take_front(colon));
    auto result = place(main.getAllResultAttrs(), spec.drop_front(colon + 1));
    if (argument && result)
      return Pair{*argument, *result};
    isInput |= argument.has_value();
  }
  return emitError(main.getLoc(), "-fstate=")
         << spec << " names no " << (isInput ? "output" : "input")
         << " of the model that is not a state already; there is "
         << listNames(isInput ? main.getAllResultAttrs()
                              : main.getAllArgAttrs());
}

/// Returns the type that the model computes with instead of an argument's, if
/// it only casts the argument and computes the result in that type.
static std::optional<Type> innerType(BlockArgument argument, Value result) {
  auto after = result.getDefiningOp<CastOp>();
  if (!after || argument.use_empty())
    return std::nullopt;
  Type inner = tensorType(after.getX()).getElementType();
  for (Operation *user : argument.getUsers()) {
    auto before = dyn_cast<CastOp>(user);
    if (!before || tensorType(before.getY()).getElementType() != inner)
      return std::nullopt;
  }
  return inner;
}

/// Returns whether a value is what updates make of an argument.
static bool isTied(Value value, BlockArgument argument) {
  while (true) {
    value = throughReshapes(value);
    auto update = value.getDefiningOp<UpdateOp>();
    if (!update)
      return value == argument;
    value = update.getState();
  }
}

LogicalResult BindStates::bind(func::FuncOp main, Pair pair) {
  BlockArgument argument = main.getArgument(pair.argument);
  OpOperand &result =
      main.getBody().front().getTerminator()->getOpOperand(pair.result);
  auto name = main.getArgAttrOfType<StringAttr>(pair.argument, "nn.name");
  if (argument.getType() != result.get().getType())
    return emitError(main.getLoc(), "'")
           << name.getValue() << "' is " << argument.getType() << ", but '"
           << nameOf(main.getResultAttrDict(pair.result)) << "' is "
           << result.get().getType() << ", so it cannot be its next value";
  if (auto inner = innerType(argument, result.get())) {
    argument.setType(tensorType(argument).clone(*inner));
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
      user->getResult(0).replaceAllUsesWith(argument);
      user->erase();
    }
    Operation *after = result.get().getDefiningOp();
    result.set(after->getOperand(0));
    if (after->use_empty())
      after->erase();
  }
  OpBuilder b(main);
  auto type = tensorType(argument);
  auto member = MemberAttr::get(b.getContext(), name, /*offset=*/0, type,
                                /*initial=*/ElementsAttr());
  StateOp::create(b, main.getLoc(), name, type, b.getArrayAttr(member),
                  artifact::kStateRoles[FRIT_STATE_CACHE], /*sharded=*/false,
                  /*derived_from=*/nullptr);
  // States come after the inputs and outputs that remain.
  auto state = b.getDictionaryAttr(
      b.getNamedAttr("nn.state", FlatSymbolRefAttr::get(name)));
  Operation *end = result.getOwner();
  Value next;
  unsigned arguments = main.getNumArguments(), results = main.getNumResults();
  if (failed(main.insertArgument(arguments, type, state, argument.getLoc())) ||
      failed(main.insertResult(results, type, state)))
    return failure();
  BlockArgument before = main.getArgument(arguments);
  argument.replaceAllUsesWith(before);
  next = end->getOperand(pair.result);
  end->eraseOperand(pair.result);
  if (!isTied(next, before)) {
    b.setInsertionPoint(end);
    next = UpdateOp::create(b, next.getLoc(), before, next, /*offset=*/nullptr,
                            /*axis=*/0);
  }
  end->insertOperands(end->getNumOperands(), next);
  return success(succeeded(main.eraseArgument(pair.argument)) &&
                 succeeded(main.eraseResult(pair.result)));
}

void BindStates::runOnOperation() {
  auto main = getOperation().lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    return;
  for (const std::string &spec : states) {
    auto pair = find(main, spec);
    if (failed(pair) || failed(bind(main, *pair)))
      return signalPassFailure();
  }
}
