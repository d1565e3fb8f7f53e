//===- PositionMasks.cpp - Masks by positions as ranges of keys -----------===//
//
// With caches of a fixed size, as of transformers' StaticCache:
//   %p = nn.add %length, (nn.iota from 0)                 batch 1, 4 queries
//   %s = nn.less_equal [0, 1, …, 39], nn.reshape %p       4x40
//   %m = nn.where %s, 0, -3.4e38
//   %y = nn.attention %q, %keys, %values, %m
// ==>
//   %r = nn.concat 0, nn.min(nn.add(%p, 1), 40)
//   %y = nn.attention %q, %keys, %values, %r
//
// Kernels skip keys that no query sees, and the mask is not stored. Each query
// sees the key at its own position, so that none has all keys hidden.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/recognize/PositionMasks.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/AttentionScores.h"
#include "compiler/transform/recognize/MaskValue.h"
#include "dialects/nn/constants/ConstantValues.h"
#include "dialects/nn/training/Gradient.h"

#include "frit/role_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <numeric>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns whether a value is the number of tokens of the only sequence.
static bool isLength(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || tensorType(value).getNumElements() != 1)
    return false;
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto name = function.getArgAttrOfType<FlatSymbolRefAttr>(
      argument.getArgNumber(), "nn.state");
  auto state =
      name ? SymbolTable::lookupNearestSymbolFrom<StateOp>(function, name)
           : StateOp();
  return state && state.getRole() == artifact::kStateRoles[FRIT_STATE_LENGTH];
}

/// Looks through reshapes and conversions of integers.
static Value throughCasts(Value value) {
  while (true) {
    value = throughReshapes(value);
    auto cast = value.getDefiningOp<CastOp>();
    if (!cast ||
        !tensorType(cast.getX()).getElementType().isSignlessInteger() ||
        tensorType(cast.getX()).getElementType().isInteger(1))
      return value;
    value = cast.getX();
  }
}

/// Returns whether the elements of a value are 0, 1, 2 and so on.
static bool countsUp(Value value) {
  auto known = evaluateConstant(value);
  auto elements = known ? readElements(known->elements, shapeOf(value))
                        : std::optional<std::vector<float>>();
  if (!elements)
    return false;
  for (auto [i, element] : llvm::enumerate(*elements))
    if (element != float(i))
      return false;
  return true;
}

/// Returns whether a value has the positions of the call's tokens: the
/// sequence's length plus 0, 1 and so on, perhaps at most a number.
static bool arePositions(Value value) {
  value = throughCasts(value);
  if (auto least = value.getDefiningOp<MinOp>())
    for (unsigned i : {0, 1})
      if (numberOf(least->getOperand(i)))
        return arePositions(least->getOperand(1 - i));
  auto add = value.getDefiningOp<AddOp>();
  for (unsigned i = 0; add && i < 2; ++i)
    if (isLength(throughCasts(add->getOperand(i))))
      return countsUp(add->getOperand(1 - i));
  return isLength(value);
}

/// Looks through reshapes and conversions of bools.
static Value throughTruths(Value value) {
  Value found = value;
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<ReshapeOp, CastOp>(def))
      break;
    value = def->getOperand(0);
    if (tensorType(value).getElementType().isInteger(1))
      found = value;
  }
  return found;
}

/// Returns the size of the last dimension, 1 of a number.
static int64_t lastSize(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  return shape.empty() ? 1 : shape.back();
}

/// Returns whether a value is the places of all keys, in one row.
static bool arePlaces(Value value, int64_t keys) {
  return tensorType(value).getNumElements() == keys &&
         lastSize(value) == keys && mayEvaluate(value) && countsUp(value);
}

namespace {
/// Positions plus a number.
struct Bound {
  Value positions;
  int64_t offset = 0;
};

/// Collects what a mask shows: keys from `start` to before `end`.
class BoundCollector {
public:
  BoundCollector(int64_t queries, int64_t keys)
      : queries(queries), keys(keys) {}

  bool add(Value mask);
  /// Builds the ranges; null if a query may see no key.
  Value build(NNBuilder &b);

private:
  bool addUsed(Value mask);
  bool addComparison(Value key, Value position, bool isEnd, int64_t offset);
  std::optional<Bound> findBound(Value value);

  int64_t queries, keys;
  std::optional<Bound> start, end;
  /// Keys from the sequence's length on that are in use after the call.
  std::optional<double> used;
};
} // namespace

std::optional<Bound> BoundCollector::findBound(Value value) {
  Bound bound{throughCasts(value), 0};
  while (!arePositions(bound.positions)) {
    Operation *op = bound.positions.getDefiningOp();
    if (!isa_and_nonnull<AddOp, SubOp>(op))
      return std::nullopt;
    auto number = numberOf(op->getOperand(1));
    if (!number || std::abs(*number) > double(1 << 30))
      return std::nullopt;
    bound.offset += isa<AddOp>(op) ? int64_t(*number) : -int64_t(*number);
    bound.positions = throughCasts(op->getOperand(0));
  }
  if (tensorType(bound.positions).getNumElements() != queries)
    return std::nullopt;
  return bound;
}

/// Adds a comparison of keys with positions plus an offset: the bound is an end
/// or a start of ranges.
bool BoundCollector::addComparison(Value key, Value position, bool isEnd,
                                   int64_t offset) {
  // One row of places, and one position for each query.
  if (!arePlaces(key, keys) || (keys != 1 && lastSize(position) != 1))
    return false;
  auto bound = findBound(position);
  std::optional<Bound> &known = isEnd ? end : start;
  if (!bound || known)
    return false;
  bound->offset += offset;
  known = bound;
  return true;
}

/// Adds the mask of the keys that are in use after the call.
bool BoundCollector::addUsed(Value mask) {
  auto less = throughTruths(mask).getDefiningOp<LessOp>();
  if (used || !less || !arePlaces(less.getA(), keys))
    return false;
  auto sum = throughCasts(less.getB()).getDefiningOp<AddOp>();
  if (!sum || tensorType(sum).getNumElements() != 1 ||
      !isLength(throughCasts(sum.getA())))
    return false;
  used = numberOf(sum.getB());
  return used.has_value();
}

bool BoundCollector::add(Value mask) {
  Operation *def = mask.getDefiningOp();
  ArrayRef<int64_t> shape = shapeOf(mask);
  if (!def || shape.empty() || shape.back() != keys ||
      tensorType(mask).getNumElements() != queries * keys)
    return false;
  if (isa<ReshapeOp>(def))
    return add(def->getOperand(0));
  if (isa<AndOp>(def))
    return llvm::all_of(def->getOperands(), [&](Value operand) {
      return addUsed(operand) || add(operand);
    });
  if (auto where = dyn_cast<WhereOp>(def)) {
    auto seen = numberOf(where.getA()), hidden = numberOf(where.getB());
    return seen == 0 && hidden && *hidden <= kMasked &&
           add(where.getCondition());
  }
  if (!isa<LessOp, LessEqualOp, GreaterOp, GreaterEqualOp>(def))
    return false;
  Value a = def->getOperand(0), b = def->getOperand(1);
  bool isLess = isa<LessOp, LessEqualOp>(def), isKeyFirst = mayEvaluate(a);
  bool isEqual = isa<LessEqualOp, GreaterEqualOp>(def);
  bool isEnd = isLess == isKeyFirst;
  // key <= p ends before p + 1, and key > p starts there.
  int64_t offset = isEnd == isEqual ? 1 : 0;
  return addComparison(isKeyFirst ? a : b, isKeyFirst ? b : a, isEnd, offset);
}

Value BoundCollector::build(NNBuilder &b) {
  if (!end || end->offset < 1 ||
      (start && (start->offset > 0 || start->positions != end->positions)))
    return {};
  // The last query sees none of the keys that are not in use.
  if (used && double(queries - 1 + end->offset) > *used)
    return {};
  SmallVector<int64_t> shape{1, 1, queries, 1};
  auto place = [&](const Bound &bound) {
    Value at = b.cast(b.reshape(bound.positions, shape), b.getI32Type());
    return b.add(at, b.scalarLike(at, double(bound.offset)));
  };
  Value last = place(*end);
  last = MinOp::create(b, last, b.scalarLike(last, double(keys)));
  Value first = b.zeros(tensorType(last));
  if (start)
    first = MaxOp::create(b, place(*start), b.scalarLike(last, 0));
  return ConcatOp::create(b, ValueRange{first, last}, 3);
}

void frit::rewritePositionMasks(Block &block) {
  for (auto attention :
       llvm::make_early_inc_range(block.getOps<AttentionOp>())) {
    Value mask = attention.getMask();
    ArrayRef<int64_t> q = shapeOf(attention.getQ());
    int64_t keys = shapeOf(attention.getK())[2];
    if (!mask || hasRanges(mask) || attention.getCausal() || q[0] != 1 ||
        !tensorType(mask).hasStaticShape())
      continue;
    BoundCollector bounds(q[2], keys);
    NNBuilder b(attention.getLoc(), attention);
    if (!bounds.add(mask))
      continue;
    if (Value ranges = bounds.build(b)) {
      attention.getMaskMutable().assign(ranges);
      attention.setUnguarded(false);
    }
  }
}
