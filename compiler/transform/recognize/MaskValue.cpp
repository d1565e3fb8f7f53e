//===- MaskValue.cpp - Evaluate attention masks ---------------------------===//

#include "compiler/transform/recognize/MaskValue.h"

#include "compiler/transform/Graph.h"
#include "dialects/nn/StridedView.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Maximum elements of a mask: scores of 4096 positions. f32 still counts them
/// exactly.
static constexpr int64_t kMostElements = int64_t(1) << 24;
/// Maximum elements and operators of one evaluation; exporters build masks from
/// a few tensors of that size.
static constexpr int64_t kMostTogether = 8 * kMostElements;
static constexpr unsigned kMostOperators = 32;

using Elements = std::vector<float>;

/// Reads `count` elements from `bytes`; nothing if the sizes do not match.
template <typename T>
static std::optional<Elements> read(ArrayRef<char> bytes, int64_t count) {
  if (bytes.size() != count * sizeof(T))
    return std::nullopt;
  Elements result(count);
  for (auto [i, element] : llvm::enumerate(result)) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    element = float(value);
  }
  return result;
}

/// Returns the elements of a constant of floats, bools or integers.
static std::optional<Elements> elementsOf(ConstantOp constant) {
  auto type = constant.getY().getType();
  Type element = type.getElementType();
  if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue())) {
    int64_t count = type.getNumElements();
    Elements result;
    result.reserve(count);
    auto readAll = [&](auto values, auto toFloat) {
      if (count && dense.isSplat())
        result.assign(count, toFloat(*values.begin()));
      else
        for (const auto &x : values)
          result.push_back(toFloat(x));
    };
    if (isa<FloatType>(element)) {
      readAll(dense.getValues<APFloat>(), [](APFloat x) {
        bool lossy;
        x.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lossy);
        return x.convertToFloat();
      });
      return result;
    }
    bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
    readAll(dense.getValues<APInt>(), [&](const APInt &x) {
      return isUnsigned ? float(x.getZExtValue()) : float(x.getSExtValue());
    });
    return result;
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue());
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob)
    return std::nullopt;
  ArrayRef<char> bytes = blob->getData();
  if (element.isF32())
    return read<float>(bytes, type.getNumElements());
  // A resource stores a bool in a byte.
  if (element.isInteger(8) || element.isInteger(1))
    return read<int8_t>(bytes, type.getNumElements());
  if (element.isInteger(64))
    return read<int64_t>(bytes, type.getNumElements());
  return std::nullopt;
}

namespace {
/// Evaluates the operators from which exporters build masks, each value once.
class Evaluator {
public:
  const Elements *evaluate(Value value) {
    auto known = values.find(value);
    if (known != values.end())
      return known->second.get();
    auto type = tensorType(value);
    if (!type.hasStaticShape() || type.getNumElements() > kMostElements ||
        ++operators > kMostOperators || !value.getDefiningOp())
      return nullptr;
    elements += type.getNumElements();
    if (elements > kMostTogether)
      return nullptr;
    std::optional<Elements> result = compute(value.getDefiningOp());
    if (!result)
      return nullptr;
    return values
        .insert({value, std::make_unique<Elements>(std::move(*result))})
        .first->second.get();
  }

  /// Whether elements depend on weights, which may be replaced.
  bool readsWeights = false;

private:
  std::optional<Elements> compute(Operation *op) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      readsWeights |= !isFoldable(constant);
      return elementsOf(constant);
    }
    if (isa<ReshapeOp, TransposeOp, SliceOp, ExpandOp>(op)) {
      auto places = StridedPlaces::whole(shapeOf(op->getOperand(0))).moved(op);
      const Elements *x = evaluate(op->getOperand(0));
      return x && succeeded(places) ? std::optional(gather(*x, *places))
                                    : std::nullopt;
    }
    if (auto iota = dyn_cast<IotaOp>(op))
      return count(iota);
    if (auto trilu = dyn_cast<TriluOp>(op))
      return triangle(trilu);
    return isa<ElementwiseOp>(op) ? elementwise(op) : std::nullopt;
  }

  static Elements gather(const Elements &x, const StridedPlaces &places) {
    Elements result;
    int64_t total = 1, at = places.offset;
    for (int64_t size : places.shape)
      total *= size;
    result.reserve(total);
    int64_t line = places.shape.empty() ? 1 : places.shape.back();
    int64_t step = places.shape.empty() ? 0 : places.strides.back();
    size_t outer = places.shape.empty() ? 0 : places.shape.size() - 1;
    SmallVector<int64_t> index(outer, 0);
    while (static_cast<int64_t>(result.size()) < total) {
      for (int64_t i = 0; i < line; ++i)
        result.push_back(x[at + i * step]);
      for (size_t d = outer; d-- > 0;) {
        at += places.strides[d];
        if (++index[d] < places.shape[d])
          break;
        at -= places.strides[d] * places.shape[d];
        index[d] = 0;
      }
    }
    return result;
  }

  std::optional<Elements> count(IotaOp op) {
    const Elements *start = evaluate(op.getStart());
    const Elements *step = evaluate(op.getStep());
    if (!start || !step)
      return std::nullopt;
    StridedPlaces places = StridedPlaces::whole(op.getShape());
    Elements line;
    for (int64_t i = 0; i < places.shape[op.getAxis()]; ++i)
      line.push_back((*start)[0] + i * (*step)[0]);
    for (auto [d, stride] : llvm::enumerate(places.strides))
      stride = int64_t(d) == int64_t(op.getAxis()) ? 1 : 0;
    return gather(line, places);
  }

  std::optional<Elements> triangle(TriluOp op) {
    const Elements *x = evaluate(op.getX());
    if (!x)
      return std::nullopt;
    Elements result(*x);
    int64_t k = op.getK();
    bool upper = op.getUpper();
    int64_t rows = shapeOf(op.getX()).end()[-2],
            columns = shapeOf(op.getX()).back();
    for (size_t start = 0, line = 0; start < result.size();
         start += columns, ++line) {
      int64_t row = line % rows;
      for (int64_t column = 0; column < columns; ++column)
        if (upper ? column - row < k : column - row > k)
          result[start + column] = 0;
    }
    return result;
  }

  std::optional<Elements> elementwise(Operation *op) {
    auto function = functionOf(op);
    if (!function)
      return std::nullopt;
    ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
    // Operands of one element have step 0.
    struct Operand {
      const float *data;
      size_t step;
    };
    SmallVector<Operand> operands;
    std::vector<Elements> broadcast;
    broadcast.reserve(op->getNumOperands());
    for (Value operand : op->getOperands()) {
      const Elements *x = evaluate(operand);
      if (!x)
        return std::nullopt;
      if (shapeOf(operand) != shape && x->size() != 1)
        x = &broadcast.emplace_back(gather(
            *x, StridedPlaces::whole(shapeOf(operand)).broadcast(shape)));
      operands.push_back({x->data(), x->size() != 1});
    }
    Elements result(tensorType(op->getResult(0)).getNumElements());
    float x[3] = {0, 0, 0};
    size_t count = operands.size();
    for (size_t i = 0; i < result.size(); ++i) {
      for (size_t n = 0; n < count; ++n)
        x[n] = operands[n].data[i * operands[n].step];
      result[i] = function(x);
    }
    return result;
  }

  using Function = float (*)(const float *);
  static Function functionOf(Operation *op) {
    if (auto cast = dyn_cast<CastOp>(op)) {
      if (cast.getTo().isInteger(1))
        return [](const float *x) { return float(x[0] != 0); };
      if (isa<FloatType>(cast.getTo()))
        return [](const float *x) { return x[0]; };
      return [](const float *x) { return std::trunc(x[0]); };
    }
    return TypeSwitch<Operation *, Function>(op)
        .Case([](AddOp) { return [](const float *x) { return x[0] + x[1]; }; })
        .Case([](SubOp) { return [](const float *x) { return x[0] - x[1]; }; })
        .Case([](MulOp) { return [](const float *x) { return x[0] * x[1]; }; })
        .Case([](NegOp) { return [](const float *x) { return -x[0]; }; })
        .Case([](LessOp) {
          return [](const float *x) { return float(x[0] < x[1]); };
        })
        .Case([](LessEqualOp) {
          return [](const float *x) { return float(x[0] <= x[1]); };
        })
        .Case([](GreaterOp) {
          return [](const float *x) { return float(x[0] > x[1]); };
        })
        .Case([](GreaterEqualOp) {
          return [](const float *x) { return float(x[0] >= x[1]); };
        })
        .Case([](EqualOp) {
          return [](const float *x) { return float(x[0] == x[1]); };
        })
        .Case([](AndOp) {
          return [](const float *x) { return float(x[0] && x[1]); };
        })
        .Case([](OrOp) {
          return [](const float *x) { return float(x[0] || x[1]); };
        })
        .Case([](NotOp) { return [](const float *x) { return float(!x[0]); }; })
        .Case([](WhereOp) {
          return [](const float *x) { return x[0] ? x[1] : x[2]; };
        })
        .Default(Function(nullptr));
  }

  llvm::DenseMap<Value, std::unique_ptr<Elements>> values;
  /// Operators and elements started so far; bounds the recursion depth too.
  unsigned operators = 0;
  int64_t elements = 0;
};
} // namespace

MaskKind frit::kindOfMask(Value mask, double scale) {
  auto type = tensorType(mask);
  if (!type.hasStaticShape() || type.getNumElements() == 0)
    return MaskKind::other;
  Evaluator evaluator;
  const Elements *elements = evaluator.evaluate(mask);
  if (!elements)
    return MaskKind::other;
  bool isBool = type.getElementType().isInteger(1);
  auto sees = [&](float x) { return isBool ? x != 0 : x == 0; };
  auto hides = [&](float x) { return isBool ? x == 0 : x * scale <= kMasked; };
  // A learnt bias may be zero in this file but not after training.
  if (llvm::all_of(*elements, sees))
    return evaluator.readsWeights ? MaskKind::other : MaskKind::none;

  ArrayRef<int64_t> shape = type.getShape();
  if (shape.size() < 2 ||
      !llvm::all_of(shape.drop_back(2), [](int64_t n) { return n == 1; }))
    return MaskKind::other;
  int64_t queries = shape[shape.size() - 2], keys = shape.back();
  // A single broadcast query has no position.
  if (queries < 2)
    return MaskKind::other;
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j) {
      float x = (*elements)[i * keys + j];
      if (!(j <= i ? sees(x) : hides(x)))
        return MaskKind::other;
    }
  return MaskKind::causal;
}

SmallVector<int64_t> frit::findFinite(Value mask) {
  auto type = tensorType(mask);
  if (!type.hasStaticShape() || type.getNumElements() == 0 ||
      !isa<FloatType>(type.getElementType()))
    return {};
  Evaluator evaluator;
  const Elements *elements = evaluator.evaluate(mask);
  if (!elements)
    return {};
  SmallVector<int64_t> result;
  ArrayRef<int64_t> shape = type.getShape();
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    int64_t inner = ShapedType::getNumElements(shape.drop_front(dim + 1));
    int64_t latest = 0;
    for (int64_t line = 0; line < type.getNumElements() / shape[dim]; ++line) {
      int64_t start = line / inner * inner * shape[dim] + line % inner, at = 0;
      while (at < shape[dim] && !std::isfinite((*elements)[start + at * inner]))
        ++at;
      latest = std::max(latest, at);
    }
    result.push_back(latest);
  }
  return result;
}
