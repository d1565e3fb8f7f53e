//===- RecomputeWide.cpp - Recompute f32 values from 16 bits --------------===//
//
//   %w = nn.cast %x {to = f32}            %x: tensor<16384x768xbf16>
//   %c = nn.sub %w, %mean                 one number a row
//   … %c … (forward)
//   … %c … (backward)
// ==>
//   %w = nn.cast %x, %c = nn.sub %w, %mean
//   … %c …
//   %v = nn.cast %x, %d = nn.sub %v, %mean
//   … %d …
//
// An f32 value that kernels of the forward and the backward pass read would be
// stored between them. If it is an elementwise function of 16-bit tensors that
// together are no larger, each reader recomputes it, which saves memory and
// traffic. The attribute nn.recomputed tells fusion that it belongs in its
// reader's kernel; readers in one kernel share it again.
//
// The cast of a value that is reshaped for a reduction, such as a loss's, is
// recomputed too. Otherwise its f32 result would be stored:
//
//   %w = nn.cast %x, %r = nn.reshape %w, … nn.reduce %r …
// ==>
//   %r = nn.reshape %x, %w = nn.cast %r, … nn.reduce %w …
//
// A 16-bit value that is stored anyway is likewise recomputed if one other
// 16-bit tensor suffices. So the gradient of a relu after a batch norm reads
// the convolution's result, which the norm's gradient reads too:
//
//   %y = nn.relu (nn.cast (nn.add (nn.mul %w, %scale), %shift))
//   %m = nn.where (nn.greater %y, 0), %dy, 0
//
// If recomputing a selection between 16-bit numbers and 0, such as %m, takes
// two tensors that its readers do not read anyway, the selection is stored in
// 16 bits instead, which is exact.
//
//===----------------------------------------------------------------------===//

#include "compiler/training/Passes.h"
#include "compiler/transform/Graph.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace frit {
#define GEN_PASS_DEF_RECOMPUTEWIDE
#include "compiler/training/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Longest chain of operators that is recomputed, and the fewest elements for
/// which recomputing pays.
static constexpr size_t kLongestRecompute = 16;
static constexpr int64_t kFewElements = 1 << 16;

static bool is16Bits(Value value) {
  return tensorType(value).getElementTypeBitWidth() == 16;
}

/// Returns whether a value is certainly in memory: no elementwise operator
/// computes it, or a composite that the target keeps whole reads it.
static bool isStored(Value value) {
  return !isa_and_nonnull<ElementwiseOp>(value.getDefiningOp()) ||
         llvm::any_of(value.getUsers(), llvm::IsaPred<CompositeOp>);
}

namespace {
class Replacements;

/// The elementwise operators of one shape that compute a value, and the 16-bit
/// tensors of that shape that they read.
struct Chain {
  llvm::SetVector<Operation *> ops;
  llvm::SmallSetVector<Value, 4> roots;

  /// Adds the operators that compute `value`. Returns whether 16-bit tensors
  /// suffice.
  bool add(Value value, ArrayRef<int64_t> shape, Replacements &replacements);
  bool addOperands(Operation *op, ArrayRef<int64_t> shape,
                   Replacements &replacements);
};

/// The chains that compute 16-bit values from one other tensor each, which is
/// certainly in memory. Each is found once, since a value's chain depends on
/// those of its operands.
class Replacements {
public:
  /// Those of `earlier` are known, and stay as they are.
  explicit Replacements(const Replacements *earlier = nullptr)
      : earlier(earlier) {}

  /// Returns the chain of a value of an elementwise operator, or null.
  const Chain *find(Value value);

private:
  const Replacements *earlier;
  llvm::DenseMap<Value, std::unique_ptr<Chain>> known; ///< null: there is none
};
} // namespace

const Chain *Replacements::find(Value value) {
  if (earlier)
    if (auto it = earlier->known.find(value); it != earlier->known.end())
      return it->second.get();
  if (auto it = known.find(value); it != known.end())
    return it->second.get();
  auto own = std::make_unique<Chain>();
  if (!own->addOperands(value.getDefiningOp(), shapeOf(value), *this) ||
      own->roots.size() != 1 || !isStored(own->roots[0]))
    own.reset();
  return (known[value] = std::move(own)).get();
}

bool Chain::addOperands(Operation *op, ArrayRef<int64_t> shape,
                        Replacements &replacements) {
  if (ops.size() >= kLongestRecompute)
    return false;
  ops.insert(op);
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return tensorType(operand).getNumElements() !=
               resultType(op).getNumElements() ||
           add(operand, shape, replacements);
  });
}

bool Chain::add(Value value, ArrayRef<int64_t> shape,
                Replacements &replacements) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<ElementwiseOp>(op) || shapeOf(value) != shape)
    return is16Bits(value) && (roots.insert(value), true);
  if (ops.contains(op))
    return true;
  if (ops.empty() || !is16Bits(value))
    return addOperands(op, shape, replacements);
  // A 16-bit value is read from memory, unless one other tensor replaces it
  // that is certainly there.
  if (const Chain *own = replacements.find(value);
      own && ops.size() + own->ops.size() <= kLongestRecompute) {
    ops.insert(own->ops.begin(), own->ops.end());
    roots.insert(own->roots[0]);
  } else {
    roots.insert(value);
  }
  return true;
}

/// Returns the 16-bit tensors that `readers` of `value` read besides it.
static llvm::SmallSetVector<Value, 4>
readBeside(Value value, const llvm::SmallSetVector<Operation *, 4> &readers,
           const Replacements &earlier) {
  Chain chain;
  Replacements replacements(&earlier);
  for (Operation *reader : readers) {
    if (!isa<ElementwiseOp>(reader))
      continue;
    for (Value operand : reader->getOperands())
      if (operand != value && shapeOf(operand) == shapeOf(value)) {
        Chain own;
        if (own.add(operand, shapeOf(value), replacements))
          chain.roots.insert(own.roots.begin(), own.roots.end());
      }
  }
  return chain.roots;
}

/// Returns the 16-bit type that `op` selects from, if it selects between a
/// value cast from that type and 0; else null.
static Type typeOfSelection(Operation *op) {
  auto where = dyn_cast<WhereOp>(op);
  if (!where)
    return {};
  Value chosen = where->getOperand(1), other = where->getOperand(2);
  if (isSplat(chosen, 0))
    std::swap(chosen, other);
  auto cast = chosen.getDefiningOp<CastOp>();
  return cast && is16Bits(cast.getX()) && isFloat(cast.getX()) &&
                 isSplat(other, 0)
             ? tensorType(cast.getX()).getElementType()
             : Type();
}

namespace {
class RecomputeWide : public frit::impl::RecomputeWideBase<RecomputeWide> {
public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function)
        run(block);
  }

private:
  static void run(Block &block);
};
} // namespace

/// Stores a value in a narrower type, from which each reader widens it.
static void store(Value value, Type narrow, ArrayRef<Operation *> readers) {
  Operation *op = value.getDefiningOp();
  NNBuilder b(op->getLoc(), op);
  b.setInsertionPointAfter(op);
  Value stored = CastOp::create(b, value, narrow);
  for (Operation *reader : readers) {
    b.setInsertionPoint(reader);
    Value wide = CastOp::create(b, stored, tensorType(value).getElementType());
    wide.getDefiningOp()->setAttr("nn.recomputed", b.getUnitAttr());
    reader->replaceUsesOfWith(value, wide);
  }
}

static bool isWide(Value value) {
  auto type = tensorType(value);
  return type.getElementType().isF32() && type.getNumElements() >= kFewElements;
}

/// Moves a reshape that a reduction reads before the cast of a 16-bit value.
static void reshapeNarrow(ReshapeOp reshape) {
  auto cast = reshape.getX().getDefiningOp<CastOp>();
  if (!cast || !cast->hasOneUse() || !isWide(cast.getY()) ||
      !is16Bits(cast.getX()) ||
      llvm::none_of(reshape->getUsers(), llvm::IsaPred<ReduceOp>))
    return;
  NNBuilder b(reshape.getLoc(), reshape);
  Value narrow = b.reshape(cast.getX(), shapeOf(reshape.getY()));
  Operation *wide = b.clone(*cast);
  wide->setOperand(0, narrow);
  wide->getResult(0).setType(tensorType(reshape.getY()));
  wide->setAttr("nn.recomputed", b.getUnitAttr());
  reshape.replaceAllUsesWith(wide->getResult(0));
  reshape.erase();
  cast.erase();
}

/// Stores selections whose recomputation would make their readers load two more
/// tensors.
static void storeSelections(Block &block) {
  // A stored selection changes only operators after it.
  Replacements replacements;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<ElementwiseOp>(op))
      continue;
    Value value = op.getResult(0);
    if (is16Bits(value))
      replacements.find(value);
    Type narrow = typeOfSelection(&op);
    if (!narrow || tensorType(value).getNumElements() < kFewElements)
      continue;
    llvm::SmallSetVector<Operation *, 4> readers(value.getUsers().begin(),
                                                 value.getUsers().end());
    Chain chain;
    if (readers.size() < 2 || !chain.add(value, shapeOf(value), replacements) ||
        chain.roots.size() > 2)
      continue;
    llvm::SmallSetVector<Value, 4> beside =
        readBeside(value, readers, replacements);
    if (llvm::count_if(chain.roots,
                       [&](Value root) { return !beside.contains(root); }) > 1)
      store(value, narrow, readers.getArrayRef());
  }
}

void RecomputeWide::run(Block &block) {
  for (auto reshape : llvm::make_early_inc_range(block.getOps<ReshapeOp>()))
    reshapeNarrow(reshape);
  storeSelections(block);
  // Backwards, because recomputing a chain also recomputes the values that it
  // reads.
  SmallVector<Operation *> ops;
  // A recomputed value changes only operators after it.
  Replacements replacements;
  for (Operation &op : block)
    if (isa<ElementwiseOp>(op)) {
      ops.push_back(&op);
      if (is16Bits(op.getResult(0)))
        replacements.find(op.getResult(0));
    }
  llvm::DenseSet<Operation *> erased;
  for (Operation *op : llvm::reverse(ops)) {
    if (erased.contains(op))
      continue;
    Value value = op->getResult(0);
    auto type = tensorType(value);
    if (!isWide(value))
      continue;
    llvm::SmallSetVector<Operation *, 4> readers(value.getUsers().begin(),
                                                 value.getUsers().end());
    if (readers.size() < 2)
      continue;
    Chain chain;
    if (!chain.add(value, type.getShape(), replacements) ||
        chain.roots.size() > 2)
      continue;
    SmallVector<Operation *> order(chain.ops.begin(), chain.ops.end());
    llvm::sort(order, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    for (Operation *reader : readers) {
      OpBuilder b(reader);
      IRMapping map;
      for (Operation *link : order)
        b.clone(*link, map)->setAttr("nn.recomputed", b.getUnitAttr());
      reader->replaceUsesOfWith(value, map.lookup(value));
    }
    for (Operation *link : llvm::reverse(order))
      if (link->use_empty()) {
        erased.insert(link);
        link->erase();
      }
  }
}
