//===- Padding.cpp - Whether a model may run on padded inputs -------------===//
//
// A model that is compiled for a batch of 4 may be run on 3 images and one of
// zeros if the results for the 3 are then what they would be without the
// fourth. That is proved by comparing the two models as they are imported,
// operator by operator:
//
//   3:  %y = nn.softmax %x {axis = 1} : tensor<3x8xf32>
//   4:  %y = nn.softmax %x {axis = 1} : tensor<4x8xf32>
//
// If the operands of the small model's operator are the leading elements (in
// every dimension) of those of the large one's, so are its results: the claim,
// by induction over the model. What an operator does is read from its own
// definition, as linalg: an element of the small result and the one at the same
// place of the large result come from the same loops with the same bodies, over
// elements at the same places. No operator has a rule of its own here, except
// for views, and what computes with a size (a mean along it, a constant that
// was folded from it) differs between the models and is found.
//
// This is translation validation (Pnueli, Siegel and Singerman, TACAS 1998) of
// one import against another; like there, what cannot be shown counts as wrong.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Padding.h"

#include "dialects/nn/Loops.h"
#include "dialects/nn/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static ArrayRef<int64_t> shapeOfType(Type type) {
  return cast<RankedTensorType>(type).getShape();
}

/// Whether a tensor of type `small` may be the leading elements of another.
static bool isLeading(Type small, Type large) {
  auto a = dyn_cast<RankedTensorType>(small);
  auto b = dyn_cast<RankedTensorType>(large);
  if (!a || !b)
    return small == large;
  return a.getElementType() == b.getElementType() &&
         a.getRank() == b.getRank() &&
         llvm::all_of(
             llvm::zip_equal(a.getShape(), b.getShape()),
             [](auto pair) { return std::get<0>(pair) <= std::get<1>(pair); });
}

static bool areLeading(TypeRange small, TypeRange large) {
  return small.size() == large.size() &&
         llvm::all_of(llvm::zip_equal(small, large), [](auto pair) {
           return isLeading(std::get<0>(pair), std::get<1>(pair));
         });
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Calls `visit` with the places of an element in a small and a large tensor.
static bool
forLeading(ArrayRef<int64_t> small, ArrayRef<int64_t> large,
           llvm::function_ref<bool(int64_t small, int64_t large)> visit) {
  int64_t count = ShapedType::getNumElements(small);
  for (int64_t at = 0; at < count; ++at) {
    int64_t rest = at, other = 0, scale = 1;
    for (size_t dim = small.size(); dim-- > 0;) {
      other += rest % small[dim] * scale;
      rest /= small[dim];
      scale *= large[dim];
    }
    if (!visit(at, other))
      return false;
  }
  return true;
}

/// Whether the constant `small` is the leading elements of `large`.
static bool isLeadingValue(Attribute small, Attribute large) {
  if (small == large)
    return true;
  auto a = dyn_cast<ElementsAttr>(small), b = dyn_cast<ElementsAttr>(large);
  if (!a || !b || !isLeading(a.getType(), b.getType()))
    return false;
  ArrayRef<int64_t> from = a.getShapedType().getShape(),
                    to = b.getShapedType().getShape();
  auto x = dyn_cast<DenseResourceElementsAttr>(small);
  auto y = dyn_cast<DenseResourceElementsAttr>(large);
  if (x && y) {
    AsmResourceBlob *first = x.getRawHandle().getBlob();
    AsmResourceBlob *second = y.getRawHandle().getBlob();
    if (!first || !second || a.getNumElements() == 0)
      return false;
    size_t width = first->getData().size() / size_t(a.getNumElements());
    return forLeading(from, to, [&](int64_t i, int64_t j) {
      return !std::memcmp(first->getData().data() + i * width,
                          second->getData().data() + j * width, width);
    });
  }
  auto p = dyn_cast<DenseElementsAttr>(small);
  auto q = dyn_cast<DenseElementsAttr>(large);
  if (!p || !q)
    return false;
  if (isa<FloatType>(p.getElementType())) {
    auto values = p.getValues<APFloat>(), others = q.getValues<APFloat>();
    return forLeading(from, to, [&](int64_t i, int64_t j) {
      return values[i].bitwiseIsEqual(others[j]);
    });
  }
  auto values = p.getValues<APInt>(), others = q.getValues<APInt>();
  return forLeading(
      from, to, [&](int64_t i, int64_t j) { return values[i] == others[j]; });
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// `map` where the loops that run once are known to be at 0.
static AffineMap withoutSingles(AffineMap map, ArrayRef<int64_t> smallLoops) {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> dims;
  for (unsigned i = 0; i < map.getNumDims(); ++i)
    dims.push_back(smallLoops[i] == 1 ? getAffineConstantExpr(0, context)
                                      : getAffineDimExpr(i, context));
  return simplifyAffineMap(
      map.replaceDimsAndSymbols(dims, {}, map.getNumDims(), 0));
}

/// Whether elements at the same place of both results come from those at the
/// same places of the operands, as they are broadcast.
static bool broadcastsAlike(Operation *small, Operation *large) {
  ArrayRef<int64_t> from = shapeOfType(small->getResult(0).getType()),
                    to = shapeOfType(large->getResult(0).getType());
  for (auto [a, b] :
       llvm::zip_equal(small->getOperandTypes(), large->getOperandTypes())) {
    AffineMap x = broadcastMap(shapeOfType(a), from, small->getContext());
    AffineMap y = broadcastMap(shapeOfType(b), to, small->getContext());
    if (withoutSingles(x, from) != withoutSingles(y, from))
      return false;
  }
  return small->getAttrDictionary() == large->getAttrDictionary();
}

/// Whether a reshape keeps leading elements leading. Dimensions fall into
/// groups that are the same elements before and after in both models; the order
/// of a group's elements depends on all of its sizes but the first one's.
static bool reshapesAlike(ArrayRef<int64_t> smallFrom,
                          ArrayRef<int64_t> smallTo,
                          ArrayRef<int64_t> largeFrom,
                          ArrayRef<int64_t> largeTo) {
  // Sizes of 1 before it do not count as the first.
  auto onlyFirstDiffers = [](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    while (!b.empty() && b.front() == 1) {
      a = a.drop_front();
      b = b.drop_front();
    }
    return b.empty() || a.drop_front() == b.drop_front();
  };
  size_t from = 0, to = 0;
  while (from < smallFrom.size() || to < smallTo.size()) {
    size_t firstFrom = from, firstTo = to;
    int64_t a = 1, b = 1, x = 1, y = 1;
    do {
      bool behind = std::pair(x, a) < std::pair(y, b);
      if (to == smallTo.size() || (from < smallFrom.size() && behind) ||
          (from < smallFrom.size() && from == firstFrom)) {
        if (from == smallFrom.size())
          return false;
        a *= smallFrom[from];
        x *= largeFrom[from++];
      } else {
        b *= smallTo[to];
        y *= largeTo[to++];
      }
    } while (a != b || x != y);
    if (!onlyFirstDiffers(smallFrom.slice(firstFrom, from - firstFrom),
                          largeFrom.slice(firstFrom, from - firstFrom)) ||
        !onlyFirstDiffers(smallTo.slice(firstTo, to - firstTo),
                          largeTo.slice(firstTo, to - firstTo)))
      return false;
  }
  return true;
}

static bool reshapesAlike(Operation *small, Operation *large) {
  return reshapesAlike(shapeOfType(small->getOperand(0).getType()),
                       shapeOfType(small->getResult(0).getType()),
                       shapeOfType(large->getOperand(0).getType()),
                       shapeOfType(large->getResult(0).getType()));
}

namespace {

/// Compares two operators as linalg, each in a function of its own.
class Lowered {
public:
  static bool areAlike(Operation *small, Operation *large) {
    OwningOpRef<func::FuncOp> a = lower(small), b = lower(large);
    return Lowered().compare(a->getBody().front(), b->getBody().front());
  }

private:
  static OwningOpRef<func::FuncOp> lower(Operation *op) {
    Builder types(op->getContext());
    auto function = func::FuncOp::create(
        op->getLoc(), "operator",
        types.getFunctionType(
            llvm::map_to_vector(op->getOperandTypes(), signlessType), {}));
    Block *entry = function.addEntryBlock();
    ImplicitLocOpBuilder b(op->getLoc(), OpBuilder::atBlockEnd(entry));
    func::ReturnOp::create(b, lowerToLinalg(op, b, entry->getArguments()));
    return function;
  }

  bool compare(Block &small, Block &large) {
    for (auto [a, b] : llvm::zip(small.getArguments(), large.getArguments()))
      pairs[a] = b;
    if (small.getOperations().size() != large.getOperations().size())
      return false;
    for (auto [a, b] : llvm::zip(small, large)) {
      if (a.getName() != b.getName() ||
          !areLeading(a.getResultTypes(), b.getResultTypes()) ||
          !arePaired(a.getOperands(), b.getOperands()) || !compare(&a, &b))
        return false;
      for (auto [x, y] : llvm::zip(a.getResults(), b.getResults()))
        pairs[x] = y;
    }
    return true;
  }

  bool compare(Operation *small, Operation *large) {
    if (isa<func::ReturnOp, tensor::EmptyOp>(small))
      return true;
    if (auto constant = dyn_cast<arith::ConstantOp>(small))
      return isLeadingValue(constant.getValue(),
                            cast<arith::ConstantOp>(large).getValue());
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(small))
      return reshapesAlike(small, large);
    if (auto loops = dyn_cast<linalg::LinalgOp>(small))
      return compare(loops, cast<linalg::LinalgOp>(large));
    return false;
  }

  /// The small loops are part of the large ones, and sums have the same terms.
  bool compare(linalg::LinalgOp small, linalg::LinalgOp large) {
    SmallVector<int64_t> from = small.getStaticLoopRanges(),
                         to = large.getStaticLoopRanges();
    SmallVector<utils::IteratorType> kinds = small.getIteratorTypesArray();
    if (kinds != large.getIteratorTypesArray())
      return false;
    for (auto [kind, a, b] : llvm::zip_equal(kinds, from, to))
      if (a > b || (a != b && kind != utils::IteratorType::parallel))
        return false;
    for (auto [a, b] : llvm::zip_equal(small.getIndexingMapsArray(),
                                       large.getIndexingMapsArray()))
      if (withoutSingles(a, from) != withoutSingles(b, from))
        return false;
    return isSameBody(small->getRegion(0), large->getRegion(0));
  }

  /// Bodies do the same with elements, which they may take from any place of a
  /// tensor by its indices.
  bool isSameBody(Region &small, Region &large) {
    if (small.empty() || large.empty())
      return small.empty() && large.empty();
    if (!small.hasOneBlock() || !large.hasOneBlock())
      return false;
    Block &from = small.front(), &to = large.front();
    if (from.getArgumentTypes() != to.getArgumentTypes() ||
        from.getOperations().size() != to.getOperations().size())
      return false;
    for (auto [a, b] : llvm::zip(from.getArguments(), to.getArguments()))
      pairs[a] = b;
    for (auto [a, b] : llvm::zip(from, to)) {
      if (a.getName() != b.getName() ||
          a.getAttrDictionary() != b.getAttrDictionary() ||
          a.getResultTypes() != b.getResultTypes() ||
          !arePaired(a.getOperands(), b.getOperands()) ||
          !llvm::all_of(
              llvm::zip_equal(a.getRegions(), b.getRegions()), [&](auto pair) {
                return isSameBody(std::get<0>(pair), std::get<1>(pair));
              }))
        return false;
      for (auto [x, y] : llvm::zip(a.getResults(), b.getResults()))
        pairs[x] = y;
    }
    return true;
  }

  bool arePaired(ValueRange small, ValueRange large) const {
    return small.size() == large.size() &&
           llvm::all_of(llvm::zip_equal(small, large), [&](auto pair) {
             return pairs.lookup(std::get<0>(pair)) == std::get<1>(pair);
           });
  }

  /// What in the large function a value of the small one is part of.
  DenseMap<Value, Value> pairs;
};

} // namespace

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

static void decomposeAll(ModuleOp module) {
  SmallVector<CompositeOp> composites;
  do {
    composites.clear();
    module.walk([&](CompositeOp op) { composites.push_back(op); });
    for (CompositeOp op : composites) {
      NNBuilder builder(op.getLoc(), op.getOperation());
      op->replaceAllUsesWith(op.decompose(builder));
      op->erase();
    }
  } while (!composites.empty());
}

static Block &bodyOf(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>("main").getBody().front();
}

PaddingProof::PaddingProof(ModuleOp large) : large(large.clone()) {
  decomposeAll(*this->large);
}

/// What the comparison of two operators depends on.
static std::string textOf(Operation *small, Operation *large) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (Operation *op : {small, large}) {
    os << op->getName() << op->getAttrDictionary();
    for (Type type : op->getOperandTypes())
      os << type << ",";
    for (Type type : op->getResultTypes())
      os << "->" << type;
  }
  return text;
}

PaddingProof::Verdict PaddingProof::compare(Operation *a, Operation *b) {
  if (auto constant = dyn_cast<ConstantOp>(a)) {
    if (isLeadingValue(constant.getValue(), cast<ConstantOp>(b).getValue()))
      return {};
    return "depends on it by a constant";
  }
  auto [it, isNew] = verdicts.try_emplace(textOf(a, b));
  if (!isNew)
    return it->second;
  Verdict verdict;
  if (isa<ReshapeOp>(a)) {
    if (!reshapesAlike(a, b))
      verdict = "folds it into another dimension";
  } else if (isa<ElementwiseOp>(a)) {
    if (!broadcastsAlike(a, b))
      verdict = "broadcasts in another way";
  } else if (!isa<StructuralOp>(a) || !Lowered::areAlike(a, b)) {
    verdict = "combines or moves elements along it";
  }
  return it->second = verdict;
}

std::optional<Mixing> PaddingProof::findMixing(ModuleOp small) {
  decomposeAll(small);
  Block &from = bodyOf(small), &to = bodyOf(*large);
  DenseMap<Value, Value> pairs;
  for (auto [a, b] : llvm::zip(from.getArguments(), to.getArguments()))
    pairs[a] = b;
  for (auto [a, b] : llvm::zip(from, to)) {
    auto isPaired = [&](auto pair) {
      return pairs.lookup(std::get<0>(pair)) == std::get<1>(pair);
    };
    // Shape arithmetic may have decided for other operators.
    if (a.getName() != b.getName() ||
        a.getNumOperands() != b.getNumOperands() ||
        !llvm::all_of(llvm::zip(a.getOperands(), b.getOperands()), isPaired) ||
        !areLeading(a.getResultTypes(), b.getResultTypes()))
      return Mixing{b.getLoc(), "becomes other operators"};
    if (a.hasTrait<OpTrait::IsTerminator>())
      break;
    if (Verdict reason = compare(&a, &b))
      return Mixing{b.getLoc(), *reason};
    for (auto [x, y] : llvm::zip(a.getResults(), b.getResults()))
      pairs[x] = y;
  }
  return std::nullopt;
}
