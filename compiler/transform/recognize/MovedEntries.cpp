//===- MovedEntries.cpp - Entries of caches in another order --------------===//
//
// The order, as decoder::bindCaches builds it:
//   %p = nn.add %length, (nn.iota from -context of context + tokens)
//   nn.gather %cache, nn.min(nn.max(%p, 0), context - 1) {axis = 2}
// The mask of keys that are not free:
//   nn.greater_equal nn.add(%length, nn.iota from 0), context
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/recognize/MovedEntries.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/AttentionScores.h"
#include "dialects/nn/constants/ConstantValues.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns the operand beside a number of an operator for which their order
/// does not count.
template <class Op>
static Value besideNumber(Value value, std::optional<double> &number) {
  auto op = value.getDefiningOp<Op>();
  for (unsigned i = 0; op && i < 2; ++i)
    if ((number = numberOf(op->getOperand(i))))
      return op->getOperand(1 - i);
  return {};
}

namespace {
/// A length plus `start`, `start` + 1, ….
struct Run {
  Value length;
  double start;
  int64_t count;
};
} // namespace

static std::optional<Run> findRun(Value value) {
  auto add = throughReshapes(value).getDefiningOp<AddOp>();
  for (unsigned i = 0; add && i < 2; ++i) {
    auto iota = throughReshapes(add->getOperand(i)).getDefiningOp<IotaOp>();
    if (!iota || numberOf(iota.getStep()) != 1)
      continue;
    auto start = numberOf(iota.getStart());
    int64_t count = shapeOf(iota)[iota.getAxis()];
    if (start && count == tensorType(iota).getNumElements())
      return Run{throughReshapes(add->getOperand(1 - i)), *start, count};
  }
  return std::nullopt;
}

static std::optional<MovedEntries> findOrder(Value places) {
  std::optional<double> last, first;
  Value below = besideNumber<MinOp>(throughReshapes(places), last);
  Value run = below ? besideNumber<MaxOp>(below, first) : Value();
  auto found = run ? findRun(run) : std::nullopt;
  if (!found || first != 0 || found->start != -(*last + 1) ||
      tensorType(found->length).getRank() != 1 ||
      !tensorType(found->length).getElementType().isInteger(32))
    return std::nullopt;
  return MovedEntries{found->length, int64_t(*last) + 1, found->count};
}

std::optional<MovedCache> frit::findMovedCache(Value value, int64_t axis) {
  Value cache, places;
  if (auto gather = value.getDefiningOp<GatherOp>()) {
    cache = gather.getX();
    places = gather.getIndices();
    if (axisOf(cache, gather.getAxis()) != axis ||
        tensorType(places).getRank() != 1)
      return std::nullopt;
  } else if (auto elements = value.getDefiningOp<GatherElementsOp>()) {
    cache = elements.getX();
    auto expand = elements.getIndices().getDefiningOp<ExpandOp>();
    if (!expand || axisOf(cache, elements.getAxis()) != axis || axis == 0)
      return std::nullopt;
    // The places differ by sequence alone.
    places = expand.getX();
    SmallVector<int64_t> shape(tensorType(cache).getRank(), 1);
    shape[0] = shapeOf(cache)[0];
    shape[axis] = shapeOf(value)[axis];
    if (shapeOf(places) != ArrayRef(shape))
      return std::nullopt;
  } else {
    return std::nullopt;
  }
  auto order = findOrder(places);
  if (!order || shapeOf(cache)[axis] != order->context ||
      shapeOf(value)[axis] != order->keys)
    return std::nullopt;
  int64_t batch = shapeOf(order->length)[0];
  if (value.getDefiningOp<GatherOp>() ? batch != 1 : batch != shapeOf(cache)[0])
    return std::nullopt;
  return MovedCache{cache, *order};
}

namespace {
/// Collects what a mask hides.
class RangeCollector {
public:
  explicit RangeCollector(const MovedEntries &order)
      : order(order), batch(shapeOf(order.length)[0]) {}

  /// Adds what a mask of bools, or of 0 and large negative numbers, hides.
  /// `isApart` says that what it becomes has sequences as the first of four
  /// dimensions.
  bool add(Value mask, bool isApart = false) {
    isApart |= tensorType(mask).getRank() == 4 && shapeOf(mask)[0] == batch;
    if (auto fixed = rangesOf(mask))
      return join(*fixed);
    if (mayEvaluate(mask)) {
      auto fixed = findMaskRanges(mask);
      return fixed && join(*fixed);
    }
    Operation *def = mask.getDefiningOp();
    if (isa_and_nonnull<ReshapeOp, ExpandOp>(def) && keepsKeys(def))
      return add(def->getOperand(0), isApart);
    if (auto cast = dyn_cast_or_null<CastOp>(def))
      return areTruths(cast.getX()) && add(cast.getX(), isApart);
    if (isa_and_nonnull<AndOp>(def))
      return add(def->getOperand(0)) && add(def->getOperand(1));
    if (auto where = dyn_cast_or_null<WhereOp>(def)) {
      auto seen = numberOf(where.getA()), hidden = numberOf(where.getB());
      return seen == 0 && hidden && *hidden <= kMasked &&
             add(where.getCondition());
    }
    return (batch == 1 || isApart) && addUsed(def);
  }

  std::optional<MaskRanges> take() {
    if (!hidesFree || !ranges || ranges->batch != 1)
      return std::nullopt;
    // Each query sees its own key or a later one.
    for (size_t i = 1; i < ranges->ends.size(); i += 2)
      if (ranges->ends[i] <= order.context)
        return std::nullopt;
    return ranges;
  }

private:
  /// Whether a view keeps the sequences, which are the first dimension, the
  /// queries if there are some, and the keys.
  static bool keepsKeys(Operation *op) {
    ArrayRef<int64_t> from = shapeOf(op->getOperand(0)),
                      to = shapeOf(op->getResult(0));
    if (from.empty() || to.empty() || from.back() != to.back() ||
        (from.front() != 1 && from.front() != to.front()))
      return false;
    return (tensorType(op->getOperand(0)).getNumElements() <=
                from.front() * from.back() ||
            from.take_back(2) == to.take_back(2));
  }

  /// Whether a value is 0 or 1.
  static bool areTruths(Value value) {
    if (tensorType(value).getElementType().isInteger(1))
      return true;
    auto cast = value.getDefiningOp<CastOp>();
    return cast && areTruths(cast.getX());
  }

  /// Adds the mask of keys that are not free.
  bool addUsed(Operation *def) {
    auto compare = dyn_cast_or_null<GreaterEqualOp>(def);
    auto run = compare ? findRun(compare.getA()) : std::nullopt;
    if (!run || numberOf(compare.getB()) != double(order.context) ||
        run->start != 0 || run->count != order.keys ||
        run->length != order.length)
      return false;
    hidesFree = true;
    if (ranges)
      return true;
    MaskRanges all;
    all.queries = 1;
    all.keys = order.keys;
    all.ends = {0, int32_t(order.keys)};
    return join(all);
  }

  bool join(MaskRanges other) {
    if (other.keys != order.keys)
      return false;
    if (!ranges) {
      ranges = other;
      return true;
    }
    // A mask of keys alone is that of each query.
    auto repeat = [](MaskRanges &one, int64_t queries) {
      while (one.queries < queries && one.batch == 1) {
        one.ends.insert(one.ends.end(), {one.ends[0], one.ends[1]});
        ++one.queries;
      }
    };
    if (other.queries == 1)
      repeat(other, ranges->queries);
    else if (ranges->queries == 1)
      repeat(*ranges, other.queries);
    ranges = intersect(*ranges, other);
    return ranges.has_value();
  }

  const MovedEntries &order;
  const int64_t batch;
  std::optional<MaskRanges> ranges;
  bool hidesFree = false;
};
} // namespace

std::optional<MaskRanges> frit::findMovedRanges(Value mask,
                                                const MovedEntries &order) {
  RangeCollector collector(order);
  return collector.add(mask) ? collector.take() : std::nullopt;
}
