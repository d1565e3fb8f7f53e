//===- Epilogue.cpp - Operators after a contraction as stages -------------===//

#include "dialects/nn/Fold.h"
#include "dialects/nn/contraction/Contraction.h"
#include "dialects/nn/operators/Statistics.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace frit::nn;
using frit::Activation;

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// Returns whether a kernel has `v` as a number. It reads weights from memory,
/// even if all elements are equal, as they are before training.
static bool isSplat(Value v) {
  auto constant = v.getDefiningOp<ConstantOp>();
  return constant && isa<SplatElementsAttr>(constant.getValue()) &&
         isFoldable(constant);
}

static Activation kindOf(Operation *op) {
  return TypeSwitch<Operation *, Activation>(op)
      .Case([](ReluOp) { return Activation::relu; })
      .Case([](SiluOp) { return Activation::silu; })
      .Case([](GeluOp gelu) {
        return gelu.getApproximate() == "tanh" ? Activation::geluTanh
                                               : Activation::gelu;
      })
      .Default(Activation::other);
}

/// Returns whether a tensor of `shape` has an element per channel, with all
/// other dimensions 1, and broadcasts to `result`.
static bool isPerChannel(ArrayRef<int64_t> shape, ArrayRef<int64_t> result,
                         size_t channel) {
  size_t offset = result.size() - shape.size();
  if (shape.size() > result.size() || channel < offset)
    return false;
  for (auto [i, size] : llvm::enumerate(shape))
    if (size != (offset + i == channel ? result[channel] : 1))
      return false;
  return true;
}

namespace {
/// An operator that reduces a product's result.
struct Reduction {
  stage::Reduce stage;
  Value of, factor;
};
} // namespace

static std::optional<Reduction> reductionOf(Operation *op) {
  using Reduce = stage::Reduce;
  using Kind = Reduce::Kind;
  using Along = Reduce::Along;
  return TypeSwitch<Operation *, std::optional<Reduction>>(op)
      .Case([](MomentsOp op) {
        return Reduction{
            {Kind::moments, Along::rows, int64_t(op.getWidth()), op.getY()},
            op.getX(),
            nullptr};
      })
      .Case([](ColumnMomentsOp op) {
        return Reduction{
            {Kind::moments, Along::columns, int64_t(op.getHeight()), op.getY()},
            op.getX(),
            nullptr};
      })
      .Case([](ColumnSumsOp op) {
        return Reduction{
            {Kind::sums, Along::columns, int64_t(op.getHeight()), op.getY()},
            op.getX(),
            nullptr};
      })
      .Case([](RowDotsOp op) {
        return Reduction{
            {Kind::dots, Along::rows, int64_t(op.getWidth()), op.getY()},
            op.getA(),
            op.getB()};
      })
      .Default(std::nullopt);
}

std::optional<std::pair<ConvOp, ConvOp>>
frit::nn::addedConvolutions(Operation *op) {
  auto sum = dyn_cast<AddOp>(op);
  if (!sum || !sum.getA().hasOneUse() || !sum.getB().hasOneUse())
    return std::nullopt;
  auto a = sum.getA().getDefiningOp<ConvOp>();
  auto b = sum.getB().getDefiningOp<ConvOp>();
  return a && b ? std::optional(std::pair(a, b)) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Operators to stages
//===----------------------------------------------------------------------===//

namespace {
/// Takes the operators after a contraction one by one.
class EpilogueParser {
public:
  explicit EpilogueParser(Operation *contraction);

  /// Takes a convolution that the next operator adds.
  Legality takeAddend(ConvOp conv);
  Legality take(Operation *op);
  Match<Epilogue> finish() const;

private:
  template <typename Op> Legality takeNorm(Op op, stage::Norm::Of of);
  Legality takeGate(GateColumnsOp op);
  Legality takeReduction(Operation *op, const Reduction &reduction);
  Legality takeElementwise(Operation *op);
  /// Takes an operand that is neither a splat nor a result in the fusion.
  bool takeOperand(Value other);
  Legality checkAddend() const;
  Legality checkMixed() const;

  RankedTensorType type() const { return tensorType(value); }

  Operation *contraction;
  ConvOp addend;
  bool addsAddend = false;
  Value product, bias, residual;
  /// The sums before the activation; the last operator's result.
  Value sum, value;
  Activation activation = Activation::none;
  bool isMixed = false;
  std::optional<stage::Norm> norm;
  std::optional<stage::Gate> gate;
  std::optional<Reduction> reduction;
  /// Dimension of the columns, if there is one.
  std::optional<size_t> channel;
};
} // namespace

EpilogueParser::EpilogueParser(Operation *contraction)
    : contraction(contraction), product(contraction->getResult(0)),
      sum(product), value(product) {
  if (int64_t rank = type().getRank())
    channel = rank - 1;
  if (auto conv = dyn_cast<ConvOp>(contraction)) {
    bias = conv.getBias();
    if (!conv.getChannelsLast())
      channel = 1;
  } else if (auto matmul = dyn_cast<MatmulOp>(contraction)) {
    // The result of a matrix by a vector has no dimension for the columns.
    if (shapeOf(matmul.getB()).size() <= 1)
      channel.reset();
  }
}

Legality EpilogueParser::takeAddend(ConvOp conv) {
  if (!isa<ConvOp>(contraction) || !describeConv(conv))
    return Mismatch("a convolution follows it");
  if (bias && conv.getBias())
    return Mismatch("both convolutions have a bias");
  addend = conv;
  if (conv.getBias())
    bias = conv.getBias();
  return std::nullopt;
}

Legality EpilogueParser::take(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (reduction)
    return Mismatch(name + " follows a reduction of the result");
  if (gate)
    return Mismatch(name + " follows gated columns");
  if (isa<MomentsOp, NormalizeOp, NormalizeProductOp, GateColumnsOp>(op) &&
      !isa<MatmulOp>(contraction))
    return Mismatch(name + " does not follow a product");
  if (auto found = reductionOf(op))
    return takeReduction(op, *found);
  if (auto normalize = dyn_cast<NormalizeOp>(op))
    return takeNorm(normalize, stage::Norm::Of::residual);
  if (auto normalize = dyn_cast<NormalizeProductOp>(op))
    return takeNorm(normalize, stage::Norm::Of::product);
  if (auto gates = dyn_cast<GateColumnsOp>(op))
    return takeGate(gates);
  return takeElementwise(op);
}

template <typename Op>
Legality EpilogueParser::takeNorm(Op op, stage::Norm::Of of) {
  if (norm || residual || isMixed || activation != Activation::none)
    return Mismatch("a norm does not directly follow the product and its bias");
  bool ofProduct = of == stage::Norm::Of::product;
  if ((ofProduct ? op.getX() : op.getOffset()) != value)
    return Mismatch("the norm does not normalize the product");
  ArrayRef<int64_t> shape = type().getShape();
  if (shapeOf(op.getX()) != shape)
    return Mismatch("the norm changes the shape");
  if (ofProduct) {
    if (bias || !isPerChannel(shapeOf(op.getOffset()), shape, shape.size() - 1))
      return Mismatch("the norm's offset is not a bias");
    bias = op.getOffset();
  } else {
    residual = op.getX();
  }
  norm = stage::Norm{of, op.getMoments(), op.getColumn(),
                     int64_t(op.getWidth()), op.getEpsilon().convertToDouble()};
  sum = value = op.getY();
  return std::nullopt;
}

Legality EpilogueParser::takeGate(GateColumnsOp op) {
  if (op.getX() != value)
    return Mismatch("the gates are not of the product");
  if (residual || isMixed || activation != Activation::none)
    return Mismatch("gates do not directly follow the product and its bias");
  Activation kind = llvm::StringSwitch<Activation>(op.getActivation())
                        .Case("silu", Activation::silu)
                        .Case("gelu_tanh", Activation::geluTanh)
                        .Default(Activation::gelu);
  value = op.getY();
  gate = stage::Gate{kind, value};
  return std::nullopt;
}

Legality EpilogueParser::takeReduction(Operation *op, const Reduction &found) {
  if (found.of != value)
    return Mismatch(op->getName().getStringRef() +
                    " does not reduce the result");
  reduction = found;
  return std::nullopt;
}

bool EpilogueParser::takeOperand(Value other) {
  ArrayRef<int64_t> shape = type().getShape();
  if (addend && other == addend.getY()) {
    bool isFirst = !addsAddend;
    addsAddend = true;
    return isFirst;
  }
  if (channel && isPerChannel(shapeOf(other), shape, *channel) &&
      (!bias || bias == other))
    bias = other;
  else if (shapeOf(other) == shape && (!residual || residual == other))
    residual = other;
  else
    return false;
  return true;
}

Legality EpilogueParser::takeElementwise(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (!isa<ElementwiseOp>(op))
    return Mismatch(name + " is not elementwise");
  auto resultType = tensorType(op->getResult(0));
  if (resultType.getShape() != type().getShape())
    return Mismatch(name + " changes the shape");
  if (!llvm::is_contained(op->getOperands(), value))
    return Mismatch(name + " does not follow the operator before it");
  bool simple = true,
       adds = isa<AddOp>(op) && !isMixed && activation == Activation::none;
  for (Value operand : op->getOperands()) {
    if (operand == value || isSplat(operand))
      continue;
    // A sum takes each of them once.
    adds &= operand != bias && operand != residual;
    simple = false;
    if (!takeOperand(operand))
      return Mismatch("an operand of " + name +
                      " is neither a bias nor shaped like the result");
  }
  isMixed |= (!simple && !adds) || resultType != type();
  value = op->getResult(0);
  if (simple)
    activation =
        activation == Activation::none ? kindOf(op) : Activation::other;
  else if (adds)
    sum = value;
  return std::nullopt;
}

Legality EpilogueParser::checkAddend() const {
  if (!addend)
    return std::nullopt;
  auto conv = cast<ConvOp>(contraction);
  ConvOp other = addend;
  if (isMixed || !addsAddend ||
      other.getChannelsLast() != conv.getChannelsLast())
    return Mismatch("the second convolution is not just added to the first");
  return std::nullopt;
}

/// A mixed epilogue computes in f32; its residual has the result's layout.
Legality EpilogueParser::checkMixed() const {
  auto isSmallFloat = [](Value v) {
    Type element = tensorType(v).getElementType();
    return element.isF32() || element.isF16() || element.isBF16();
  };
  if (!isSmallFloat(product) || !isSmallFloat(value) ||
      (bias && !isSmallFloat(bias)))
    return Mismatch("its epilogue computes in neither f32 nor 16-bit floats");
  if (residual && residual.getType() != value.getType())
    return Mismatch("the residual and the result differ in type");
  if (isa<ConvOp>(contraction) && value.getType() != product.getType())
    return Mismatch("its result's type differs from the convolution's");
  return std::nullopt;
}

Match<Epilogue> EpilogueParser::finish() const {
  using Role = stage::Load::Role;
  bool normalizesProduct = norm && norm->of == stage::Norm::Of::product;
  bool normalizesResidual = norm && !normalizesProduct;
  if (norm && isMixed)
    return Mismatch("the norm's result is combined with another operand");
  if (normalizesResidual && residual.getType() != type())
    return Mismatch("the norm's input and the sum differ in type");
  if (Legality why = checkAddend())
    return *why;
  if (Legality why = isMixed ? checkMixed() : std::nullopt)
    return *why;
  Epilogue epilogue;
  epilogue.product = product;
  epilogue.addend = addend;
  auto add = [&](EndStage one) { epilogue.stages.push_back(one); };
  if (normalizesProduct)
    add(*norm);
  if (bias)
    add(stage::Load{Role::bias, bias});
  if (residual)
    add(stage::Load{Role::residual, residual});
  if (normalizesResidual)
    add(*norm);
  if (gate)
    add(*gate);
  if (isMixed)
    add(stage::Map{Activation::other, /*isMixed=*/true, sum, value});
  else if (activation != Activation::none)
    add(stage::Map{activation, /*isMixed=*/false, sum, value});
  add(stage::Store{stage::Store::What::result, value});
  if (reduction && reduction->factor)
    add(stage::Load{Role::factor, reduction->factor});
  if (reduction)
    add(reduction->stage);
  return epilogue;
}

Match<Epilogue> frit::nn::describeEpilogue(Operation *contraction,
                                           ArrayRef<Operation *> operators) {
  EpilogueParser parser(contraction);
  if (auto addend = dyn_cast_if_present<ConvOp>(
          operators.empty() ? nullptr : operators.front())) {
    if (Legality why = parser.takeAddend(addend))
      return *why;
    operators = operators.drop_front();
  }
  for (Operation *op : operators)
    if (Legality why = parser.take(op))
      return *why;
  return parser.finish();
}
