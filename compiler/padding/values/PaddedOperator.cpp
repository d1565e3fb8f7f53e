//===- PaddedOperator.cpp - One operator on a small and on a large tensor -===//
//
// Compares operators by the loops of their definitions (buildLinalg). The small
// operator's result is part of the large one's if both have the same bodies,
// and if every loop of the small one maps to the same places of the large one's
// loop for all tensor dimensions that it indexes.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/values/PaddedOperator.h"
#include "compiler/padding/values/PaddedLoops.h"
#include "compiler/padding/values/PaddedWindows.h"

#include "dialects/nn/lowering/Loops.h"
#include "dialects/nn/lowering/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

std::optional<PaddedValue> frit::padView(PaddedValue of, Value from, Value to) {
  Value large = std::exchange(of.large, to);
  if (of.anywhere)
    return of;
  ArrayRef<int64_t> a = shapeOf(from), b = shapeOf(to);
  auto places = reshapePlaces(of.places, a, b);
  if (!places)
    return std::nullopt;
  SmallVector<int64_t> shape;
  for (const DimPlaces &dim : of.places) {
    int64_t size = 1;
    for (SizePair part : dim)
      size *= part.small;
    shape.push_back(size);
  }
  of.places = *places;
  of.content = reshapeContent(of.content, shape, shapeOf(large), a, b);
  return of;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {

/// Compares two operators in linalg form, each in a function of its own.
class LinalgFusion {
public:
  std::optional<PaddedValue> pad(Operation *small, Operation *large,
                                 ArrayRef<PaddedValue> operands) {
    OwningOpRef<func::FuncOp> a = lower(small), b = lower(large);
    Block &from = a->getBody().front(), &to = b->getBody().front();
    for (auto [x, y, operand] :
         llvm::zip_equal(from.getArguments(), to.getArguments(), operands)) {
      known[x] = operand;
      known[x].large = y;
    }
    if (from.getOperations().size() != to.getOperations().size())
      return std::nullopt;
    for (auto [x, y] : llvm::zip(from, to)) {
      if (x.getName() != y.getName() ||
          !arePaired(x.getOperands(), y.getOperands()))
        return std::nullopt;
      if (isa<func::ReturnOp>(x)) {
        PaddedValue result = known.lookup(x.getOperand(0));
        result.large = large->getResult(0);
        return result;
      }
      std::optional<PaddedValue> result = padStep(&x, &y);
      if (!result)
        return std::nullopt;
      known[x.getResult(0)] = *result;
    }
    llvm_unreachable("a function returns");
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
    // Equal operands become the same argument.
    SmallVector<Value> x;
    for (Value operand : op->getOperands())
      x.push_back(entry->getArgument(
          llvm::find(op->getOperands(), operand).getIndex()));
    func::ReturnOp::create(b, lowerToLinalg(op, b, x));
    return function;
  }

  std::optional<PaddedValue> padStep(Operation *small, Operation *large) {
    if (small->getNumResults() != 1)
      return std::nullopt;
    Value from = small->getResult(0), to = large->getResult(0);
    if (isa<tensor::EmptyOp>(small))
      return PaddedValue{
          to, {}, /*anywhere=*/true, PaddedContent::unknown(to.getType())};
    if (auto constant = dyn_cast<arith::ConstantOp>(small))
      return padScalar(constant.getValue(), to,
                       cast<arith::ConstantOp>(large).getValue(), from);
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(small))
      return padView(known.lookup(small->getOperand(0)), from, to);
    // All elements equal the given scalar.
    if (auto fill = dyn_cast<linalg::FillOp>(small)) {
      PaddedValue scalar = known.lookup(fill.getInputs().front());
      return PaddedValue{to, {}, /*anywhere=*/true, scalar.content};
    }
    if (auto loops = dyn_cast<linalg::LinalgOp>(small))
      return padLoops(loops, cast<linalg::LinalgOp>(large));
    return std::nullopt;
  }

  static std::optional<PaddedValue> padScalar(Attribute small, Value to,
                                              Attribute large, Value from) {
    auto value = padConstant(from, small, to, large);
    if (value && !isa<ShapedType>(to.getType()))
      value->content =
          PaddedContent::uniform(AbstractValue(cast<TypedAttr>(large)));
    return value;
  }

  /// Compares two loop nests. Reductions may have additional steps if these are
  /// neutral; parallel loops of the small operator may be shorter.
  std::optional<PaddedValue> padLoops(linalg::LinalgOp small,
                                      linalg::LinalgOp large) {
    SmallVector<int64_t> from = small.getStaticLoopRanges(),
                         to = large.getStaticLoopRanges();
    if (small.getIteratorTypesArray() != large.getIteratorTypesArray())
      return std::nullopt;
    PaddedLoops loops(from, to);
    SmallVector<AffineMap> maps = small.getIndexingMapsArray();
    for (auto [operand, a, b] : llvm::zip_equal(small->getOperands(), maps,
                                                large.getIndexingMapsArray()))
      if (!loops.read(known.lookup(operand), a, b))
        return std::nullopt;
    Region &body = small->getRegion(0);
    body.walk([&](tensor::ExtractOp extract) { readByIndex(extract, loops); });
    if (!loops.finish() || !isSameBody(body, large->getRegion(0)))
      return std::nullopt;
    WalkResult placed = body.walk([&](Operation *op) {
      return WalkResult(success(isPlaced(op, loops)));
    });
    if (placed.wasInterrupted())
      return std::nullopt;
    DenseMap<Value, const PaddedContent *> contents;
    for (const auto &[value, padded] : known)
      contents[padded.large] = &padded.content;
    auto contentOf = [&](Value value) -> const PaddedContent & {
      return *contents.at(value);
    };
    LoopContent content(large, from, contentOf);
    if (!content.hasNeutralSteps())
      return std::nullopt;
    std::optional<PaddedValue> result =
        isUniform(small) ? PaddedValue{large->getResult(0), {}, true, {}}
                         : loops.write(large->getResult(0), maps.back());
    if (result)
      result->content = content.result();
    // Elements that are all equal are what the small model computes. Views of
    // them have other dimensions.
    if (result && result->anywhere)
      result->content = PaddedContent::uniform(result->content.inside);
    return result;
  }

  /// Returns whether all elements of the result are equal.
  bool isUniform(linalg::LinalgOp op) {
    auto depends = [](Operation *inner) {
      return WalkResult(
          success(!isa<linalg::IndexOp, tensor::ExtractOp>(inner)));
    };
    return llvm::all_of(
               op->getOperands(),
               [&](Value operand) { return known.lookup(operand).anywhere; }) &&
           !op->getRegion(0).walk(depends).wasInterrupted();
  }

  /// Treats a tensor.extract at the loops' own indices like an operand with a
  /// map.
  void readByIndex(tensor::ExtractOp extract, PaddedLoops &loops) {
    const PaddedValue &tensor = known[extract.getTensor()];
    if (tensor.anywhere)
      return;
    for (auto [index, dim] :
         llvm::zip_equal(extract.getIndices(), tensor.places))
      if (auto loop = index.getDefiningOp<linalg::IndexOp>();
          loop && !isLeading(dim))
        loops.suggest(loop.getDim(), dim);
  }

  /// Returns whether non-leading indices are only used to index dimensions with
  /// the same places, and those dimensions are indexed by nothing else.
  bool isPlaced(Operation *op, const PaddedLoops &loops) {
    auto isIndexOf = [&](Value index, const DimPlaces &dim) {
      auto loop = index.getDefiningOp<linalg::IndexOp>();
      return loop && loops[loop.getDim()] == dim;
    };
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      const PaddedValue &tensor = known[extract.getTensor()];
      // An empty tensor cannot be read.
      if (cast<RankedTensorType>(extract.getTensor().getType())
              .getNumElements() == 0)
        return false;
      return tensor.anywhere ||
             llvm::all_of(llvm::zip_equal(extract.getIndices(), tensor.places),
                          [&](auto pair) {
                            auto &[index, dim] = pair;
                            auto loop =
                                index.template getDefiningOp<linalg::IndexOp>();
                            bool leads =
                                isLeading(dim) &&
                                (!loop || isLeading(loops[loop.getDim()]));
                            return leads || isIndexOf(index, dim);
                          });
    }
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      auto loop = operand.getDefiningOp<linalg::IndexOp>();
      return !loop || isLeading(loops[loop.getDim()]);
    });
  }

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
      known[a] = {b, {}, /*anywhere=*/true};
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
        known[x] = {y, {}, /*anywhere=*/true};
    }
    return true;
  }

  bool arePaired(ValueRange small, ValueRange large) const {
    return small.size() == large.size() &&
           llvm::all_of(llvm::zip_equal(small, large), [&](auto pair) {
             return known.lookup(std::get<0>(pair)).large == std::get<1>(pair);
           });
  }

  /// By value of the small function; scalars are `anywhere`.
  DenseMap<Value, PaddedValue> known;
};

} // namespace

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// Maps a leading operand to a leading result with the same count.
static std::optional<PaddedValue> padCounted(CountedOp small, CountedOp large,
                                             const PaddedValue &x) {
  if (small.getAxis() != large.getAxis())
    return std::nullopt;
  if (!x.anywhere && !areLeading(x.places))
    return std::nullopt;
  // Importers guarantee the remaining entries.
  return leadingValue(small.getY(), large.getY());
}

/// Maps an element of a slice to its place in the operand. The large slice may
/// begin before the small one.
static std::optional<PaddedValue> padSlice(SliceOp small, SliceOp large,
                                           const PaddedValue &x) {
  if (small.getSteps() != large.getSteps() || x.anywhere ||
      !areLeading(x.places))
    return std::nullopt;
  auto result = leadingValue(small.getY(), large.getY());
  if (!result)
    return std::nullopt;
  for (auto [part, from, to, step] :
       llvm::zip_equal(result->places, small.getStarts(), large.getStarts(),
                       small.getSteps())) {
    SizePair &pair = part.front();
    pair.offset = step == 0 ? 0 : (from - to) / step;
    if (to + pair.offset * step != from || pair.offset < 0 ||
        pair.offset + pair.small > pair.large)
      return std::nullopt;
  }
  result->content = {x.content.inside, x.content.all(), {}, {}};
  return result;
}

/// Compares concats of which only the last operand is padded along the axis, as
/// where a token is put before a text.
static std::optional<PaddedValue> padConcat(ConcatOp small, ConcatOp large,
                                            ArrayRef<PaddedValue> operands) {
  size_t axis = axisOf(small.getY(), small.getAxis());
  auto result = leadingValue(small.getY(), large.getY());
  if (!result || int64_t(axis) != axisOf(large.getY(), large.getAxis()))
    return std::nullopt;
  result->content = {};
  for (auto [i, operand] : llvm::enumerate(operands)) {
    // The last tensor may also be another operand.
    bool isLast = i + 1 == operands.size();
    if ((!operand.anywhere && !areLeading(operand.places)) ||
        (!isLast &&
         shapeOf(small.getXs()[i])[axis] != shapeOf(large.getXs()[i])[axis]))
      return std::nullopt;
    PaddedContent &content = result->content;
    content.inside = content.inside | operand.content.inside;
    content.outside = content.outside | operand.content.all();
  }
  return result;
}

/// Returns whether both are the same operator on the same tensors.
static bool isSame(Operation *small, Operation *large,
                   ArrayRef<PaddedValue> operands) {
  return !operands.empty() &&
         small->getAttrDictionary() == large->getAttrDictionary() &&
         small->getOperandTypes() == large->getOperandTypes() &&
         small->getResultTypes() == large->getResultTypes() &&
         llvm::all_of(operands, [](const PaddedValue &operand) {
           return operand.anywhere || areLeading(operand.places);
         });
}

/// Compares two operators by their definitions.
static std::optional<PaddedValue> padByMeaning(Operation *small,
                                               Operation *large,
                                               ArrayRef<PaddedValue> operands) {
  Value from = small->getResult(0), to = large->getResult(0);
  if (auto constant = dyn_cast<ConstantOp>(small))
    return padConstant(from, constant.getValue(), to,
                       cast<ConstantOp>(large).getValue());
  if (isa<ReshapeOp>(small))
    return padView(operands[0], from, to);
  if (auto counted = dyn_cast<CountedOp>(small))
    return padCounted(counted, cast<CountedOp>(large), operands[0]);
  if (auto slice = dyn_cast<SliceOp>(small))
    if (auto cut = padSlice(slice, cast<SliceOp>(large), operands[0]))
      return cut;
  if (!isa<ElementwiseOp, StructuralOp>(small))
    return std::nullopt;
  auto result = LinalgFusion().pad(small, large, operands);
  if (!result)
    result = padWindows(small, large, operands);
  if (auto concat = dyn_cast<ConcatOp>(small); concat && !result)
    result = padConcat(concat, cast<ConcatOp>(large), operands);
  return result;
}

std::optional<PaddedValue> frit::padOperator(Operation *small, Operation *large,
                                             ArrayRef<PaddedValue> operands) {
  Value from = small->getResult(0), to = large->getResult(0);
  if (from.getType() != to.getType() && !mayLead(from.getType(), to.getType()))
    return std::nullopt;
  auto result = padByMeaning(small, large, operands);
  if (result || !isSame(small, large, operands))
    return result;
  result = leadingValue(from, to);
  if (result)
    result->content = PaddedContent::uniform(unknownNumber(to.getType()));
  return result;
}
