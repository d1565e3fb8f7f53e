//===- StoreCasts.cpp - Keep weights in 16 bits from step to step ---------===//
//
//   nn.state @parameters.0 : tensor<4096xf32> [#nn.member<"fc.weight" at 0 …>]
//   func.func @main(%x, %p {nn.state = @parameters.0})
//       -> (…, tensor<4096xf32> {nn.state = @parameters.0}) {
//     %h = nn.cast %p {to = bf16}
//     … %h …
//     %new = nn.sub %p, %change
//     %next = nn.update %p, %new
//     return …, %next
// ==>
//   nn.state @parameters.0 : tensor<4096xf32> [#nn.member<"fc.weight" at 0 …>]
//   nn.state @parameters.0.bf16 : tensor<4096xbf16> [] {
//       derived_from = @parameters.0}
//   func.func @main(%x, %p {nn.state = @parameters.0},
//                   %h {nn.state = @parameters.0.bf16})
//       -> (…, tensor<4096xf32> {nn.state = @parameters.0},
//           tensor<4096xbf16> {nn.state = @parameters.0.bf16}) {
//     … %h …
//     %new = nn.sub %p, %change
//     %next = nn.update %p, %new
//     %cast = nn.cast %new {to = bf16}
//     %stored = nn.update %h, %cast
//     return …, %next, %stored
//   }
//   func.func @derive(%p {nn.state = @parameters.0},
//                     %h {nn.state = @parameters.0.bf16})
//       -> (tensor<4096xbf16> {nn.state = @parameters.0.bf16}) {
//     %0 = nn.cast %p {to = bf16}
//     %stored = nn.update %h, %0
//     return %stored
//   }
//
// The cast of the next value runs in the optimizer's kernel, which has it in
// registers, so the cast at the start of a step costs 2 bytes a weight instead
// of 6. The copy takes the memory of the cast's result.
//
// That holds if an elementwise operator computes the next value. A gathered one
// (-fshard-optimizer) and one packed of parts would need a kernel for the cast.
//
//===----------------------------------------------------------------------===//

#include "compiler/training/Arguments.h"
#include "compiler/training/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace frit {
#define GEN_PASS_DEF_STORECASTS
#include "compiler/training/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class StoreCasts : public frit::impl::StoreCastsBase<StoreCasts> {
public:
  void runOnOperation() override;

private:
  void run(func::FuncOp main, StateOp state, BlockArgument before, Value after);
  func::FuncOp deriveFunction(func::FuncOp main);
};

/// Casts to 16 bits of parts of a state, and the views from the state to them.
struct PartCasts {
  explicit PartCasts(BlockArgument state);

  SmallVector<CastOp> casts;
  SmallVector<Operation *> views; ///< operands first
};
} // namespace

PartCasts::PartCasts(BlockArgument state) {
  SmallVector<Value> work = {state};
  for (size_t i = 0; i < work.size(); ++i)
    for (Operation *user : work[i].getUsers())
      if (isa<ReshapeOp, SliceOp>(user)) {
        views.push_back(user);
        work.push_back(user->getResult(0));
      } else if (auto cast = dyn_cast<CastOp>(user);
                 cast && cast.roundsTo16Bits()) {
        casts.push_back(cast);
      }
}

/// Returns @derive, which is empty at first.
func::FuncOp StoreCasts::deriveFunction(func::FuncOp main) {
  constexpr StringRef name = "derive";
  if (auto derive = getOperation().lookupSymbol<func::FuncOp>(name))
    return derive;
  OpBuilder b(&getContext());
  b.setInsertionPointAfter(main);
  auto derive =
      func::FuncOp::create(b, main.getLoc(), name, b.getFunctionType({}, {}));
  b.setInsertionPointToEnd(derive.addEntryBlock());
  func::ReturnOp::create(b, main.getLoc());
  return derive;
}

/// Stores a 16-bit copy of a state if a cast of the whole state is read.
void StoreCasts::run(func::FuncOp main, StateOp state, BlockArgument before,
                     Value after) {
  PartCasts parts(before);
  auto *whole = llvm::find_if(parts.casts, [&](CastOp cast) {
    return tensorType(cast.getY()).getNumElements() ==
           tensorType(before).getNumElements();
  });
  if (whole == parts.casts.end())
    return;
  Type narrow = whole->getTo();
  auto narrowed = [&](Value value) {
    return cast<RankedTensorType>(tensorType(value).clone(narrow));
  };
  std::string name;
  llvm::raw_string_ostream(name) << state.getSymName() << "." << narrow;
  OpBuilder b(&getContext());
  b.setInsertionPointAfter(state);
  auto source = FlatSymbolRefAttr::get(state.getSymNameAttr());
  StateOp::create(b, state.getLoc(), name, narrowed(before), b.getArrayAttr({}),
                  state.getRole(), /*sharded=*/false, source);
  NamedAttribute wide = b.getNamedAttr("nn.state", source);
  NamedAttribute stored =
      b.getNamedAttr("nn.state", FlatSymbolRefAttr::get(b.getContext(), name));

  // Readers see the same views of the copy as they had of the state.
  IRMapping copies;
  BlockArgument copy =
      addArgument(main, narrowed(before), stored, before.getLoc());
  copies.map(before, copy);
  for (Operation *view : parts.views) {
    b.setInsertionPointAfter(view);
    b.clone(*view, copies)->getResult(0).setType(narrowed(view->getResult(0)));
  }
  for (CastOp cast : parts.casts)
    if (cast.getTo() == narrow) {
      cast.replaceAllUsesWith(copies.lookup(cast.getX()));
      cast.erase();
    }
  for (Operation *view : llvm::reverse(parts.views))
    for (Operation *op :
         {view, copies.lookup(view->getResult(0)).getDefiningOp()})
      if (op->use_empty())
        op->erase();

  NNBuilder next(after.getLoc(), main.getBody().front().getTerminator());
  Value rounded = next.cast(throughReshapes(after), narrow);
  addNextValue(main, copy, next.reshape(rounded, shapeOf(after)));

  func::FuncOp derive = deriveFunction(main);
  Value from = addArgument(derive, before.getType(), wide, before.getLoc());
  BlockArgument old =
      addArgument(derive, narrowed(before), stored, before.getLoc());
  NNBuilder inner(before.getLoc(), derive.getBody().front().getTerminator());
  addNextValue(derive, old, inner.cast(from, narrow));
}

void StoreCasts::runOnOperation() {
  auto main = getOperation().lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    return;
  llvm::DenseMap<Attribute, Value> next;
  Operation *terminator = main.getBody().front().getTerminator();
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (Attribute state = main.getResultAttr(i, "nn.state"))
      next[state] = terminator->getOperand(i);
  // Copies become arguments, too.
  SmallVector<BlockArgument> arguments(main.getArguments());
  for (BlockArgument before : arguments) {
    auto name = main.getArgAttrOfType<FlatSymbolRefAttr>(before.getArgNumber(),
                                                         "nn.state");
    Value tied = name ? next.lookup(name) : Value();
    auto update = tied ? tied.getDefiningOp<UpdateOp>() : UpdateOp();
    if (!update || update.getOffset())
      continue;
    Value after = update.getValue();
    if (!isa_and_nonnull<ElementwiseOp>(throughReshapes(after).getDefiningOp()))
      continue;
    auto state = getOperation().lookupSymbol<StateOp>(name.getAttr());
    if (state && !state.getSharded() && !state.getDerivedFrom())
      run(main, state, before, after);
  }
}
