//===- Fusion.cpp - Group operators into kernels --------------------------===//
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
// FusionGroups.h defines which operators join. Every operator except constants
// and views ends up in a fusion; with fuse=false, in one of its own. Before
// grouping, a concat of very many operands is split, and broadcasts, counters
// and slices are cloned for each reader, as are a few additions of what is
// broadcast (FusionRepeats.h). A reshape between a contraction and a
// possible epilogue moves after the epilogue, and a view of an elementwise
// function moves before the function (FusionReshapes.h). Movement that an
// opaque composite does by strides is cloned for it (FusionViews.h).
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/fusion/FusionGroups.h"
#include "compiler/transform/fusion/FusionRepeats.h"
#include "compiler/transform/fusion/FusionReshapes.h"
#include "compiler/transform/fusion/FusionViews.h"
#include "dialects/nn/operators/Custom.h"
#include "dialects/nn/training/Gradient.h"

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

/// Likewise clones slices whose readers can index the sliced tensor directly,
/// if that tensor is in memory anyway: it has other readers or comes from a
/// contraction.
static void cloneSlices(Block &block) {
  auto isInMemory = [](Value value) {
    value = throughReshapes(value);
    Operation *def = value.getDefiningOp();
    return !def || !value.hasOneUse() || isContraction(def);
  };
  for (auto slice : llvm::make_early_inc_range(block.getOps<SliceOp>())) {
    if (slice->hasOneUse() || isView(slice) || !isInMemory(slice.getX()))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(slice->getUses())) {
      Operation *reader = use.getOwner();
      if (!isa<ElementwiseOp, SliceOp>(reader) || isView(reader))
        continue;
      OpBuilder builder(reader);
      use.set(builder.clone(*slice)->getResult(0));
    }
    if (slice->use_empty())
      slice->erase();
  }
}

/// Likewise clones casts that widen what is in memory, if a reader selects
/// elements of the wide tensor: rotary embeddings read halves of it.
static void cloneCasts(Block &block) {
  for (auto cast : llvm::make_early_inc_range(block.getOps<CastOp>())) {
    Operation *source = cast.getX().getDefiningOp();
    if (cast->hasOneUse() || isRecomputed(cast) ||
        tensorType(cast.getX()).getElementTypeBitWidth() >=
            resultType(cast).getElementTypeBitWidth() ||
        (source && !isView(source) && !isa<SliceOp>(source)) ||
        llvm::none_of(cast->getUsers(), llvm::IsaPred<SliceOp>) ||
        !llvm::all_of(cast->getUsers(), llvm::IsaPred<SliceOp, ElementwiseOp>))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(cast->getUses())) {
      OpBuilder builder(use.getOwner());
      use.set(builder.clone(*cast)->getResult(0));
    }
    cast->erase();
  }
}

/// Likewise clones what products compute of their operands in their kernels.
static void cloneOperands(Block &block, const Target &target) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<DequantizeOp, DecompressOp, RmsNormOp>(op))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(op.getUses())) {
      if (op.hasOneUse() ||
          !llvm::is_contained(operandsInside(use.getOwner(), target), &op))
        continue;
      OpBuilder builder(use.getOwner());
      use.set(builder.clone(op)->getResult(0));
    }
  }
}

/// Splits a concat that would be too large a kernel into a tree of smaller
/// ones.
static void splitConcats(Block &block, const Target &target) {
  KernelSize largest = target.largestKernel();
  for (auto concat : block.getOps<ConcatOp>()) {
    int64_t each = countInstructions(concat) / concat.getXs().size();
    size_t most = std::max<int64_t>(
        std::min(largest.tensors - 1, largest.instructions / each), 2);
    NNBuilder builder(concat.getLoc(), concat);
    while (concat.getXs().size() > most) {
      SmallVector<Value> joined;
      for (size_t i = 0; i < concat.getXs().size(); i += most) {
        ValueRange some =
            concat.getXs().slice(i, std::min(most, concat.getXs().size() - i));
        joined.push_back(
            some.size() == 1
                ? some.front()
                : Value(ConcatOp::create(builder, some, concat.getAxis())));
      }
      concat.getXsMutable().assign(joined);
    }
  }
}

//===----------------------------------------------------------------------===//
// Making fusions
//===----------------------------------------------------------------------===//

/// Returns the splat if the fusion should contain a clone of the constant
/// instead of reading it, else null. Contractions and composites that the
/// target keeps whole read their operands from memory, and so do updates the
/// state and the offset.
static DenseElementsAttr inlinedSplat(OpOperand &use) {
  if (isContraction(use.getOwner()) ||
      isa<CompositeOp, CustomOp>(use.getOwner()) ||
      (isa<UpdateOp>(use.getOwner()) && use.getOperandNumber() != 1))
    return {};
  return splatOf(use.get());
}

/// Returns whether a value of a fusion's body is only stored, perhaps after
/// movement, and not used in a computation.
static bool isOnlyStored(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return isa<YieldOp>(user) || ((isMovement(user) || isa<ReshapeOp>(user)) &&
                                  isOnlyStored(user->getResult(0)));
  });
}

FusionOp frit::createFusionOp(ArrayRef<Operation *> ops, Operation *end) {
  llvm::SmallPtrSet<Operation *, 16> members(ops.begin(), ops.end());
  // An opaque attention and its views read by strides.
  bool inlines =
      llvm::none_of(ops, llvm::IsaPred<AttentionOp, AttentionGradOp>);
  llvm::DenseSet<Value> known;
  SmallVector<Value> inputs, outputs;
  for (Operation *op : ops) {
    for (OpOperand &use : op->getOpOperands()) {
      Operation *def = use.get().getDefiningOp();
      if (!(def && members.contains(def)) && !(inlines && inlinedSplat(use)))
        // A custom kernel has a parameter for each operand and each result.
        if (known.insert(use.get()).second || isa<CustomOp>(op))
          inputs.push_back(use.get());
    }
    for (Value result : op->getResults())
      if (isa<CustomOp>(op) ||
          llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !members.contains(user);
          }))
        outputs.push_back(result);
  }

  OpBuilder builder(end);
  auto fusion =
      FusionOp::create(builder, fuseLocations(ops),
                       TypeRange(ValueRange(outputs)), inputs, Schedule());
  Block &body = fusion.getBody().emplaceBlock();
  llvm::DenseMap<Value, Value> arguments;
  for (Value input : inputs)
    arguments[input] = body.addArgument(input.getType(), input.getLoc());
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
        use.set(arguments.lookup(use.get()));
      }
    }
    op->removeAttr("nn.recomputed");
    op->moveBefore(&body, body.end());
  }
  YieldOp::create(builder, fusion.getLoc(), outputs);
  // Storing a result rounds it.
  for (auto cast : body.getOps<CastOp>())
    if (isOnlyStored(cast))
      cast.setStorage(cast.roundsTo16Bits());
  return fusion;
}

static void remarkFusion(FusionOp fusion, ArrayRef<Operation *> ops) {
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

/// Returns the fusion that defines a value, looking through views, or null.
static FusionOp madeBy(Value value) {
  return dyn_cast_or_null<FusionOp>(computedBy(value));
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

/// Emits a remark for each kernel between others that only copies: a view or a
/// larger kernel would save its memory traffic.
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
    // Operators inside a guard share no kernel with those outside.
    for (auto guard : block.getOps<GuardOp>())
      run(guard.getBody().front());
    splitConcats(block, target);
    cloneOperands(block, target);
    if (fuse) {
      if (!target.isHost())
        repeatFew(block);
      cloneGenerators(block);
      sinkReshapes(block, target);
      raiseViews(block);
      cloneCasts(block);
      cloneSlices(block);
    }
    auto whole = bringViews(block, target);
    decomposeNorms(block);
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
                         nodeName(refusal.producer), refusal.why.reason());
    Operation *end = block.getTerminator();
    for (ArrayRef<Operation *> ops : groups.ordered()) {
      if (ops.size() == 1 &&
          (isa<FusionOp, GuardOp>(ops[0]) || isCollective(ops[0]) ||
           isView(ops[0]) || isPlacement(ops[0])))
        ops.front()->moveBefore(end);
      else
        remarkFusion(createFusionOp(ops, end), ops);
    }
    eraseDead(block); // splat constants that only fusions read
    // Copies in @prepare run only once.
    auto function = dyn_cast<func::FuncOp>(block.getParentOp());
    if (!function || function.getSymName() != "prepare")
      emitCopyRemarks(block);
  }

  static void decompose(Operation *op) {
    NNBuilder builder(op->getLoc(), op);
    op->replaceAllUsesWith(cast<CompositeOp>(op).decompose(builder));
    op->erase();
  }

  /// Decomposes norms that some reader does not compute in its kernel.
  void decomposeNorms(Block &block) {
    for (auto norm : llvm::make_early_inc_range(block.getOps<RmsNormOp>()))
      if (!llvm::all_of(norm->getUsers(), [&](Operation *user) {
            return llvm::is_contained(operandsInside(user, target),
                                      norm.getOperation());
          }))
        decompose(norm);
  }

  /// Decomposes operators that only a product's kernel implements and that no
  /// product took.
  void decomposeStranded(Block &block,
                         ArrayRef<SmallVector<Operation *>> whole) {
    if (llvm::none_of(block, [](Operation &op) { return isEpilogueOnly(&op); }))
      return;
    FusionGroups groups(block, target, whole);
    groups.join();
    for (ArrayRef<Operation *> ops : groups.ordered()) {
      if (ops.size() == 1 && isEpilogueOnly(ops.front()))
        decompose(ops.front());
    }
  }

  const Target &target;
};
} // namespace

std::unique_ptr<Pass> frit::createFusion(const Target &target,
                                         FusionOptions options) {
  return std::make_unique<Fusion>(target, options);
}
