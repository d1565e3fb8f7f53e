//===- RepeatSteps.cpp - Run a function's kernels several times -----------===//
//
//   func.func @main(%x: tensor<4xf32> {nn.carried = 0 : i64},
//                   %t: tensor<f32> {nn.steps = [dense<2.0>, dense<1.0>]}, …)
//       -> tensor<4xf32> {
//     %y = nn.fusion(%x, %t) …
//     return %y
// ==>
//   func.func @main(%x: tensor<4xf32>, …) -> tensor<4xf32> {
//     %two = nn.constant dense<2.0>
//     %y = nn.fusion(%x, %two) …
//     %one = nn.constant dense<1.0>
//     %z = nn.fusion(%y, %one) …
//     return %z
//
// The value of an argument with nn.carried is the function's result of that
// number in the step before. Without a name the argument is zeros first, and
// neither it nor the result stays. All steps use the same kernels, which read
// the numbers of their step; what does not depend on the step runs once.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Passes.h"
#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace frit {
#define GEN_PASS_DEF_REPEATSTEPS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class RepeatSteps : public frit::impl::RepeatStepsBase<RepeatSteps> {
public:
  void runOnOperation() override;
};
} // namespace

/// Returns the operators of a block that depend on a step.
static SmallVector<Operation *> dependents(Block &block,
                                           ArrayRef<BlockArgument> varying) {
  DenseSet<Value> values(varying.begin(), varying.end());
  SmallVector<Operation *> found;
  for (Operation &op : block.without_terminator()) {
    // Blocks of guards read values outside of them.
    bool reads = op.walk([&](Operation *inner) {
                     return llvm::any_of(inner->getOperands(),
                                         [&](Value value) {
                                           return values.contains(value);
                                         })
                                ? WalkResult::interrupt()
                                : WalkResult::advance();
                   }).wasInterrupted();
    if (!reads)
      continue;
    found.push_back(&op);
    values.insert(op.result_begin(), op.result_end());
  }
  return found;
}

static bool isNamed(BlockArgument argument) {
  auto main = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return bool(main.getArgAttr(argument.getArgNumber(), "nn.name"));
}

/// Returns what a carried argument is in the first step: itself if it is an
/// input, else zeros.
static Value firstOf(OpBuilder &b, BlockArgument argument) {
  if (isNamed(argument))
    return argument;
  auto type = tensorType(argument);
  return ConstantOp::create(b, argument.getLoc(),
                            cast<ElementsAttr>(DenseElementsAttr::get(
                                type, b.getZeroAttr(type.getElementType()))),
                            /*name=*/nullptr)
      .getY();
}

void RepeatSteps::runOnOperation() {
  auto main = getOperation().lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    return;
  SmallVector<BlockArgument> varying;
  SmallVector<std::pair<BlockArgument, ArrayAttr>> tables;
  SmallVector<std::pair<BlockArgument, unsigned>> carried;
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (auto steps = main.getArgAttrOfType<ArrayAttr>(index, "nn.steps"))
      tables.emplace_back(argument, steps);
    else if (auto result =
                 main.getArgAttrOfType<IntegerAttr>(index, "nn.carried"))
      carried.emplace_back(argument, unsigned(result.getInt()));
    else
      continue;
    varying.push_back(argument);
  }
  if (tables.empty())
    return;
  size_t count = tables.front().second.size();
  Block &block = main.getBody().front();
  Operation *end = block.getTerminator();
  SmallVector<Operation *> step = dependents(block, varying);
  SmallVector<Value> results(end->getOperands());
  OpBuilder b(end);
  IRMapping map;
  for (size_t i = 0; i < count; ++i) {
    IRMapping now;
    for (auto [argument, table] : tables)
      now.map(argument, ConstantOp::create(b, argument.getLoc(),
                                           cast<ElementsAttr>(table[i]),
                                           /*name=*/nullptr)
                            .getY());
    for (auto [argument, result] : carried)
      now.map(argument, i == 0 ? firstOf(b, argument)
                               : map.lookupOrDefault(results[result]));
    for (Operation *op : step)
      b.clone(*op, now);
    map = std::move(now);
  }
  for (OpOperand &result : end->getOpOperands())
    result.set(map.lookupOrDefault(result.get()));
  for (Operation *op : llvm::reverse(step))
    op->erase();
  llvm::BitVector extraResults(main.getNumResults()),
      extraArguments(main.getNumArguments());
  for (auto [argument, result] : carried) {
    main.removeArgAttr(argument.getArgNumber(), "nn.carried");
    if (isNamed(argument))
      continue;
    extraArguments.set(argument.getArgNumber());
    extraResults.set(result);
  }
  for (auto &[argument, table] : tables)
    extraArguments.set(argument.getArgNumber());
  for (unsigned i = main.getNumResults(); i-- > 0;)
    if (extraResults.test(i))
      end->eraseOperand(i);
  // What only the dropped results needed.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  (void)main.eraseResults(extraResults);
  (void)main.eraseArguments(extraArguments);
}
