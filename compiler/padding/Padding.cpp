//===- Padding.cpp - Prove that inputs may be padded ----------------------===//
//
// A model compiled for a batch of 4 may be run on 3 images and one of zeros if
// the results for the 3 do not depend on the fourth. This is proved by
// comparing the two imported models, operator by operator:
//
//   3:  %y = nn.softmax %x {axis = 1} : tensor<3x8xf32>
//   4:  %y = nn.softmax %x {axis = 1} : tensor<4x8xf32>
//
// Claim: if the operands of the small model's operator are the leading elements
// (in every dimension) of the large one's operands, so are its results. The
// proof is by induction over the model. In between, a dimension may be folded
// into another, so that its elements are at other places (PaddedPlaces.h); in
// the model's outputs they are leading again. The semantics of an operator come
// from its definition (PaddedOperator.cpp): only views and slices have rules of
// their own. An operator that combines elements along the dimension is proved
// if the additional elements are neutral (PaddedContent.cpp); otherwise they
// are masked (PaddingMasks.cpp). Constants that were folded from the size
// differ between the models and are found.
//
// This is translation validation (Pnueli, Siegel and Singerman, TACAS 1998) of
// one import against another. As there, what cannot be proved counts as wrong.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/Padding.h"
#include "compiler/padding/Expansion.h"
#include "compiler/padding/PaddedGather.h"
#include "compiler/padding/PaddedMoves.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static Block &bodyOf(ModuleOp module) {
  return mainOf(module).getBody().front();
}

/// Returns why two models differ where the large one has this operator.
static std::string reasonOfOther(Operation *large) {
  auto node = dyn_cast<NameLoc>(large->getLoc());
  return node && node.getName().getValue().contains("/step")
             ? "is a step of a loop, which is unrolled for one number of steps"
             : "computes something else for other sizes";
}

/// Returns what an operator does that padding does not allow.
static std::string reasonOf(Operation *large) {
  if (isa<ReshapeOp>(large))
    return "joins the dimension with another";
  if (llvm::all_of(large->getOperands(),
                   [](Value x) { return x.getDefiningOp<ConstantOp>(); }))
    return "has numbers that were computed for one size, as resizing with "
           "antialiasing does";
  if (isa<PadOp>(large))
    return "puts elements after its last one";
  if (isa<SliceOp>(large))
    return "counts elements from its end";
  if (isa<GatherOp, GatherElementsOp, ScatterElementsOp>(large))
    return "picks elements of it by indices that the data give";
  return "combines or moves elements along it";
}

/// As reasonOf, for a result that is not the large one's leading elements.
static std::string reasonOfResult(const PaddedValue &result) {
  Operation *op = result.large.getDefiningOp();
  if (!llvm::any_of(result.places, hasOffset))
    return "returns the dimension joined with another; an output that has it "
           "as a dimension of its own may be padded";
  return isa_and_nonnull<SliceOp>(op)
             ? reasonOf(op)
             : "returns a part of a table that begins elsewhere for each size";
}

/// Puts the elements that an operand repeats along a dimension where another
/// operand has its own: a norm of all places of a picture, expanded to them.
static SmallVector<PaddedValue, 3> spread(Operation *small,
                                          ArrayRef<PaddedValue> operands) {
  SmallVector<PaddedValue, 3> result(operands);
  for (auto [i, value] : llvm::enumerate(result)) {
    auto expand = small->getOperand(i).getDefiningOp<ExpandOp>();
    auto whole = value.large.getDefiningOp<ExpandOp>();
    if (!expand || !whole || value.anywhere)
      continue;
    ArrayRef<int64_t> from = shapeOf(expand.getX()),
                      to = shapeOf(expand.getY());
    for (auto [j, other] : llvm::enumerate(operands))
      if (shapeOf(small->getOperand(j)) == to && !other.anywhere &&
          !small->getOperand(j).getDefiningOp<ExpandOp>() &&
          shapeOf(other.large) == shapeOf(value.large))
        for (size_t dim = 0; dim < to.size(); ++dim)
          if (from.size() == to.size() && from[dim] == 1 &&
              shapeOf(whole.getX())[dim] == 1)
            value.places[dim] = other.places[dim];
  }
  return result;
}

/// Returns the value of an input, which the runtime pads with zeros.
static std::optional<PaddedValue> padInput(Value small, Value large) {
  std::optional<PaddedValue> value = leadingValue(small, large);
  Type element = tensorType(large).getElementType();
  if (!value || isSmall(element))
    return value;
  TypedAttr zero =
      Builder(element.getContext()).getZeroAttr(signlessType(element));
  value->content = PaddedContent::uniform(AbstractValue::real);
  for (auto [dim, places] : llvm::enumerate(value->places))
    if (places.front().small != places.front().large)
      value->content.setFill(dim, AbstractValue(zero));
  return value;
}

std::optional<Mixing> PaddingProof::findMixing(ModuleOp small,
                                               ArrayRef<int64_t> sizes) {
  masks.begin(sizes);
  Block &from = bodyOf(small), &to = bodyOf(large);
  auto compare = [&](Operation *a, Operation *b,
                     ArrayRef<PaddedValue> operands) {
    return padMasked(a, b, operands);
  };
  ValuePairs pairs(compare, evaluated);
  PaddedMoves moves(pairs);
  for (auto [a, b] : llvm::zip_equal(from.getArguments(), to.getArguments())) {
    std::optional<PaddedValue> value = padInput(a, b);
    if (!value)
      return Mixing{b.getLoc(), "has another type"};
    pairs.set(a, *value);
  }
  auto skipCompared = [&](Block::iterator &at) {
    while (pairs.isCompared(&*at))
      ++at;
  };
  for (auto a = from.begin(), b = to.begin();;) {
    skipCompared(a);
    skipCompared(b);
    // The large model's operator was expanded.
    if (isPartOf(&*b, &*a)) {
      a = expand(&*a);
      continue;
    }
    // A slice of exactly this many entries is none.
    if (a->getName() != b->getName() && pairs.skipSlice(&*a)) {
      ++a;
      continue;
    }
    if (a->getName() != b->getName() && pairs.skipSlice(&*b)) {
      ++b;
      continue;
    }
    if (Operation *list = listAlike(&*a, &*b))
      a = list->getIterator();
    // Shape arithmetic may have led to other operators.
    if (!areAlike(&*a, &*b))
      return Mixing{b->getLoc(), reasonOfOther(&*b)};
    auto isPick = [&](auto small) {
      return small && padPicks(small, cast<decltype(small)>(*b), pairs);
    };
    if (isPick(dyn_cast<GatherOp>(*a)) ||
        isPick(dyn_cast<GatherElementsOp>(*a))) {
      ++a, ++b;
      continue;
    }
    SmallVector<PaddedValue, 3> operands;
    Operation *failed = nullptr;
    for (auto [x, y] : llvm::zip_equal(a->getOperands(), b->getOperands())) {
      auto operand = pairs.find(x, y);
      failed = operand ? nullptr : pairs.failed();
      if (!operand)
        operand = moves.find(x, y);
      if (!operand) {
        Operation *earlier = moves.reasonOf(y);
        failed = earlier ? earlier : failed;
        break;
      }
      operands.push_back(*operand);
    }
    // Later moves may bring the elements of the small model to the front.
    auto putOff = [&](Operation *reason) {
      return !masks.changes(&*b) && moves.putOff(&*a, &*b, reason);
    };
    if (operands.size() != a->getNumOperands()) {
      if (failed && putOff(failed)) {
        ++a, ++b;
        continue;
      }
      return failed ? Mixing{failed->getLoc(), reasonOf(failed)}
                    : Mixing{b->getLoc(), reasonOfOther(&*b)};
    }
    if (a->hasTrait<OpTrait::IsTerminator>()) {
      for (auto [i, result] : llvm::enumerate(operands))
        if (!result.anywhere && !areLeading(result.places) &&
            !moveResult(&*a, &*b, i, result))
          return Mixing{result.large.getLoc(), reasonOfResult(result)};
      return std::nullopt;
    }
    if (auto custom = dyn_cast<CustomOp>(*a)) {
      if (!padCustom(custom, cast<CustomOp>(*b), operands, pairs))
        return Mixing{b->getLoc(),
                      "is a user's kernel, which may combine elements along it "
                      "(\"batched\" in its file says that it does not)"};
      ++a, ++b;
      continue;
    }
    if (auto scan = dyn_cast<ScanOp>(*a)) {
      if (!padScan(scan, cast<ScanOp>(*b), operands, pairs))
        return Mixing{b->getLoc(), reasonOf(&*b)};
      ++a, ++b;
      continue;
    }
    std::optional<PaddedValue> result;
    if (auto gather = dyn_cast<GatherOp>(*a))
      result = padComputed(gather, cast<GatherOp>(*b), operands);
    auto slice = dyn_cast<SliceOp>(*a);
    auto shift = [&](bool isNew) {
      return slice ? masks.shift(slice, cast<SliceOp>(*b), operands[0], isNew)
                   : std::nullopt;
    };
    if (!result)
      result = shift(/*isNew=*/false);
    if (!result)
      result = padMasked(&*a, &*b, operands);
    if (!result && isa<ElementwiseOp>(*a))
      result = padMasked(&*a, &*b, spread(&*a, operands));
    // What begins elsewhere in the large model is of use in tables only.
    if (!result || (slice && llvm::any_of(result->places, hasOffset)))
      if (auto shifted = shift(/*isNew=*/true))
        result = shifted;
    if (!result && isExpandable(&*a)) {
      masks.forget(&*b);
      lines.erase(&*b);
      a = expand(&*a);
      b = expand(&*b);
      continue;
    }
    if (!result && putOff(&*b)) {
      ++a, ++b;
      continue;
    }
    if (!result)
      return Mixing{b->getLoc(), llvm::any_of(a->getOperands(), isEmpty)
                                     ? "reads it where there may be none"
                                     : reasonOf(&*b)};
    pairs.set(a->getResult(0), *result);
    ++a, ++b;
  }
}

std::optional<Mixing> PaddingProof::findMisfit() const {
  if (Operation *op = masks.findMisfit())
    return Mixing{op->getLoc(), "needs a size that those of the inputs do not "
                                "tell"};
  return std::nullopt;
}
