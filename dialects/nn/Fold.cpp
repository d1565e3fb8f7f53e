//===- Fold.cpp - Evaluate operators on constants -------------------------===//

#include "dialects/nn/Fold.h"

#include "dialects/nn/ScalarBody.h"
#include "dialects/nn/lowering/Lowering.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace frit::nn;

namespace {

using Elements = SmallVector<Attribute>;
using Index = SmallVector<int64_t>;

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

int64_t flatten(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t flat = 0;
  for (auto [i, size] : llvm::zip_equal(index, shape))
    flat = flat * size + i;
  return flat;
}

/// Returns the flat index of the operand's element that broadcasts to `index`.
int64_t broadcast(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  Index place(index.take_back(shape.size()));
  for (auto [i, size] : llvm::zip_equal(place, shape))
    if (size == 1)
      i = 0;
  return flatten(place, shape);
}

/// Calls `visit` with every index of `shape` in order, until it returns false;
/// returns whether it never did.
bool forEachPlace(ArrayRef<int64_t> shape,
                  llvm::function_ref<bool(ArrayRef<int64_t>)> visit) {
  int64_t count = ShapedType::getNumElements(shape);
  Index index(shape.size(), 0);
  for (int64_t n = 0; n < count; ++n) {
    if (!visit(index))
      return false;
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
  return true;
}

/// Evaluates one operator on its operands' elements.
class Evaluator {
public:
  Evaluator(Operation *op, ArrayRef<Elements> x)
      : op(op), type(tensorType(op->getResult(0))), x(x) {}

  bool run() {
    return TypeSwitch<Operation *, bool>(op)
        .Case([&](ElementwiseOp e) { return elementwise(e); })
        .Case([&](ReshapeOp) {
          y = x[0];
          return true;
        })
        .Case<TransposeOp, ExpandOp, SliceOp, ConcatOp, GatherOp,
              GatherElementsOp, ScatterElementsOp, TriluOp, PadOp, IotaOp,
              ReduceOp>([&](auto o) { return evaluate(o); })
        .Case<CumSumOp>([&](auto o) { return cumulate(o, Combiner::sum); })
        .Case<CumProdOp>([&](auto o) { return cumulate(o, Combiner::prod); })
        .Default([](Operation *) { return false; });
  }

  Elements y;

private:
  ArrayRef<int64_t> shape(unsigned i) { return shapeOf(op->getOperand(i)); }

  /// Fills each element of the result with the first operand's element at
  /// `place(index)`.
  bool move(llvm::function_ref<Index(ArrayRef<int64_t>)> place) {
    return forEachPlace(type.getShape(), [&](ArrayRef<int64_t> index) {
      y.push_back(x[0][flatten(place(index), shape(0))]);
      return true;
    });
  }

  bool elementwise(ElementwiseOp e) {
    ScalarBody body(op->getLoc(), elementTypes(op->getOperands()),
                    type.getElementType(),
                    [&](ScalarBuilder &s, ArrayRef<Scalar> v) {
                      return e.buildScalar(s, v);
                    });
    return forEachPlace(type.getShape(), [&](ArrayRef<int64_t> index) {
      SmallVector<Attribute> operands;
      for (auto [i, elements] : llvm::enumerate(x))
        operands.push_back(elements[broadcast(index, shape(i))]);
      y.push_back(body.run(operands));
      return static_cast<bool>(y.back());
    });
  }

  bool evaluate(TransposeOp o) {
    return move([&](ArrayRef<int64_t> index) {
      Index place(index.size());
      for (auto [i, d] : llvm::enumerate(o.getPerm()))
        place[d] = index[i];
      return place;
    });
  }

  bool evaluate(ExpandOp) {
    return forEachPlace(type.getShape(), [&](ArrayRef<int64_t> index) {
      y.push_back(x[0][broadcast(index, shape(0))]);
      return true;
    });
  }

  bool evaluate(SliceOp o) {
    return move([&](ArrayRef<int64_t> index) {
      Index place(index.size());
      for (size_t d = 0; d < index.size(); ++d)
        place[d] = o.getStarts()[d] + index[d] * o.getSteps()[d];
      return place;
    });
  }

  bool evaluate(ConcatOp o) {
    int64_t axis = o.getAxis();
    if (axis < 0)
      axis += type.getRank();
    return forEachPlace(type.getShape(), [&](ArrayRef<int64_t> index) {
      Index place(index);
      unsigned operand = 0;
      while (place[axis] >= shape(operand)[axis])
        place[axis] -= shape(operand++)[axis];
      y.push_back(x[operand][flatten(place, shape(operand))]);
      return true;
    });
  }

  bool evaluate(GatherOp o) {
    int64_t axis = axisOf(op->getOperand(0), o.getAxis()),
            indexRank = shape(1).size();
    int64_t size = shape(0)[axis];
    if (size == 0)
      return false;
    return move([&](ArrayRef<int64_t> index) {
      int64_t i = picked(index.slice(axis, indexRank));
      Index place(index.take_front(axis));
      place.push_back(std::clamp<int64_t>(i < 0 ? i + size : i, 0, size - 1));
      llvm::append_range(place, index.drop_front(axis + indexRank));
      return place;
    });
  }

  bool evaluate(GatherElementsOp o) {
    int64_t axis = axisOf(op->getOperand(0), o.getAxis()),
            size = shape(0)[axis];
    if (size == 0)
      return false;
    return move([&](ArrayRef<int64_t> index) {
      Index place(index);
      int64_t i = picked(index);
      place[axis] = std::clamp<int64_t>(i < 0 ? i + size : i, 0, size - 1);
      return place;
    });
  }

  bool evaluate(ScatterElementsOp o) {
    if (o.getReduction() != "none")
      return false;
    int64_t axis = axisOf(op->getOperand(0), o.getAxis()),
            size = shape(0)[axis];
    y = x[0];
    return forEachPlace(shape(1), [&](ArrayRef<int64_t> index) {
      Index place(index);
      int64_t i = picked(index);
      place[axis] = i < 0 ? i + size : i;
      if (place[axis] >= 0 && place[axis] < size)
        y[flatten(place, shape(0))] = x[2][flatten(index, shape(2))];
      return true;
    });
  }

  /// Returns the second operand's element at `index`, an integer.
  int64_t picked(ArrayRef<int64_t> index) {
    return cast<IntegerAttr>(x[1][flatten(index, shape(1))])
        .getValue()
        .getSExtValue();
  }

  /// Combines the elements up to each along an axis.
  template <class Op> bool cumulate(Op o, Combiner kind) {
    Type element = type.getElementType();
    if (bodyType(element) != signlessType(element))
      return false;
    ScalarBody body(op->getLoc(), {element, element}, element,
                    [&](ScalarBuilder &s, ArrayRef<Scalar> v) {
                      return combine(s, kind, v[0], v[1]);
                    });
    int64_t axis = axisOf(op->getOperand(0), o.getAxis()),
            size = shape(0)[axis];
    bool reverse = o.getReverse();
    return forEachPlace(shape(0), [&](ArrayRef<int64_t> index) {
      Index place(index);
      auto at = [&](int64_t i) {
        place[axis] = i;
        return x[0][flatten(place, shape(0))];
      };
      Attribute sum = start(kind);
      int64_t first = reverse ? index[axis] : 0;
      int64_t last = reverse ? size - 1 : index[axis];
      if (o.getExclusive())
        reverse ? ++first : --last;
      for (int64_t i = first; sum && i <= last; ++i)
        sum = body.run({sum, at(i)});
      y.push_back(sum);
      return static_cast<bool>(sum);
    });
  }

  /// Returns the initial accumulator of a combination.
  Attribute start(Combiner kind) {
    Type element = type.getElementType();
    TypedAttr first =
        identity(kind, signlessType(element), element.isUnsignedInteger());
    if (auto integer = dyn_cast<IntegerAttr>(first))
      return IntegerAttr::get(element, integer.getValue());
    return first;
  }

  Attribute zero() {
    return Builder(op->getContext()).getZeroAttr(type.getElementType());
  }

  bool evaluate(TriluOp o) {
    size_t rank = type.getRank();
    return forEachPlace(type.getShape(), [&](ArrayRef<int64_t> index) {
      int64_t diagonal = index[rank - 1] - index[rank - 2], k = o.getK();
      bool kept = o.getUpper() ? diagonal >= k : diagonal <= k;
      y.push_back(kept ? x[0][flatten(index, type.getShape())] : zero());
      return true;
    });
  }

  bool evaluate(PadOp o) {
    if (o.getMode() != "constant")
      return false;
    Attribute fill = x.size() > 1 ? x[1][0] : zero();
    return forEachPlace(type.getShape(), [&](ArrayRef<int64_t> index) {
      Index place(index);
      bool inside = true;
      for (size_t d = 0; d < place.size(); ++d) {
        place[d] -= o.getLow()[d];
        inside &= place[d] >= 0 && place[d] < shape(0)[d];
      }
      y.push_back(inside ? x[0][flatten(place, shape(0))] : fill);
      return true;
    });
  }

  bool evaluate(IotaOp o) {
    Builder b(op->getContext());
    Type element = type.getElementType();
    ScalarBody body(op->getLoc(), {element, element, b.getI64Type()}, element,
                    [&](ScalarBuilder &s, ArrayRef<Scalar> v) {
                      return v[0] + s.cast(v[2], element) * v[1];
                    });
    return forEachPlace(type.getShape(), [&](ArrayRef<int64_t> index) {
      y.push_back(body.run(
          {x[0][0], x[1][0], b.getI64IntegerAttr(index[o.getAxis()])}));
      return static_cast<bool>(y.back());
    });
  }

  bool evaluate(ReduceOp o) {
    Type element = type.getElementType();
    // The body would round 16-bit floats at every step.
    if (bodyType(element) != signlessType(element))
      return false;
    ScalarBody body(op->getLoc(), {element, element}, element,
                    [&](ScalarBuilder &s, ArrayRef<Scalar> v) {
                      return combine(s, o.getKind(), v[0], v[1]);
                    });
    y.assign(type.getNumElements(), start(o.getKind()));
    return forEachPlace(shape(0), [&](ArrayRef<int64_t> index) {
      Attribute &sum = y[broadcast(index, type.getShape())];
      sum = body.run({sum, x[0][flatten(index, shape(0))]});
      return static_cast<bool>(sum);
    });
  }

  Operation *op;
  RankedTensorType type;
  ArrayRef<Elements> x;
};

bool hasFewElements(RankedTensorType type, int64_t most = foldLimit) {
  return type.hasStaticShape() && type.getNumElements() <= most;
}

} // namespace

bool frit::nn::isFoldable(ConstantOp constant) {
  auto type = constant.getY().getType();
  return !constant.getName() || isa<IntegerType>(type.getElementType()) ||
         (type.hasStaticShape() && type.getNumElements() == 1);
}

bool frit::nn::isZeroInteger(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  DenseElementsAttr number = constant && isFoldable(constant)
                                 ? constantValue(value, 1)
                                 : DenseElementsAttr();
  return number && isa<IntegerType>(number.getElementType()) &&
         number.getNumElements() == 1 && number.getSplatValue<APInt>().isZero();
}

DenseElementsAttr frit::nn::constantValue(Value value, int64_t most) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || !hasFewElements(tensorType(value), most))
    return {};
  if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
    return dense;
  auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue());
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob)
    return {};
  // A resource stores a byte per bool.
  if (resource.getElementType().isInteger(1)) {
    auto bytes = blob->getData();
    SmallVector<bool> bits(bytes.begin(), bytes.end());
    return DenseElementsAttr::get(resource.getType(), ArrayRef<bool>(bits));
  }
  return DenseElementsAttr::getFromRawBuffer(resource.getType(),
                                             blob->getData());
}

/// Returns whether a constant is a weight. Single numbers such as an epsilon
/// have names too if the exporter stores them with the weights; those that
/// train are marked.
static bool isWeight(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  RankedTensorType type = tensorType(value);
  if (!constant || !constant.getNameAttr() ||
      !isa<FloatType>(type.getElementType()))
    return false;
  auto trains = constant->getAttrOfType<BoolAttr>("nn.trains");
  return type.getNumElements() > 1 || (trains && trains.getValue());
}

/// Bytes of a table that is folded where it is widened.
static constexpr int64_t kSmallTable = 64;

/// Returns whether `op` widens bytes that are quantized weights, from which
/// targets multiply them. Small tensors may be anything.
static bool isQuantizedWeight(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  return cast && tensorType(cast.getX()).getElementType().isInteger(8) &&
         tensorType(cast.getX()).getNumElements() > kSmallTable;
}

DenseElementsAttr frit::nn::evaluate(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      !isa<ElementwiseOp, StructuralOp, ReshapeOp>(op) ||
      !hasFewElements(tensorType(op->getResult(0))))
    return {};
  // Scalar bodies see small types as bytes only.
  auto isNumber = [](Type type) {
    return !isSmall(cast<RankedTensorType>(type).getElementType());
  };
  if (!llvm::all_of(op->getOperandTypes(), isNumber) ||
      !llvm::all_of(op->getResultTypes(), isNumber))
    return {};
  if (isQuantizedWeight(op))
    return {};
  SmallVector<DenseElementsAttr> operands;
  for (Value operand : op->getOperands()) {
    DenseElementsAttr value =
        isWeight(operand) ? DenseElementsAttr() : constantValue(operand);
    if (!value)
      return {};
    operands.push_back(value);
  }
  auto type = tensorType(op->getResult(0));
  if (isa<ReshapeOp>(op))
    return operands[0].reshape(type);
  SmallVector<Elements> elements;
  for (DenseElementsAttr operand : operands)
    elements.emplace_back(operand.value_begin<Attribute>(),
                          operand.value_end<Attribute>());
  Evaluator evaluator(op, elements);
  if (!evaluator.run())
    return {};
  return DenseElementsAttr::get(type, evaluator.y);
}
