//===- FusionReshapes.cpp - Move reshapes that prevent fusion -------------===//

#include "compiler/transform/fusion/FusionReshapes.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/fusion/FusionGroups.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Maximum operators of an epilogue that a reshape moves across.
static constexpr size_t kLongestEpilogue = 32;

/// Returns the contraction whose epilogue ends with `last`, and the epilogue's
/// operators; empty if there is none.
static SmallVector<Operation *> epilogueChain(Operation *last,
                                              const Target &target) {
  SmallVector<Operation *> chain;
  for (Operation *op = last; op;) {
    if (chain.size() > kLongestEpilogue)
      return {};
    chain.push_back(op);
    if (isContraction(op))
      break;
    Operation *previous = nullptr;
    if (isa<ElementwiseOp>(op) || isEpilogueOnly(op))
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if ((isContraction(def) || isa<ElementwiseOp>(def) ||
               isEpilogueOnly(def)) &&
              def->hasOneUse() && shapeOf(operand) == resultType(op).getShape())
            previous = def;
    op = previous;
  }
  if (chain.empty() || !isContraction(chain.back()))
    return {};
  std::reverse(chain.begin(), chain.end());
  for (size_t i = 1; i < chain.size(); ++i)
    if (!target.canFuseEpilogue(ArrayRef(chain).take_front(i), chain[i]))
      return {};
  return chain;
}

/// Returns `operand`, which broadcasts to `from`, in a shape that broadcasts to
/// `to` in the same way; null if there is none.
static Value reshapeOperand(NNBuilder &builder, Value operand,
                            ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  ArrayRef<int64_t> shape = shapeOf(operand);
  if (shape == from) {
    auto reshape = operand.getDefiningOp<ReshapeOp>();
    return reshape && shapeOf(reshape.getX()) == to
               ? Value(reshape.getX())
               : builder.reshape(operand, to);
  }
  // It has a number for each row.
  if (shape.size() == from.size() && shape.back() == 1 && !to.empty() &&
      from.back() == to.back() && shape.drop_back() == from.drop_back()) {
    SmallVector<int64_t> rows(to);
    rows.back() = 1;
    return builder.reshape(operand, rows);
  }
  while (!shape.empty() && shape.front() == 1)
    shape = shape.drop_front();
  // The trailing dimensions that both shapes share correspond.
  if (shape.size() > std::min(from.size(), to.size()) ||
      from.take_back(shape.size()) != to.take_back(shape.size()))
    return nullptr;
  if (DenseElementsAttr splat = splatOf(operand))
    return createSplat(builder, builder.getLoc(),
                       tensorType(operand).clone(shape), splat);
  return builder.reshape(operand, shape);
}

/// Returns the operand of an elementwise function of one tensor and numbers;
/// null of other operators.
static OpOperand *onlyTensor(Operation *op) {
  OpOperand *found = nullptr;
  if (!isa<ElementwiseOp>(op))
    return nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
    if (tensorType(operand.get()).getRank() == 0 && op->getNumOperands() > 1)
      continue;
    if (found)
      return nullptr;
    found = &operand;
  }
  return found;
}

/// Returns whether `last` is a reduction, or an elementwise function of its
/// result and numbers.
static bool endsReduction(Operation *last) {
  while (!isa<ReduceOp>(last)) {
    OpOperand *operand = onlyTensor(last);
    last = operand ? operand->get().getDefiningOp() : nullptr;
    if (!last || !last->hasOneUse())
      return false;
  }
  return true;
}

/// Sinks a reshape of an elementwise operator's operand, if the operator then
/// belongs to the kernel of a contraction or, as a function of one tensor and
/// with a reshape that adds or drops dimensions of size 1, a reduction.
static void sinkReshape(ElementwiseOp op, const Target &target) {
  // It belongs in its reader's kernel.
  if (isRecomputed(op))
    return;
  auto type = resultType(op);
  for (Value operand : op->getOperands()) {
    auto reshape = operand.getDefiningOp<ReshapeOp>();
    if (!reshape || !reshape->hasOneUse() ||
        shapeOf(operand) != type.getShape())
      continue;
    Operation *producer = reshape.getX().getDefiningOp();
    if (!producer || !producer->hasOneUse())
      continue;
    ArrayRef<int64_t> to = shapeOf(reshape.getX());
    SmallVector<Operation *> chain = epilogueChain(producer, target);
    bool isReduction = chain.empty() && onlyTensor(op) &&
                       endsReduction(producer) &&
                       withoutOnes(to) == withoutOnes(type.getShape());
    if (!isReduction &&
        (chain.empty() ||
         (isa<QuantizedConvOp>(chain.front()) && widensForReaders(op))))
      continue;

    NNBuilder builder(op.getLoc(), op.getOperation());
    SmallVector<Value> operands;
    for (Value other : op->getOperands())
      operands.push_back(reshapeOperand(builder, other, type.getShape(), to));
    if (llvm::is_contained(operands, nullptr))
      continue;
    Operation *sunk = builder.clone(*op);
    sunk->setOperands(operands);
    sunk->getResult(0).setType(type.clone(to));
    if (!isReduction && !target.canFuseEpilogue(chain, sunk)) {
      sunk->erase();
      continue;
    }
    op->replaceAllUsesWith(
        ValueRange{builder.reshape(sunk->getResult(0), type.getShape())});
    op->erase();
    // Otherwise the next reshape would count it as a reader.
    if (reshape->use_empty())
      reshape->erase();
    return;
  }
}

/// Sinks a reshape below moments, if it keeps the last dimension:
///
///   moments(reshape(matmul))  ==>  reshape(moments(matmul))
static void sinkReshape(MomentsOp moments, const Target &target) {
  auto reshape = moments.getX().getDefiningOp<ReshapeOp>();
  if (!reshape || shapeOf(reshape.getX()).empty() ||
      shapeOf(reshape.getX()).back() != shapeOf(reshape.getY()).back())
    return;
  SmallVector<Operation *> chain =
      epilogueChain(reshape.getX().getDefiningOp(), target);
  if (chain.empty())
    return;
  NNBuilder builder(moments.getLoc(), moments);
  auto sunk = MomentsOp::create(builder, reshape.getX(), moments.getWidth());
  if (!target.canFuseEpilogue(chain, sunk)) {
    sunk->erase();
    return;
  }
  moments.getY().replaceAllUsesWith(
      builder.reshape(sunk.getY(), shapeOf(moments.getY())));
  moments->erase();
}

/// Sinks a reshape of an elementwise operator's result below a cast, which then
/// belongs to the operator's kernel.
static void sinkReshape(CastOp cast) {
  auto reshape = cast.getX().getDefiningOp<ReshapeOp>();
  if (!reshape || !reshape->hasOneUse() ||
      !reshape.getX().getDefiningOp<ElementwiseOp>() ||
      !reshape.getX().hasOneUse() || isRecomputed(cast))
    return;
  NNBuilder builder(cast.getLoc(), cast);
  Operation *sunk = builder.clone(*cast);
  sunk->setOperand(0, reshape.getX());
  sunk->getResult(0).setType(resultType(cast).clone(shapeOf(reshape.getX())));
  Value view = builder.reshape(sunk->getResult(0), shapeOf(cast.getY()));
  for (OpOperand &use : llvm::make_early_inc_range(cast.getY().getUses()))
    use.set(isa<ReshapeOp>(use.getOwner()) ? sunk->getResult(0) : view);
  if (view.use_empty())
    view.getDefiningOp()->erase();
  cast->erase();
  reshape->erase();
}

void frit::sinkReshapes(Block &block, const Target &target) {
  for (auto cast : llvm::make_early_inc_range(block.getOps<CastOp>()))
    sinkReshape(cast);
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto elementwise = dyn_cast<ElementwiseOp>(op))
      sinkReshape(elementwise, target);
    else if (auto moments = dyn_cast<MomentsOp>(op))
      sinkReshape(moments, target);
}

/// Collects the elementwise functions, last first, by which a value is computed
/// from one input, or widened from a view. False if it is none of both.
static bool collectFunctions(Value value,
                             SmallVectorImpl<Operation *> &functions) {
  bool widens = true;
  while (Operation *op = value.getDefiningOp()) {
    if (isView(op))
      return widens && !functions.empty();
    OpOperand *operand = onlyTensor(op);
    if (!operand || !op->hasOneUse())
      return false;
    widens &=
        isa<CastOp>(op) && tensorType(operand->get()).getElementTypeBitWidth() <
                               resultType(op).getElementTypeBitWidth();
    functions.push_back(op);
    value = operand->get();
  }
  return true;
}

/// Raises a view above a slice for elementwise readers, if the view adds or
/// drops dimensions of size 1. A sliced dimension that becomes 1 merges with
/// the next:
///
///   reshape(slice(x: 5x3x4, [0, 2, 0], 5x1x4), 5x4)
///     ==>  slice(reshape(x, 5x12), [0, 8], 5x4)
static void raiseAboveSlice(ReshapeOp reshape, SliceOp slice) {
  if (llvm::none_of(reshape->getUsers(), llvm::IsaPred<ElementwiseOp>) ||
      !slice.getX().getType().hasStaticShape())
    return;
  ArrayRef<int64_t> from = shapeOf(slice.getX()), to = shapeOf(reshape);
  SmallVector<int64_t> shape(to), starts(to.size(), 0), steps(to.size(), 1);
  size_t at = 0;
  int64_t picked = 0, among = 1;
  for (auto [d, size] : llvm::enumerate(from)) {
    int64_t start = slice.getStarts()[d], step = slice.getSteps()[d];
    bool isWhole = slice.getSizes()[d] == size && step == 1;
    if (slice.getSizes()[d] == 1) {
      picked = picked * size + start;
      among *= size;
      continue;
    }
    while (at < to.size() && to[at] == 1)
      ++at;
    if (at == to.size() || to[at] != slice.getSizes()[d] ||
        (among > 1 && !isWhole))
      return;
    shape[at] = among * size;
    starts[at] = picked * size + start;
    steps[at++] = step;
    picked = 0;
    among = 1;
  }
  if (among > 1)
    return;
  NNBuilder builder(slice.getLoc(), reshape);
  Value view = builder.reshape(slice.getX(), shape);
  Value raised = SliceOp::create(builder, view, starts, to, steps);
  reshape.getY().replaceAllUsesWith(raised);
  reshape->erase();
  if (slice->use_empty())
    slice->erase();
}

void frit::raiseViews(Block &block) {
  for (auto reshape : llvm::make_early_inc_range(block.getOps<ReshapeOp>())) {
    if (auto slice = reshape.getX().getDefiningOp<SliceOp>()) {
      raiseAboveSlice(reshape, slice);
      continue;
    }
    ArrayRef<int64_t> shape = shapeOf(reshape.getY());
    SmallVector<Operation *> functions;
    if (!collectFunctions(reshape.getX(), functions))
      continue;
    NNBuilder builder(reshape.getLoc(), reshape);
    Value value = functions.empty() ? reshape.getX()
                                    : onlyTensor(functions.back())->get();
    if (auto inner = value.getDefiningOp<ReshapeOp>())
      value = inner.getX();
    value = builder.reshape(value, shape);
    for (Operation *op : llvm::reverse(functions)) {
      Operation *raised = builder.clone(*op);
      raised->setOperand(onlyTensor(op)->getOperandNumber(), value);
      raised->getResult(0).setType(resultType(op).clone(shape));
      value = raised->getResult(0);
    }
    reshape.getY().replaceAllUsesWith(value);
    reshape->erase();
    for (Operation *op : functions)
      op->erase();
  }
}
