//===- Fusion.cpp - Operators that become one kernel ----------------------===//
//
//   %b = nn.constant "fc.bias" ...
//   %s = nn.constant dense<2.0> : tensor<f32>
//   %m = nn.matmul %x, %w : ...
//   %a = nn.add %m, %b : ...
//   %y = nn.mul %a, %s : ...
// ==>
//   %b = nn.constant "fc.bias" ...
//   %y = nn.fusion(%x, %w, %b) : ... {
//   ^bb0(%x: ..., %w: ..., %b: ...):
//     %m = nn.matmul %x, %w : ...
//     %a = nn.add %m, %b : ...
//     %s = nn.constant dense<2.0> : tensor<f32>
//     %y = nn.mul %a, %s : ...
//     nn.yield %y : ...
//   }
//
// FusionGroups.h says what joins. Every operator but constants and views ends
// up in a fusion; with fuse=false each in its own. Before grouping, broadcasts
// and counters are cloned for each reader, a reshape between a contraction and
// what could be its epilogue moves behind it, one of a function of an input
// before that, and what a composite kept whole does by strides is cloned for it
// (FusionViews.h).
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/FusionGroups.h"
#include "compiler/transform/FusionViews.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"

#include "mlir/IR/Remarks.h"

namespace frit {
#define GEN_PASS_DEF_FUSION
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

//===----------------------------------------------------------------------===//
// Before grouping
//===----------------------------------------------------------------------===//

/// Gives every reader that can compute a broadcast or counter on the fly its
/// own clone, so that none of them has to be stored for the others.
static void cloneGenerators(Block &block) {
  SmallVector<Operation *> generators;
  for (Operation &op : block)
    if (isGenerator(&op) && !op.hasOneUse())
      generators.push_back(&op);
  // Backwards: a generator that reads another is cloned first.
  for (Operation *op : llvm::reverse(generators)) {
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      if (!isa<ElementwiseOp, ReduceOp>(use.getOwner()))
        continue;
      OpBuilder builder(use.getOwner());
      use.set(builder.clone(*op)->getResult(0));
    }
    if (op->use_empty())
      op->erase();
  }
}

/// The contraction whose epilogue ends with the operator `last`, and what the
/// epilogue holds; empty where there is none.
static SmallVector<Operation *> epilogueChain(Operation *last,
                                              const Target &target) {
  SmallVector<Operation *> chain;
  for (Operation *op = last; op;) {
    chain.push_back(op);
    if (isa<MatmulOp, ConvOp>(op))
      break;
    Operation *previous = nullptr;
    if (isa<ElementwiseOp>(op) || isEpilogueOnly(op))
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if ((isa<MatmulOp, ConvOp, ElementwiseOp>(def) ||
               isEpilogueOnly(def)) &&
              def->hasOneUse() && shapeOf(operand) == resultType(op).getShape())
            previous = def;
    op = previous;
  }
  if (chain.empty() || !isa<MatmulOp, ConvOp>(chain.back()))
    return {};
  std::reverse(chain.begin(), chain.end());
  for (size_t i = 1; i < chain.size(); ++i)
    if (!target.takesEpilogue(ArrayRef(chain).take_front(i), chain[i]))
      return {};
  return chain;
}

/// `operand`, which broadcasts to `from`, as a tensor that broadcasts to the
/// reshaped `to` in the same way; or null.
static Value reshapeOperand(NNBuilder &builder, Value operand,
                            ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  ArrayRef<int64_t> shape = shapeOf(operand);
  if (shape == from) {
    auto reshape = operand.getDefiningOp<ReshapeOp>();
    return reshape && shapeOf(reshape.getX()) == to
               ? Value(reshape.getX())
               : builder.reshape(operand, to);
  }
  while (!shape.empty() && shape.front() == 1)
    shape = shape.drop_front();
  // Dimensions that both shapes end with mean the same in both.
  if (shape.size() > std::min(from.size(), to.size()) ||
      from.take_back(shape.size()) != to.take_back(shape.size()))
    return nullptr;
  if (DenseElementsAttr splat = splatOf(operand))
    return createSplat(builder, builder.getLoc(),
                       tensorType(operand).clone(shape), splat);
  return builder.reshape(operand, shape);
}

/// Moves a reshape between a contraction and an elementwise operator that the
/// target takes into its epilogue behind the latter:
///
///   add(reshape(matmul), r)  ==>  reshape(add(matmul, reshape(r)))
static void sinkReshape(ElementwiseOp op, const Target &target) {
  auto type = resultType(op);
  for (Value operand : op->getOperands()) {
    auto reshape = operand.getDefiningOp<ReshapeOp>();
    if (!reshape || !reshape->hasOneUse() ||
        shapeOf(operand) != type.getShape())
      continue;
    Operation *producer = reshape.getX().getDefiningOp();
    if (!producer || !producer->hasOneUse())
      continue;
    SmallVector<Operation *> chain = epilogueChain(producer, target);
    if (chain.empty())
      continue;

    NNBuilder builder(op.getLoc(), op.getOperation());
    ArrayRef<int64_t> to = shapeOf(reshape.getX());
    SmallVector<Value> operands;
    for (Value other : op->getOperands())
      operands.push_back(reshapeOperand(builder, other, type.getShape(), to));
    if (llvm::is_contained(operands, nullptr))
      continue;
    Operation *sunk = builder.clone(*op);
    sunk->setOperands(operands);
    sunk->getResult(0).setType(type.clone(to));
    if (!target.takesEpilogue(chain, sunk)) {
      sunk->erase();
      continue;
    }
    op->replaceAllUsesWith(
        ValueRange{builder.reshape(sunk->getResult(0), type.getShape())});
    op->erase();
    // Else the next reshape would count it as a reader.
    if (reshape->use_empty())
      reshape->erase();
    return;
  }
}

/// The same for moments, which do not care how rows are counted:
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
  if (!target.takesEpilogue(chain, sunk)) {
    sunk->erase();
    return;
  }
  moments.getY().replaceAllUsesWith(
      builder.reshape(sunk.getY(), shapeOf(moments.getY())));
  moments->erase();
}

static void sinkReshapes(Block &block, const Target &target) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto elementwise = dyn_cast<ElementwiseOp>(op))
      sinkReshape(elementwise, target);
    else if (auto moments = dyn_cast<MomentsOp>(op))
      sinkReshape(moments, target);
}

/// Whether a value is a function of an input's elements one by one.
static bool isOfInput(Value value) {
  Operation *op = value.getDefiningOp();
  return isa<BlockArgument>(value) ||
         (isa_and_nonnull<ElementwiseOp>(op) && op->getNumOperands() == 1 &&
          op->hasOneUse() && isOfInput(op->getOperand(0)));
}

/// Moves views of what is computed from an input alone before it, so that what
/// reads them can compute it on the fly:
///
///   reshape(cast(%arg))  ==>  cast(reshape(%arg))
static void raiseViews(Block &block) {
  for (auto reshape : llvm::make_early_inc_range(block.getOps<ReshapeOp>())) {
    if (!isOfInput(reshape.getX()))
      continue;
    ArrayRef<int64_t> shape = shapeOf(reshape.getY());
    SmallVector<Operation *> functions;
    Value value = reshape.getX();
    for (; Operation *op = value.getDefiningOp(); value = op->getOperand(0))
      functions.push_back(op);
    NNBuilder builder(reshape.getLoc(), reshape);
    value = builder.reshape(value, shape);
    for (Operation *op : llvm::reverse(functions)) {
      Operation *raised = builder.clone(*op);
      raised->setOperand(0, value);
      raised->getResult(0).setType(resultType(op).clone(shape));
      value = raised->getResult(0);
    }
    reshape.getY().replaceAllUsesWith(value);
    reshape->erase();
    for (Operation *op : functions)
      op->erase();
  }
}

//===----------------------------------------------------------------------===//
// Making fusions
//===----------------------------------------------------------------------===//

/// Whether a fusion holds a clone of the constant rather than reading it: what
/// is all one number is best written into the kernel. A contraction reads its
/// operands from memory.
static DenseElementsAttr inlinedSplat(OpOperand &use) {
  if (isa<MatmulOp, ConvOp>(use.getOwner()) || isEpilogueOnly(use.getOwner()))
    return {};
  return splatOf(use.get());
}

/// Moves the operators of a group into a fusion before `end`.
static FusionOp createFusionOp(ArrayRef<Operation *> ops, Operation *end) {
  llvm::SmallPtrSet<Operation *, 16> members(ops.begin(), ops.end());
  // An attention that is kept whole reads by strides, and so do its views.
  bool inlines = llvm::none_of(ops, llvm::IsaPred<AttentionOp>);
  llvm::SetVector<Value> inputs;
  SmallVector<Value> outputs;
  for (Operation *op : ops) {
    for (OpOperand &use : op->getOpOperands()) {
      Operation *def = use.get().getDefiningOp();
      if (!(def && members.contains(def)) && !(inlines && inlinedSplat(use)))
        inputs.insert(use.get());
    }
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !members.contains(user);
          }))
        outputs.push_back(result);
  }

  OpBuilder builder(end);
  auto fusion = FusionOp::create(builder, fuseLocations(ops),
                                 TypeRange(ValueRange(outputs)),
                                 inputs.getArrayRef(), ScheduleAttr());
  Block &body = fusion.getBody().emplaceBlock();
  for (Value input : inputs)
    body.addArgument(input.getType(), input.getLoc());
  for (auto [output, result] : llvm::zip(outputs, fusion.getResults()))
    output.replaceUsesWithIf(result, [&](OpOperand &use) {
      return !members.contains(use.getOwner());
    });

  builder.setInsertionPointToEnd(&body);
  llvm::MapVector<Value, Value> constants;
  for (Operation *op : ops) {
    for (OpOperand &use : op->getOpOperands()) {
      Operation *def = use.get().getDefiningOp();
      if (def && members.contains(def))
        continue;
      if (inlines && inlinedSplat(use)) {
        Value &constant = constants[use.get()];
        if (!constant)
          constant = builder.clone(*def)->getResult(0);
        use.set(constant);
      } else {
        size_t i = llvm::find(inputs, use.get()) - inputs.begin();
        use.set(body.getArgument(i));
      }
    }
    op->moveBefore(&body, body.end());
  }
  YieldOp::create(builder, fusion.getLoc(), outputs);
  return fusion;
}

static void emitRemarks(FusionOp fusion, ArrayRef<Operation *> ops) {
  if (ops.size() < 2)
    return;
  remark::passed(fusion.getLoc(),
                 remark::RemarkOpts::name("Fused").category("fusion"))
      << remark::add(
             "{0} operators in one kernel: {1}", ops.size(),
             llvm::join(llvm::map_range(ops,
                                        [](Operation *op) {
                                          return op->getName().stripDialect();
                                        }),
                        ", "));
}

/// The fusion that makes a value, or one that reads it, on the other side of
/// views.
static FusionOp madeBy(Value value) {
  Operation *def = value.getDefiningOp();
  while (def && isView(def))
    def = def->getOperand(0).getDefiningOp();
  return dyn_cast_or_null<FusionOp>(def);
}
static FusionOp readBy(Value value) {
  for (Operation *user : value.getUsers()) {
    FusionOp reader =
        isView(user) ? readBy(user->getResult(0)) : dyn_cast<FusionOp>(user);
    if (reader)
      return reader;
  }
  return {};
}

static bool computesNothing(FusionOp fusion) {
  return llvm::all_of(
      fusion.getBody().front().without_terminator(), [](Operation &op) {
        return isMovement(&op) || isa<CastOp, ReshapeOp, ConstantOp>(op);
      });
}

/// Names the kernels that compute nothing and stand between others: each is a
/// trip through memory that a view or a larger kernel would save.
static void emitCopyRemarks(Block &block) {
  for (auto fusion : block.getOps<FusionOp>()) {
    if (fusion.getInputs().empty() || fusion.getNumResults() != 1 ||
        !computesNothing(fusion))
      continue;
    FusionOp maker = madeBy(fusion.getInputs()[0]);
    FusionOp reader = readBy(fusion.getResult(0));
    if (!maker || !reader)
      continue;
    remark::missed(fusion.getLoc(),
                   remark::RemarkOpts::name("Copy").category("fusion"))
        << remark::add("a kernel of its own between {0} and {1} only moves "
                       "elements",
                       nodeName(maker.getAnchor()),
                       nodeName(reader.getAnchor()));
  }
}

namespace {
class Fusion : public frit::impl::FusionBase<Fusion> {
public:
  Fusion(const Target &target, FusionOptions options)
      : FusionBase(options), target(target) {}

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        run(function.getBody().front());
  }

private:
  void run(Block &block) {
    // What a guard holds shares no kernel with what is outside.
    for (auto guard : block.getOps<GuardOp>())
      run(guard.getBody().front());
    if (fuse) {
      cloneGenerators(block);
      sinkReshapes(block, target);
      raiseViews(block);
    }
    auto whole = bringViews(block, target);
    eraseDead(block);

    if (fuse)
      decomposeStranded(block, whole);
    FusionGroups groups(block, target, whole);
    if (fuse)
      groups.join();
    for (const FusionGroups::Refusal &refusal : groups.refusals())
      remark::missed(refusal.consumer->getLoc(),
                     remark::RemarkOpts::name("NotFused").category("fusion"))
          << remark::add("not in one kernel with {0}: {1}",
                         nodeName(refusal.producer), refusal.reason);
    Operation *end = block.getTerminator();
    for (ArrayRef<Operation *> ops : groups.ordered()) {
      if (ops.size() == 1 && (isa<FusionOp, GuardOp>(ops[0]) || isView(ops[0])))
        ops.front()->moveBefore(end);
      else
        emitRemarks(createFusionOp(ops, end), ops);
    }
    eraseDead(block); // splat constants that only fusions read
    // What @prepare moves is moved once.
    auto function = dyn_cast<func::FuncOp>(block.getParentOp());
    if (!function || function.getSymName() != "prepare")
      emitCopyRemarks(block);
  }

  /// What only the kernel of a product does, and no product took, becomes what
  /// it means.
  void decomposeStranded(Block &block,
                         ArrayRef<SmallVector<Operation *>> whole) {
    if (llvm::none_of(block, [](Operation &op) { return isEpilogueOnly(&op); }))
      return;
    FusionGroups groups(block, target, whole);
    groups.join();
    for (ArrayRef<Operation *> ops : groups.ordered()) {
      if (ops.size() != 1 || !isEpilogueOnly(ops.front()))
        continue;
      NNBuilder builder(ops.front()->getLoc(), ops.front());
      ops.front()->replaceAllUsesWith(
          cast<CompositeOp>(ops.front()).decompose(builder));
      ops.front()->erase();
    }
  }

  const Target &target;
};
} // namespace

std::unique_ptr<Pass> frit::createFusion(const Target &target,
                                         FusionOptions options) {
  return std::make_unique<Fusion>(target, options);
}
