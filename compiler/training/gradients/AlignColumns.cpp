//===- AlignColumns.cpp - Align the columns between products --------------===//
//
//   %x = nn.matmul %a, %w {transpose_b}        %x: tensor<16384x30522xbf16>
//   %s = nn.reduce (nn.exp (nn.cast %x)) {kind = sum, axes = [1]}
//   %g = … %x, %s …                            %g: tensor<16384x30522xbf16>
//   %da = nn.matmul %g, %w
//   %dw = nn.matmul %g, %a {transpose_a}
// ==>
//   %x = nn.matmul %a, %w' {transpose_b}       %x: tensor<16384x30528xbf16>
//   %s = nn.reduce (nn.where %valid, (nn.exp (nn.cast %x)), 0) …
//   %g = nn.where %valid, (… %x, %s …), 0
//   %da = nn.matmul %g, %w'
//   %dw = nn.slice (nn.matmul %g, %a {transpose_a})
//
// TMA cannot read a product's result whose rows are no multiple of 16 bytes, so
// gradients of an odd number of classes would take three times as long. This
// pass rounds up the columns of a product that gradients read, and of all
// values in between. Their kernels write the additional columns too, about a
// thousandth of all. Reductions and products read the neutral element there.
//
// %w' either extends %w into the weights that follow it in memory, or gets rows
// of zeros from the kernel that casts %w.
//
//===----------------------------------------------------------------------===//

#include "compiler/training/gradients/AlignColumns.h"
#include "compiler/training/Passes.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/TargetRewritePass.h"
#include "dialects/nn/TensorExpr.h"
#include "dialects/nn/lowering/Lowering.h"
#include "dialects/nn/rewrites/AlignColumns.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace frit {
#define GEN_PASS_DEF_ALIGNCOLUMNS
#include "compiler/training/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// A product, and the operators that compute with its columns up to the
/// reductions and products that read them.
class Columns {
public:
  Columns(MatmulOp source, int64_t aligned)
      : source(source), count(shapeOf(source.getY()).back()), aligned(aligned) {
  }

  /// Finds the operators. Returns whether all of them can be aligned, and a
  /// product of gradients gains by it.
  bool find();
  void align();

private:
  bool hasColumns(Value value) const {
    auto type = tensorType(value);
    return type.getRank() > 0 && type.getShape().back() == count;
  }
  bool isMember(Value value) const {
    Operation *def = value.getDefiningOp();
    return def && members.contains(def);
  }
  bool joins(Operation *op) const;
  bool canEnd(Operation *op) const;

  RankedTensorType alignedType(Value value) const;
  Value alignWeight(NNBuilder &b);
  void alignMember(Operation *op);
  void endReduce(ReduceOp op);
  void endGather(GatherElementsOp op);
  void endProduct(MatmulOp op);
  /// Returns an aligned value with `neutral` in the columns that were added.
  Value masked(NNBuilder &b, Value whole, TypedAttr neutral);
  /// Likewise with zeros, before a cast whose result is stored.
  Value zeroed(Value whole);

  MatmulOp source;
  int64_t count, aligned;
  /// The source, elementwise operators, reshapes, counters and broadcasts.
  llvm::SetVector<Operation *> members;
  /// Reductions, products, and elements that are read by their column.
  llvm::SetVector<Operation *> ends;
  /// Other operands, such as biases, which get zeros.
  llvm::SetVector<Value> vectors;
  Value weight;
  IRMapping map;
};
} // namespace

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

/// Returns whether a reduction is one over columns.
static bool reducesColumns(ReduceOp op) {
  return llvm::is_contained(op.getAxes(), tensorType(op.getX()).getRank() - 1);
}

/// Returns whether an operator reads one element of each row.
static bool gathersColumns(GatherElementsOp op) {
  int64_t rank = tensorType(op.getX()).getRank(), axis = op.getAxis();
  return axis == -1 || axis == rank - 1;
}

/// Returns whether a product sums over the columns of its first operand.
/// Otherwise these are rows of its result.
static bool contractsColumns(MatmulOp product) {
  return !product.getTransposeA();
}

/// Returns whether an operand outside the members may stay as it is, because it
/// broadcasts along the columns.
static bool broadcastsColumns(Value value) {
  auto type = tensorType(value);
  return type.getRank() == 0 || type.getShape().back() == 1;
}

bool Columns::joins(Operation *op) const {
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return hasColumns(reshape.getY());
  return isa<ElementwiseOp>(op) && op->getNumResults() == 1 &&
         hasColumns(op->getResult(0));
}

bool Columns::canEnd(Operation *op) const {
  // A reduction of the columns alone, or one that keeps them.
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reducesColumns(reduce) ? reduce.getAxes().size() == 1
                                  : hasColumns(reduce.getY());
  if (auto gather = dyn_cast<GatherElementsOp>(op))
    return gathersColumns(gather) && !isMember(gather.getIndices());
  // A product for the gradient of either operand of the source.
  auto product = dyn_cast<MatmulOp>(op);
  return product && isMember(product.getA()) && !isMember(product.getB()) &&
         tensorType(product.getB()).getRank() == 2 &&
         (contractsColumns(product) ||
          tensorType(product.getA()).getRank() == 2);
}

bool Columns::find() {
  weight = source.getB();
  if (!source.getTransposeB() || tensorType(weight).getRank() != 2 ||
      tensorType(source.getY()).getRank() < 2)
    return false;
  members.insert(source);
  bool gains = false;
  for (size_t i = 0; i < members.size(); ++i)
    for (OpOperand &use : members[i]->getUses()) {
      Operation *user = use.getOwner();
      if (joins(user)) {
        members.insert(user);
        continue;
      }
      if (!canEnd(user))
        return false;
      ends.insert(user);
      gains |= isa<MatmulOp>(user);
    }
  // Operands from outside.
  for (size_t i = 1; i < members.size(); ++i)
    for (Value operand : members[i]->getOperands()) {
      if (isMember(operand) || broadcastsColumns(operand))
        continue;
      if (!hasColumns(operand))
        return false;
      // Counters, broadcasts and functions of them extend to the additional
      // columns.
      Operation *def = operand.getDefiningOp();
      if (!isa_and_nonnull<IotaOp, ExpandOp, ElementwiseOp>(def)) {
        if (tensorType(operand).getNumElements() > count)
          return false;
        vectors.insert(operand);
        continue;
      }
      members.insert(def);
    }
  return gains;
}

//===----------------------------------------------------------------------===//
// Aligning
//===----------------------------------------------------------------------===//

RankedTensorType Columns::alignedType(Value value) const {
  auto type = tensorType(value);
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = aligned;
  return type.clone(shape);
}

/// Returns a matrix of `rows` rows that extends `w` into the elements behind
/// it; null if too few follow.
static Value readOn(NNBuilder &b, Value w, int64_t rows) {
  int64_t cols = shapeOf(w)[1];
  if (auto cast = w.getDefiningOp<CastOp>()) {
    Value x = readOn(b, cast.getX(), rows);
    if (!x)
      return {};
    Operation *clone = b.clone(*cast);
    clone->setOperand(0, x);
    clone->getResult(0).setType(tensorType(w).clone({rows, cols}));
    return clone->getResult(0);
  }
  auto reshape = w.getDefiningOp<ReshapeOp>();
  auto slice = (reshape ? reshape.getX() : w).getDefiningOp<SliceOp>();
  if (!slice || !llvm::all_equal(slice.getSteps()) || slice.getSteps()[0] != 1)
    return {};
  // A part of a vector, or rows of a matrix.
  ArrayRef<int64_t> from = shapeOf(slice.getX()), starts = slice.getStarts();
  bool flat = from.size() == 1;
  if (!flat && (reshape || from.size() != 2 || from[1] != cols))
    return {};
  int64_t size = flat ? rows * cols : rows;
  if (starts[0] + size > from[0])
    return {};
  SmallVector<int64_t> sizes(slice.getSizes());
  sizes[0] = size;
  Value whole =
      SliceOp::create(b, slice.getX(), starts, sizes, slice.getSteps());
  return flat ? b.reshape(whole, {rows, cols}) : whole;
}

/// Extends the weight's rows to the aligned number of columns.
Value Columns::alignWeight(NNBuilder &b) {
  int64_t cols = shapeOf(weight)[1];
  if (Operation *def = weight.getDefiningOp())
    b.setInsertionPointAfter(def);
  else
    b.setInsertionPointToStart(source->getBlock());
  Value rows = readOn(b, weight, aligned);
  if (!rows)
    rows = PadOp::create(b, weight, Value(), ArrayRef<int64_t>{0, 0},
                         ArrayRef<int64_t>{aligned - count, 0});
  Operation *made = rows.getDefiningOp();
  // Other readers of a cast or a copy read its first rows.
  if (isa<CastOp, PadOp>(made)) {
    Value first = SliceOp::create(b, rows, ArrayRef<int64_t>{0, 0},
                                  ArrayRef<int64_t>{count, cols},
                                  ArrayRef<int64_t>{1, 1});
    weight.replaceAllUsesExcept(first, made);
    weight = first;
  }
  return rows;
}

void Columns::alignMember(Operation *op) {
  OpBuilder b(op);
  Operation *clone = b.clone(*op, map);
  Value result = clone->getResult(0);
  result.setType(alignedType(result));
  auto shape = llvm::to_vector(shapeOf(result));
  if (auto reshape = dyn_cast<ReshapeOp>(clone))
    reshape.setShape(shape);
  else if (auto counter = dyn_cast<IotaOp>(clone))
    counter.setShape(shape);
  else if (auto expand = dyn_cast<ExpandOp>(clone))
    expand.setShape(shape);
  // Products read zeros; other readers must not make the masked value be stored
  // as well.
  if (llvm::any_of(op->getUsers(), [&](Operation *user) {
        return isa<MatmulOp>(user) && ends.contains(user);
      }))
    map.map(op->getResult(0), zeroed(result));
}

Value Columns::masked(NNBuilder &b, Value whole, TypedAttr neutral) {
  auto type = tensorType(whole);
  Value column = b.iota(type.getShape(), type.getRank() - 1);
  Value valid = LessOp::create(b, column, b.integer(count));
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Value none = ConstantOp::create(b, DenseElementsAttr::get(scalar, neutral),
                                  StringAttr());
  return WhereOp::create(b, valid, whole, none);
}

Value Columns::zeroed(Value whole) {
  NNBuilder b(whole.getLoc(), whole.getContext());
  b.setInsertionPointAfterValue(whole);
  auto zero = [&](Value v) {
    return masked(b, v, b.getZeroAttr(tensorType(v).getElementType()));
  };
  // A cast is the last, as it rounds when it is stored.
  auto cast = whole.getDefiningOp<CastOp>();
  return cast ? b.cast(zero(cast.getX()), tensorType(whole).getElementType())
              : zero(whole);
}

void Columns::endReduce(ReduceOp op) {
  NNBuilder b(op.getLoc(), op);
  Value x = map.lookup(op.getX());
  if (reducesColumns(op)) {
    Type element = tensorType(x).getElementType();
    op.getXMutable().assign(masked(
        b, x, identity(op.getKind(), element, element.isUnsignedInteger())));
    return;
  }
  Value y = b.reduce(x, op.getKind(), op.getAxes());
  SmallVector<int64_t> zeros(tensorType(y).getRank()), ones(zeros.size(), 1);
  op.replaceAllUsesWith(
      SliceOp::create(b, y, zeros, shapeOf(op.getY()), ones).getResult());
}

/// Indices count from the columns that there were before.
void Columns::endGather(GatherElementsOp op) {
  NNBuilder b(op.getLoc(), op);
  TensorExpr index(b, op.getIndices());
  TensorExpr place = where(index < 0, index + double(count), index);
  Value notBelow = MaxOp::create(b, place, place.number(0));
  Value inside = MinOp::create(b, notBelow, place.number(double(count - 1)));
  op.getXMutable().assign(map.lookup(op.getX()));
  op.getIndicesMutable().assign(inside);
}

void Columns::endProduct(MatmulOp op) {
  NNBuilder b(op.getLoc(), op);
  Value a = map.lookup(op.getA());
  Value other = op.getB();
  if (contractsColumns(op)) {
    // The aligned weight, or another operand, which gets zeros.
    if (other == weight && !op.getTransposeB()) {
      other = map.lookup(weight);
    } else {
      SmallVector<int64_t> low(tensorType(other).getRank()), high = low;
      high[high.size() - (op.getTransposeB() ? 1 : 2)] = aligned - count;
      other = PadOp::create(b, other, Value(), low, high);
    }
    op.getAMutable().assign(a);
    op.getBMutable().assign(other);
    return;
  }
  Value y = MatmulOp::create(b, a, other, op.getTransposeA(),
                             op.getTransposeB(), op.getTf32());
  SmallVector<int64_t> zeros(2), ones(2, 1);
  op.replaceAllUsesWith(
      SliceOp::create(b, y, zeros, shapeOf(op.getY()), ones).getResult());
}

void Columns::align() {
  NNBuilder b(source.getLoc(), source);
  Value rows = alignWeight(b);
  map.map(weight, rows);
  for (Value vector : vectors) {
    b.setInsertionPointAfterValue(vector);
    SmallVector<int64_t> low(tensorType(vector).getRank()), high = low;
    high.back() = aligned - count;
    map.map(vector, PadOp::create(b, vector, Value(), low, high).getResult());
  }
  SmallVector<Operation *> order(members.begin(), members.end());
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : order)
    alignMember(op);
  for (Operation *op : ends)
    if (auto reduce = dyn_cast<ReduceOp>(op))
      endReduce(reduce);
    else if (auto gather = dyn_cast<GatherElementsOp>(op))
      endGather(gather);
    else
      endProduct(cast<MatmulOp>(op));
}

namespace {
class AlignColumns
    : public TargetRewritePass<frit::impl::AlignColumnsBase<AlignColumns>,
                               AlignColumnsRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override {
    SmallVector<MatmulOp> products(block.getOps<MatmulOp>());
    for (MatmulOp product : products) {
      if (tensorType(product.getY()).getRank() == 0)
        continue;
      int64_t columns = shapeOf(product.getY()).back();
      int64_t multiple = rewrite->multiple(product);
      if (columns < kFewColumns || columns % multiple == 0)
        continue;
      Columns found(product, (columns + multiple - 1) / multiple * multiple);
      if (found.find())
        found.align();
    }
    eraseDead(block);
  }
};
} // namespace

std::unique_ptr<Pass> frit::createAlignColumns(const Target &target) {
  return std::make_unique<AlignColumns>(target);
}
