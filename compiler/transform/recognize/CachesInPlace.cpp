//===- CachesInPlace.cpp - Attend to caches where they lie ----------------===//
//
// With 40 entries and calls of 4 tokens, where %places are those of
// decoder::bindCaches (MovedEntries.cpp):
//   %k = nn.gather %keys, %places {axis = 2}            1x2x40x8 ==> 1x2x44x8
//   %v = nn.gather %values, %places {axis = 2}
//   %m = nn.and (nn.range_mask [[0, 41], [0, 42], …]), %used
//   %y = nn.attention %q, %k, %v, %m
// ==>
//   %r = nn.concat 0, nn.min(nn.add(%length, [1, 2, …]), 40)
//   %y = nn.attention %q, %keys, %values, %r
//
// Sums over keys do not depend on their order, so that no entry is copied. A
// mask that is not known to be ranges gets the order of the entries. The same
// for a product with a softmax, as attention of another form has.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/recognize/CachesInPlace.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/MovedEntries.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Operators between a cache and attention.
static constexpr unsigned kMostBetween = 32;

namespace {
/// Builds the operands of one attention with entries in the caches' order.
class EntryReader {
public:
  explicit EntryReader(Operation *op) : b(op->getLoc(), op) {}

  /// Builds `value`, which depends on a cache, with the cache's entries along
  /// the dimension, in their own order; null if it does not or cannot.
  Value read(Value value, int64_t axis, unsigned depth = kMostBetween);
  /// Gathers `value`, which broadcasts to `whole`, in the order of the entries
  /// along a dimension of that; null if sequences are not the first one.
  Value move(Value value, int64_t axis, ArrayRef<int64_t> whole);
  /// Builds the weights of a softmax with zeros where an entry is no key; null
  /// if `value` has others.
  Value readWeights(Value value, int64_t axis);
  /// Builds the ranges of entries that queries see, from those of keys.
  Value ranges(const MaskRanges &ranges);
  /// Builds the mask of entries that are keys of the call, with as many
  /// dimensions of size 1 between sequences and entries as `rank` needs.
  Value isKey(int64_t rank);

  NNBuilder b;
  std::optional<MovedEntries> order;

private:
  Value clone(Operation *op, int64_t axis, unsigned depth);
  Value withShape(Operation *op, ValueRange operands, int64_t axis);
};
} // namespace

Value EntryReader::isKey(int64_t rank) {
  int64_t batch = shapeOf(order->length)[0], context = order->context;
  Value places = IotaOp::create(b, b.scalarLike(order->length, 0),
                                b.scalarLike(order->length, 1),
                                ArrayRef<int64_t>{1, context}, 1);
  Value end = b.add(b.reshape(order->length, {batch, 1}),
                    b.scalarLike(order->length, order->keys - context));
  SmallVector<int64_t> shape(rank, 1);
  shape.front() = batch;
  shape.back() = context;
  return b.reshape(LessOp::create(b, places, end), shape);
}

/// Builds an operator again whose result has the entries of a cache in place of
/// keys.
Value EntryReader::withShape(Operation *op, ValueRange operands, int64_t axis) {
  IRMapping none;
  Operation *copy = b.clone(*op, none);
  copy->setOperands(operands);
  SmallVector<int64_t> shape(shapeOf(op->getResult(0)));
  shape[axis] = order->context;
  if (isa<ReshapeOp, ExpandOp>(op))
    copy->setAttr("shape", b.getDenseI64ArrayAttr(shape));
  copy->getResult(0).setType(resultType(op).clone(shape));
  return copy->getResult(0);
}

/// Returns the dimension of a reshape's operand that is a dimension of its
/// result; -1 if there is none.
static int64_t reshapedAxis(ReshapeOp op, int64_t axis) {
  ArrayRef<int64_t> from = shapeOf(op.getX()), to = shapeOf(op.getY());
  int64_t before = ShapedType::getNumElements(to.take_front(axis));
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] == to[axis] &&
        ShapedType::getNumElements(from.take_front(i)) == before)
      return int64_t(i);
  return -1;
}

/// Builds `op` of operands in the order of the entries.
Value EntryReader::clone(Operation *op, int64_t axis, unsigned depth) {
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    Value x = read(transpose.getX(), transpose.getPerm()[axis], depth);
    return x ? withShape(op, x, axis) : Value();
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    int64_t from = reshapedAxis(reshape, axis);
    Value x = from < 0 ? Value() : read(reshape.getX(), from, depth);
    return x ? withShape(op, x, axis) : Value();
  }
  if (auto product = dyn_cast<MatmulOp>(op)) {
    // Keys are columns, as scores have them.
    int64_t rank = tensorType(product.getB()).getRank();
    if (axis != tensorType(product.getY()).getRank() - 1 || rank < 2)
      return {};
    Value keys = read(product.getB(),
                      product.getTransposeB() ? rank - 2 : rank - 1, depth);
    return keys ? withShape(op, ValueRange{product.getA(), keys}, axis)
                : Value();
  }
  if (!isa<ExpandOp, CastOp, ElementwiseOp>(op))
    return {};
  SmallVector<Value> operands;
  bool any = false;
  int64_t rank = resultType(op).getRank();
  for (Value operand : op->getOperands()) {
    int64_t at = axis - (rank - tensorType(operand).getRank());
    if (at >= 0 && shapeOf(operand)[at] != 1) {
      if (Value entries = read(operand, at, depth)) {
        operand = entries;
        any = true;
      }
    }
    operands.push_back(operand);
  }
  if (!any)
    return {};
  for (Value &operand : operands) {
    int64_t at = axis - (rank - tensorType(operand).getRank());
    if (at >= 0 && shapeOf(operand)[at] == order->keys &&
        !(operand = move(operand, axis, resultType(op).getShape())))
      return {};
  }
  return withShape(op, operands, axis);
}

Value EntryReader::read(Value value, int64_t axis, unsigned depth) {
  if (auto found = findMovedCache(value, axis)) {
    if (order && !(*order == found->order))
      return {};
    order = found->order;
    return found->cache;
  }
  Operation *def = value.getDefiningOp();
  return def && depth > 0 ? clone(def, axis, depth - 1) : Value();
}

Value EntryReader::move(Value value, int64_t axis, ArrayRef<int64_t> whole) {
  int64_t batch = shapeOf(order->length)[0], context = order->context;
  SmallVector<int64_t> shape(whole.size() - shapeOf(value).size(), 1);
  const int64_t own = axis - int64_t(shape.size());
  llvm::append_range(shape, shapeOf(value));
  if (shape[axis] == 1)
    return value;
  if (shape[axis] != order->keys)
    return {};
  // Entry p is key p + context - length; those after the last are hidden.
  Value run = IotaOp::create(b, b.scalarLike(order->length, context),
                             b.scalarLike(order->length, 1),
                             ArrayRef<int64_t>{1, context}, 1);
  Value places = b.sub(run, b.reshape(order->length, {batch, 1}));
  places = MinOp::create(b, places, b.scalarLike(places, order->keys - 1));
  if (batch == 1)
    return GatherOp::create(b, value, b.reshape(places, {context}), own);
  if (axis == 0 || whole[0] != batch)
    return {};
  value = b.reshape(value, shape);
  SmallVector<int64_t> wide(shape), apart(shape.size(), 1);
  wide[0] = apart[0] = batch;
  if (shape[0] == 1)
    value = ExpandOp::create(b, value, wide);
  wide[axis] = apart[axis] = context;
  places = ExpandOp::create(b, b.reshape(places, apart), wide);
  return GatherElementsOp::create(b, value, places, axis);
}

Value EntryReader::ranges(const MaskRanges &ranges) {
  int64_t batch = shapeOf(order->length)[0];
  SmallVector<int32_t> starts, ends;
  for (size_t i = 0; i < ranges.ends.size(); i += 2) {
    starts.push_back(ranges.ends[i] - int32_t(order->context));
    ends.push_back(ranges.ends[i + 1] - int32_t(order->context));
  }
  auto type = RankedTensorType::get({1, 1, ranges.queries, 1}, b.getI32Type());
  Value length = b.reshape(order->length, {batch, 1, 1, 1});
  auto after = [&](ArrayRef<int32_t> distances) {
    auto values = cast<ElementsAttr>(DenseElementsAttr::get(type, distances));
    return b.add(length, ConstantOp::create(b, values, StringAttr()));
  };
  // Rows that do not count may lie beyond the caches.
  Value end = MinOp::create(b, after(ends),
                            b.scalarLike(length, double(order->context)));
  Value start = b.zeros(tensorType(end));
  if (llvm::any_of(starts, [&](int32_t at) { return at > -order->context; })) {
    start =
        MinOp::create(b, after(starts), b.sub(end, b.scalarLike(length, 1)));
    start = MaxOp::create(b, start, b.scalarLike(length, 0));
  }
  return ConcatOp::create(b, ValueRange{start, end}, 3);
}

Value EntryReader::readWeights(Value value, int64_t axis) {
  Operation *def = value.getDefiningOp();
  if (auto softmax = dyn_cast_or_null<SoftmaxOp>(def)) {
    Value x = softmax.getX();
    int64_t rank = tensorType(x).getRank();
    if (axis != rank - 1 || axisOf(x, softmax.getAxis()) != axis)
      return {};
    Value scores = read(x, axis);
    if (!scores || rank < 2)
      return {};
    int64_t batch = shapeOf(order->length)[0];
    if (batch != 1 && shapeOf(scores)[0] != batch)
      return {};
    Value never =
        b.scalarLike(scores, -std::numeric_limits<double>::infinity());
    Value seen = WhereOp::create(b, isKey(rank), scores, never);
    return withShape(def, seen, axis);
  }
  int64_t from = axis;
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(def))
    from = reshapedAxis(reshape, axis);
  else if (!isa_and_nonnull<CastOp>(def))
    return {};
  Value x = from < 0 ? Value() : readWeights(def->getOperand(0), from);
  return x ? withShape(def, x, axis) : Value();
}

/// Reads keys and values in place, and gives the mask their order.
static void rewrite(AttentionOp op, llvm::DenseMap<Value, Value> &known) {
  Value given = op.getMask();
  if (!given || op.getCausal() ||
      tensorType(given).getElementType().isInteger(32))
    return;
  EntryReader reader(op);
  Value k = reader.read(op.getK(), 2);
  Value v = k ? reader.read(op.getV(), 2) : Value();
  if (!v)
    return;
  Value &mask = known[given];
  auto ranges = findMovedRanges(given, *reader.order);
  if (!mask && ranges &&
      (ranges->queries == 1 || ranges->queries == shapeOf(op.getQ())[2])) {
    while (ranges->queries < shapeOf(op.getQ())[2]) {
      ranges->ends.insert(ranges->ends.end(),
                          {ranges->ends[0], ranges->ends[1]});
      ++ranges->queries;
    }
    mask = reader.ranges(*ranges);
  }
  if (!mask) {
    SmallVector<int64_t> scores(shapeOf(op.getQ()));
    scores.back() = reader.order->keys;
    Value moved = reader.move(given, 3, scores);
    if (!moved)
      return;
    NNBuilder &b = reader.b;
    Value isKey = reader.isKey(4);
    if (isFloat(moved))
      mask = WhereOp::create(
          b, isKey, moved,
          b.scalarLike(moved, -std::numeric_limits<double>::infinity()));
    else
      mask = AndOp::create(b, isKey, moved);
  }
  op.getKMutable().assign(k);
  op.getVMutable().assign(v);
  op.getMaskMutable().assign(mask);
  if (tensorType(mask).getElementType().isInteger(32))
    op.setUnguarded(false);
}

/// Reads the operands of a product of weights with values in place.
static void rewrite(MatmulOp op) {
  int64_t rank = tensorType(op.getB()).getRank();
  if (rank < 2 || tensorType(op.getA()).getRank() < 2 || op.getTransposeA())
    return;
  EntryReader reader(op);
  Value v = reader.read(op.getB(), op.getTransposeB() ? rank - 1 : rank - 2);
  Value weights =
      v ? reader.readWeights(op.getA(), tensorType(op.getA()).getRank() - 1)
        : Value();
  if (!weights)
    return;
  op.getAMutable().assign(weights);
  op.getBMutable().assign(v);
}

void frit::readCachesInPlace(Block &block) {
  llvm::DenseMap<Value, Value> known;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto attention = dyn_cast<AttentionOp>(op))
      rewrite(attention, known);
    else if (auto product = dyn_cast<MatmulOp>(op))
      rewrite(product);
  }
  eraseDead(block);
}
