//===- ExpertPatterns.cpp - Experts that compute what is routed to them ---===//
//
// A mixture of experts is usually written so that every expert computes every
// token, and the few that the router picked are summed:
//
//   %hot = nn.equal %picks as t×k×1, 0 … e-1           t×k×e
//   %gates = nn.reduce sum of %hot · %weights          e×t×1, mostly 0
//   %y = nn.matmul f(nn.matmul %x, %w), %v             e×t×n
//   %sum = nn.reduce sum of %y · %gates                t×n
// ==>
//   %rows = nn.gather %x, %token                       tiles×tile×n
//   %y = nn.matmul f(nn.matmul %rows, nn.gather(%w, %experts)),
//                  nn.gather(%v, %experts)             tiles×tile×n
//   %sum = nn.reduce sum of nn.gather(%y, %slot) · %weights
//
// Each pair of a token and an expert it is routed to gets a slot. Slots are
// grouped into tiles of one expert each, so there are at most (t·k + e·(tile -
// 1)) / tile tiles, whatever the router picks. Running counts of each expert's
// pairs map pairs to slots and back (Gale et al., "MegaBlocks", MLSys 2023).
//
// Each tile is multiplied by a gathered copy of its expert's matrices. Tiles
// have enough rows that the copies cost little; with few tokens the pattern
// does not apply.
//
// Experts that no token picks are not computed, so infinities in them no longer
// make a sum NaN.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/recognize/ComposePatterns.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

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

namespace {
/// The experts that a router picks for each token, and their weights.
struct Routing {
  Value picks, weights; ///< t×k
  int64_t tokens = 0, perToken = 0, experts = 0;

  /// Rows per tile, and the maximum number of tiles.
  int64_t tile = 0, tiles = 0;

  int64_t pairs() const { return tokens * perToken; }

  /// Picks the tile size that takes the least time. Returns whether that beats
  /// multiplying all tokens by all experts.
  bool pickTiles() {
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
};
} // namespace

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

/// Matches the routing whose weights are the matrix `gates`, e×t with
/// dimensions of size 1.
static std::optional<Routing> routingOf(Value gates) {
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
// What experts compute
//===----------------------------------------------------------------------===//

namespace {
/// Recognises the operators that compute e×t×n from token rows, expert matrices
/// and shared values, such that each token's row depends on that token only.
class Experts {
public:
  explicit Experts(const Routing &routing) : routing(routing) {}

  /// Returns whether `value` is computed like this, with at least one product.
  bool contain(Value value) { return isComputed(value, 0) && hasProduct; }

  /// Returns the tensor with a row per token that `value` broadcasts, or null.
  Value tokensOf(Value value) const {
    if (auto expand = value.getDefiningOp<ExpandOp>())
      value = expand.getX();
    ArrayRef<int64_t> shape = shapeOf(value);
    bool isRows = shape.size() == 2 || (shape.size() == 3 && shape[0] == 1);
    return isRows && shape[shape.size() - 2] == routing.tokens ? value
                                                               : Value();
  }
  /// Returns whether `value` has a row per expert.
  bool isPerExpert(Value value) const {
    ArrayRef<int64_t> shape = shapeOf(value);
    return shape.size() == 3 && shape[0] == routing.experts && shape[1] == 1;
  }
  /// Returns whether `value` has a number per token and expert, such as a
  /// routing mask.
  bool isPerPair(Value value) const {
    return shapeOf(value) ==
           ArrayRef<int64_t>{routing.experts, routing.tokens, 1};
  }
  /// Returns whether `value` is the same for all rows.
  static bool isSame(Value value) {
    return llvm::all_of(
        ArrayRef(shapeOf(value))
            .drop_back(std::min<size_t>(shapeOf(value).size(), 1)),
        [](int64_t size) { return size == 1; });
  }

private:
  /// Maximum length of a chain of operators in an expert.
  static constexpr unsigned kDeepest = 100;

  bool isComputed(Value value, unsigned depth) {
    auto [it, isNew] = known.try_emplace(value, false);
    if (!isNew || depth > kDeepest)
      return it->second;
    bool result = isRoutable(value.getDefiningOp(), value, depth);
    return known[value] = result;
  }

  bool isRoutable(Operation *def, Value value, unsigned depth) {
    ArrayRef<int64_t> shape = shapeOf(value);
    if (!def || !tensorType(value).hasStaticShape() || shape.size() != 3 ||
        shape[0] != routing.experts || shape[1] != routing.tokens)
      return false;
    if (auto matmul = dyn_cast<MatmulOp>(def)) {
      hasProduct = true;
      ArrayRef<int64_t> b = shapeOf(matmul.getB());
      return !matmul.getTransposeA() && b.size() == 3 &&
             b[0] == routing.experts &&
             (tokensOf(matmul.getA()) || isComputed(matmul.getA(), depth + 1));
    }
    return isa<ElementwiseOp>(def) &&
           llvm::all_of(def->getOperands(), [&](Value operand) {
             return isSame(operand) || tokensOf(operand) ||
                    isPerExpert(operand) || isPerPair(operand) ||
                    isComputed(operand, depth + 1);
           });
  }

  const Routing &routing;
  DenseMap<Value, bool> known;
  bool hasProduct = false;
};

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// Maps between pairs of tokens and experts and their slots, as i64 tensors.
class Slots {
public:
  Slots(NNBuilder &b, const Routing &routing)
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
    ofPairs =
        b.add(GatherOp::create(b, starts, clamped), b.sub(rank, number(1)));

    // Find each expert's pair of a given rank by binary search: ranks ascend.
    Value ranked =
        SearchSortedOp::create(b, ranks, count({r.experts, pairs}, 1));
    Value expert = b.reshape(experts, {tiles, 1});
    Value first = b.reshape(GatherOp::create(b, starts, experts), {tiles, 1});
    Value place =
        b.add(b.mul(count({tiles, 1}, 0), number(tile)), count({1, tile}, 1));
    Value behind = MinOp::create(b, b.sub(place, first), number(pairs - 1));
    Value pair =
        MinOp::create(b, at(ranked, expert, behind), number(pairs - 1));
    tokens = b.div(pair, number(r.perToken));
    inMatrix = b.add(b.mul(expert, number(r.tokens)), tokens);
  }

  Value isRouted; ///< per pair: whether the expert exists
  Value ofPairs;  ///< per pair: its slot
  Value tokens;   ///< tiles×tile: token of the slot
  Value inMatrix; ///< tiles×tile: index in an experts×tokens matrix
  Value experts;  ///< tiles

private:
  Value number(int64_t value) {
    return ConstantOp::create(
        b,
        DenseElementsAttr::get(RankedTensorType::get({}, b.getI64Type()),
                               b.getI64IntegerAttr(value).getValue()),
        StringAttr());
  }
  /// Returns 0, 1, … along dimension `axis` of `shape`.
  Value count(ArrayRef<int64_t> shape, int64_t axis) {
    return IotaOp::create(b, number(0), number(1), shape, axis);
  }
  /// Gathers elements of `table`, experts×pairs.
  Value at(Value table, Value row, Value column) {
    Value flat = b.reshape(table, {r.experts * pairs});
    return GatherOp::create(b, flat, b.add(b.mul(row, number(pairs)), column));
  }

  /// Computes running sums along the second dimension, in blocks if that is
  /// long, since the time of each is quadratic in its length.
  Value cumulate(Value x, int64_t rows, int64_t length) {
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

  NNBuilder &b;
  const Routing &r;
  int64_t pairs, tile, tiles;
};

/// Rebuilds the experts' computation for slots instead of all tokens.
class RoutedExperts {
public:
  RoutedExperts(NNBuilder &b, const Routing &routing)
      : b(b), routing(routing), experts(routing), slots(b, routing) {}

  /// Returns the tiles×tile×n form of `value`, which is e×t×n.
  Value computed(Value value) {
    if (Value known = made.lookup(value))
      return known;
    Operation *def = value.getDefiningOp();
    Value result;
    if (auto matmul = dyn_cast<MatmulOp>(def)) {
      Value copies = GatherOp::create(b, matmul.getB(), slots.experts);
      result = MatmulOp::create(b, operand(matmul.getA()), copies,
                                /*transpose_a=*/false, matmul.getTransposeB(),
                                matmul.getTf32());
    } else {
      IRMapping map;
      for (Value input : def->getOperands())
        map.map(input, operand(input));
      Operation *clone = b.clone(*def, map);
      auto type = RankedTensorType::get(
          {routing.tiles, routing.tile, shapeOf(value)[2]},
          tensorType(value).getElementType());
      clone->getResult(0).setType(type);
      result = clone->getResult(0);
    }
    return made[value] = result;
  }

  /// Returns the t×n sums over the routed experts of `value`, e×t×n.
  Value summed(Value value) {
    int64_t width = shapeOf(value)[2], perToken = routing.perToken;
    Value rows =
        b.reshape(computed(value), {routing.tiles * routing.tile, width});
    Value picked = GatherOp::create(
        b, rows, b.reshape(slots.ofPairs, {routing.tokens, perToken}));
    Value weights = WhereOp::create(
        b, b.reshape(slots.isRouted, {routing.tokens, perToken, 1}),
        routing.weights, b.scalarLike(routing.weights, 0));
    return b.reshape(b.reduce(b.mul(picked, weights), Combiner::sum, {1}),
                     {routing.tokens, width});
  }

private:
  Value operand(Value value) {
    if (Experts::isSame(value))
      return value;
    if (Value tokens = experts.tokensOf(value)) {
      Value &rows = made[tokens];
      if (!rows)
        rows = GatherOp::create(
            b, b.reshape(tokens, {routing.tokens, shapeOf(tokens).back()}),
            slots.tokens);
      return rows;
    }
    if (experts.isPerExpert(value)) {
      Value &rows = made[value];
      if (!rows)
        rows = GatherOp::create(b, value, slots.experts);
      return rows;
    }
    if (experts.isPerPair(value)) {
      Value &numbers = made[value];
      if (!numbers)
        numbers = b.reshape(
            GatherOp::create(
                b, b.reshape(value, {routing.experts * routing.tokens}),
                slots.inMatrix),
            {routing.tiles, routing.tile, 1});
      return numbers;
    }
    return computed(value);
  }

  NNBuilder &b;
  const Routing &routing;
  Experts experts;
  Slots slots;
  DenseMap<Value, Value> made;
};

//===----------------------------------------------------------------------===//
// The pattern
//===----------------------------------------------------------------------===//

struct RouteExperts : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    auto product = op.getX().getDefiningOp<MulOp>();
    if (!product || op.getKind() != Combiner::sum ||
        op.getAxes() != ArrayRef<int64_t>{0})
      return failure();
    for (unsigned i = 0; i < 2; ++i) {
      Value value = product->getOperand(1 - i);
      std::optional<Routing> routing = routingOf(product->getOperand(i));
      if (!routing || !routing->pickTiles() ||
          shapeOf(value) != shapeOf(product) ||
          !Experts(*routing).contain(value))
        continue;
      NNBuilder b(op.getLoc(), rewriter);
      Value sum = RoutedExperts(b, *routing).summed(value);
      rewriter.replaceOp(op, b.reshape(sum, shapeOf(op.getY())));
      return success();
    }
    return failure();
  }
};
} // namespace

void frit::populateExperts(RewritePatternSet &patterns) {
  patterns.add<RouteExperts>(patterns.getContext());
}
