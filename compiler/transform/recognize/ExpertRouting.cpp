//===- ExpertRouting.cpp - Route tokens to experts ------------------------===//

#include "compiler/transform/recognize/ExpertRouting.h"
#include "compiler/transform/Graph.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// FLOPs in the time of copying one matrix element and reading the copy: three
/// memory accesses, on a GPU with tensor cores. On other machines a copy costs
/// fewer.
static constexpr double kFlopsPerCopied = 3 * 300;

/// Routing pays if it takes at most this fraction of the time.
static constexpr double kWorthRouting = 0.8;

/// Maximum rows of a tile; with more, the copies hardly get cheaper.
static constexpr int64_t kMostTileRows = 1024;

//===----------------------------------------------------------------------===//
// Routers
//===----------------------------------------------------------------------===//

bool Routing::pickTiles() {
  // FLOPs per element of an expert's matrix.
  double least = kWorthRouting * 2 * double(experts) * double(tokens);
  for (int64_t rows = 8; rows <= kMostTileRows; rows *= 2) {
    int64_t count = (pairs() + experts * (rows - 1)) / rows;
    double time = double(count) * (2.0 * double(rows) + kFlopsPerCopied);
    if (time > least)
      continue;
    least = time;
    tile = rows;
    tiles = count;
  }
  return tokens > 1 && tile;
}

/// Looks through reshapes that only move dimensions of size 1.
static Value withoutReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    if (withoutOnes(shapeOf(reshape.getX())) != withoutOnes(shapeOf(value)))
      break;
    value = reshape.getX();
  }
  return value;
}

/// Returns whether `value` is 0, 1, ... along its last dimension, with all
/// others of size 1.
static bool isCount(Value value, int64_t size) {
  ArrayRef<int64_t> shape = shapeOf(value);
  if (shape.empty() || shape.back() != size ||
      tensorType(value).getNumElements() != size)
    return false;
  if (auto iota = value.getDefiningOp<IotaOp>())
    return iota.getAxis() == shape.size() - 1 && isSplat(iota.getStart(), 0) &&
           isSplat(iota.getStep(), 1);
  auto constant = value.getDefiningOp<ConstantOp>();
  auto numbers = constant && isFoldable(constant)
                     ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                     : DenseIntElementsAttr();
  if (!numbers)
    return false;
  for (auto [i, number] : llvm::enumerate(numbers.getValues<APInt>()))
    if (number != i)
      return false;
  return true;
}

/// Returns the t×k indices of which `hot`, t×k×e, is the one-hot encoding, or
/// null.
static Value oneHotOf(Value hot) {
  if (auto cast = hot.getDefiningOp<CastOp>())
    hot = cast.getX();
  else if (auto where = hot.getDefiningOp<WhereOp>();
           where && isSplat(where.getA(), 1) && isSplat(where.getB(), 0))
    hot = where.getCondition();
  auto equal = hot.getDefiningOp<EqualOp>();
  ArrayRef<int64_t> shape = shapeOf(hot);
  if (!equal || shape.size() != 3)
    return {};
  for (unsigned i = 0; i < 2; ++i) {
    Value picks = withoutReshapes(equal->getOperand(i));
    ArrayRef<int64_t> places = shapeOf(equal->getOperand(i));
    if (isCount(equal->getOperand(1 - i), shape[2]) && places.size() == 3 &&
        places == ArrayRef<int64_t>{shape[0], shape[1], 1} &&
        tensorType(picks).getElementType().isInteger(64))
      return picks;
  }
  return {};
}

std::optional<Routing> frit::routingOf(Value gates) {
  auto transpose = withoutReshapes(gates).getDefiningOp<TransposeOp>();
  if (!transpose)
    return std::nullopt;
  SmallVector<int64_t> order;
  for (int64_t dim : transpose.getPerm())
    if (shapeOf(transpose.getX())[dim] != 1)
      order.push_back(dim);
  if (order.size() != 2 || order[0] < order[1])
    return std::nullopt;
  Value sum = withoutReshapes(transpose.getX());
  if (auto reduce = sum.getDefiningOp<ReduceOp>();
      reduce && reduce.getKind() == Combiner::sum &&
      reduce.getAxes() == ArrayRef<int64_t>{1})
    sum = reduce.getX();
  auto product = sum.getDefiningOp<MulOp>();
  if (!product || shapeOf(sum).size() != 3)
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(sum);
  for (unsigned i = 0; i < 2; ++i) {
    Value picks = oneHotOf(product->getOperand(i));
    Value weights = product->getOperand(1 - i);
    if (picks && shapeOf(product->getOperand(i)) == shape &&
        shapeOf(weights) == ArrayRef<int64_t>{shape[0], shape[1], 1})
      return Routing{picks, weights, shape[0], shape[1], shape[2]};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

ExpertSlots::ExpertSlots(NNBuilder &b, const Routing &routing)
    : b(b), r(routing), pairs(r.pairs()), tile(r.tile), tiles(r.tiles) {
  Value picks = b.reshape(r.picks, {pairs});
  Value clamped = MaxOp::create(b, picks, number(0));
  clamped = MinOp::create(b, clamped, number(r.experts - 1));
  isRouted = EqualOp::create(b, picks, clamped);
  Value hot = b.cast(EqualOp::create(b, b.reshape(clamped, {1, pairs}),
                                     count({r.experts, 1}, 0)),
                     b.getI64Type());
  Value ranks = cumulate(hot, r.experts, pairs); // from 1 on
  // The last rank of an expert is how many pairs it has.
  Value last = SliceOp::create(b, ranks, /*starts=*/{0, pairs - 1},
                               /*sizes=*/{r.experts, 1}, /*steps=*/{1, 1});
  Value sizes = b.reshape(last, {r.experts});
  Value tilesOf = b.div(b.add(sizes, number(tile - 1)), number(tile));
  Value ends = CumSumOp::create(b, tilesOf, /*axis=*/0, /*exclusive=*/false,
                                /*reverse=*/false);
  Value starts = b.mul(b.sub(ends, tilesOf), number(tile));

  Value before = LessEqualOp::create(b, b.reshape(ends, {1, r.experts}),
                                     count({tiles, 1}, 0));
  experts = b.reshape(
      b.reduce(b.cast(before, b.getI64Type()), Combiner::sum, {1}), {tiles});
  experts = MinOp::create(b, experts, number(r.experts - 1));

  Value rank = at(ranks, clamped, count({pairs}, 0));
  ofPairs = b.add(GatherOp::create(b, starts, clamped), b.sub(rank, number(1)));

  // Find each expert's pair of a given rank by binary search: ranks ascend.
  Value ranked = SearchSortedOp::create(b, ranks, count({r.experts, pairs}, 1));
  Value expert = b.reshape(experts, {tiles, 1});
  Value first = b.reshape(GatherOp::create(b, starts, experts), {tiles, 1});
  Value place =
      b.add(b.mul(count({tiles, 1}, 0), number(tile)), count({1, tile}, 1));
  Value behind = MinOp::create(b, b.sub(place, first), number(pairs - 1));
  Value pair = MinOp::create(b, at(ranked, expert, behind), number(pairs - 1));
  tokens = b.div(pair, number(r.perToken));
  inMatrix = b.add(b.mul(expert, number(r.tokens)), tokens);
}

Value ExpertSlots::number(int64_t value) {
  return ConstantOp::create(
      b,
      DenseElementsAttr::get(RankedTensorType::get({}, b.getI64Type()),
                             b.getI64IntegerAttr(value).getValue()),
      StringAttr());
}

Value ExpertSlots::count(ArrayRef<int64_t> shape, int64_t axis) {
  return IotaOp::create(b, number(0), number(1), shape, axis);
}

Value ExpertSlots::at(Value table, Value row, Value column) {
  Value flat = b.reshape(table, {r.experts * pairs});
  return GatherOp::create(b, flat, b.add(b.mul(row, number(pairs)), column));
}

/// Sums in blocks if the dimension is long, since the time of a running sum is
/// quadratic in its length.
Value ExpertSlots::cumulate(Value x, int64_t rows, int64_t length) {
  int64_t block = 1;
  for (int64_t size = 2; size <= 64; ++size)
    block = length % size == 0 ? size : block;
  if (length <= 128 || block == 1)
    return CumSumOp::create(b, x, /*axis=*/1, /*exclusive=*/false,
                            /*reverse=*/false);
  int64_t blocks = length / block;
  Value parts = b.reshape(x, {rows, blocks, block});
  Value sums = b.reshape(b.reduce(parts, Combiner::sum, {2}), {rows, blocks});
  Value before = b.sub(cumulate(sums, rows, blocks), sums);
  Value inside = CumSumOp::create(b, parts, /*axis=*/2, /*exclusive=*/false,
                                  /*reverse=*/false);
  return b.reshape(b.add(inside, b.reshape(before, {rows, blocks, 1})),
                   {rows, length});
}
