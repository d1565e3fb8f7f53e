//===- ExpertPatterns.cpp - Compute experts on routed rows only -----------===//
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
#include "compiler/transform/recognize/ExpertRouting.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

//===----------------------------------------------------------------------===//
// Experts' products
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
  ExpertSlots slots;
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
