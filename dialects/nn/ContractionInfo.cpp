//===- ContractionInfo.cpp - Fusions that are one product or convolution --===//

#include "dialects/nn/ContractionInfo.h"

#include "dialects/nn/operators/Gradient.h"
#include "dialects/nn/operators/Statistics.h"

using namespace mlir;
using namespace frit::nn;
using frit::Activation;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Match<GemmInfo> frit::nn::describeMatmul(MatmulOp op) {
  GemmInfo info;
  info.tf32 = op.getTf32();
  info.a = op.getA();
  info.b = op.getB();
  ArrayRef<int64_t> a = shapeOf(info.a), b = shapeOf(info.b);
  if (!tensorType(info.a).hasStaticShape() ||
      !tensorType(info.b).hasStaticShape())
    return Mismatch("its shape is dynamic");
  // A vector is a row on the left and a column on the right.
  info.transposeA = a.size() > 1 && op.getTransposeA();
  info.transposeB = b.size() > 1 && op.getTransposeB();
  int64_t rowsA = a.size() > 1 ? a[a.size() - 2] : 1, colsA = a.back();
  int64_t rowsB = b.size() > 1 ? b[b.size() - 2] : b[0];
  int64_t colsB = b.size() > 1 ? b.back() : 1;
  info.m = info.transposeA ? colsA : rowsA;
  info.k = info.transposeA ? rowsA : colsA;
  info.n = info.transposeB ? rowsB : colsB;
  info.lda = colsA;
  info.ldb = colsB;
  info.ldd = info.n;

  auto batchOf = [](ArrayRef<int64_t> shape) {
    return product(shape.drop_back(std::min<size_t>(shape.size(), 2)));
  };
  int64_t batchA = batchOf(a), batchB = batchOf(b);
  info.batch =
      product(shapeOf(op.getY())) / std::max<int64_t>(info.m * info.n, 1);
  if (product(shapeOf(op.getY())) == 0 || info.k == 0)
    return Mismatch("it is empty");
  if ((batchA != 1 && batchA != info.batch) ||
      (batchB != 1 && batchB != info.batch))
    return Mismatch("its batch dimensions broadcast in part");
  info.strideA = batchA == 1 ? 0 : rowsA * colsA;
  info.strideB = batchB == 1 ? 0 : rowsB * colsB;
  info.strideD = info.m * info.n;
  // If all matrices of A share one B, their rows form one tall matrix.
  if (info.batch > 1 && batchB == 1 && batchA == info.batch &&
      !info.transposeA) {
    info.m *= info.batch;
    info.batch = 1;
  }
  if (info.batch == 1) {
    info.strideA = info.strideB = 0;
    info.strideD = 0;
  }
  return info;
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

Match<ConvInfo> frit::nn::describeConv(ConvOp op) {
  ConvInfo info;
  info.tf32 = op.getTf32();
  info.x = op.getX();
  info.w = op.getW();
  info.bias = op.getBias();
  if (!tensorType(info.x).hasStaticShape() ||
      !tensorType(info.w).hasStaticShape())
    return Mismatch("its shape is dynamic");
  ArrayRef<int64_t> x = shapeOf(info.x), w = shapeOf(info.w);
  ArrayRef<int64_t> y = shapeOf(op.getY());
  size_t spatial = x.size() - 2;
  if (spatial != 1 && spatial != 2)
    return Mismatch("it has " + Twine(spatial) + " spatial dimensions");
  if (product(y) == 0 || product(w) == 0)
    return Mismatch("it is empty");
  info.channelsLast = op.getChannelsLast();
  size_t first = info.channelsLast ? 1 : 2, last = spatial - 1;
  info.n = x[0];
  info.c = info.channelsLast ? x.back() : x[1];
  info.k = w[0];
  info.groups = op.getGroup();
  info.width = x[first + last];
  info.s = w[first + last];
  info.q = y[first + last];
  info.strideW = op.getStrides()[last];
  info.dilationW = op.getDilations()[last];
  info.padLeft = op.getPads()[last];
  info.padRight = op.getPads()[spatial + last];
  if (spatial == 2) {
    info.h = x[first];
    info.r = w[first];
    info.p = y[first];
    info.strideH = op.getStrides()[0];
    info.dilationH = op.getDilations()[0];
    info.padTop = op.getPads()[0];
    info.padBottom = op.getPads()[spatial];
  }
  return info;
}

ConvInfo frit::nn::describeAddend(const ConvInfo &conv) {
  auto addend = describeConv(conv.addend);
  assert(addend && "an epilogue was described without its addend");
  return *addend;
}

std::optional<GemmInfo> frit::nn::pointwiseGemm(const ConvInfo &conv) {
  if (conv.addend || !conv.channelsLast || conv.groups != 1 || conv.r != 1 ||
      conv.s != 1 || conv.strideH != 1 || conv.strideW != 1 || conv.padTop ||
      conv.padLeft || conv.padBottom || conv.padRight)
    return std::nullopt;
  GemmInfo info;
  static_cast<EpilogueInfo &>(info) = conv;
  info.a = conv.x;
  info.b = conv.w;
  info.m = conv.n * conv.h * conv.width;
  info.n = info.ldd = conv.k;
  info.k = info.lda = info.ldb = conv.c;
  info.transposeB = true;
  info.tf32 = conv.tf32;
  return info;
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

static bool isSplat(Value v) {
  auto constant = v.getDefiningOp<ConstantOp>();
  return constant && isa<SplatElementsAttr>(constant.getValue());
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

/// Adds a norm after `value` to `info`.
template <typename Op>
static Legality takeNorm(EpilogueInfo &info, Op op, NormKind kind,
                         Value value) {
  if (info.norm != NormKind::none || info.residual || info.mixed ||
      info.activation != Activation::none)
    return Mismatch("a norm does not directly follow the product and its bias");
  bool ofProduct = kind == NormKind::product;
  if ((ofProduct ? op.getX() : op.getOffset()) != value)
    return Mismatch("the norm does not normalize the product");
  ArrayRef<int64_t> shape = shapeOf(value);
  if (shapeOf(op.getX()) != shape)
    return Mismatch("the norm changes the shape");
  if (ofProduct) {
    if (info.bias ||
        !isPerChannel(shapeOf(op.getOffset()), shape, shape.size() - 1))
      return Mismatch("the norm's offset is not a bias");
    info.bias = op.getOffset();
  } else {
    info.residual = op.getX();
  }
  info.norm = kind;
  info.moments = op.getMoments();
  info.column = op.getColumn();
  info.width = op.getWidth();
  info.epsilon = op.getEpsilon().convertToDouble();
  info.sum = info.result = op.getY();
  return std::nullopt;
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

Match<EpilogueInfo>
frit::nn::describeEpilogue(Operation *contraction,
                           ArrayRef<Operation *> operators) {
  EpilogueInfo info;
  Value value = contraction->getResult(0);
  auto type = tensorType(value);
  size_t channel = type.getRank() - 1;
  bool hasChannel = type.getRank() > 0;
  if (auto conv = dyn_cast<ConvOp>(contraction)) {
    info.bias = conv.getBias();
    channel = conv.getChannelsLast() ? channel : 1;
  } else if (auto matmul = dyn_cast<MatmulOp>(contraction)) {
    // The result of a matrix by a vector has no dimension for the columns.
    hasChannel = shapeOf(matmul.getB()).size() > 1;
  }
  info.product = info.sum = info.result = value;
  // Takes an operand that is neither a splat nor a result in the fusion.
  auto takeOperand = [&](Value other) {
    bool perChannel =
        hasChannel && isPerChannel(shapeOf(other), type.getShape(), channel);
    if (perChannel && (!info.bias || info.bias == other))
      info.bias = other;
    else if (shapeOf(other) == type.getShape() &&
             (!info.residual || info.residual == other))
      info.residual = other;
    else
      return false;
    return true;
  };
  if (auto addend = dyn_cast_if_present<ConvOp>(
          operators.empty() ? nullptr : operators.front())) {
    operators = operators.drop_front();
    if (!isa<ConvOp>(contraction) || !describeConv(addend))
      return Mismatch("a convolution follows it");
    if (info.bias && addend.getBias())
      return Mismatch("both convolutions have a bias");
    info.addend = addend;
    if (addend.getBias())
      info.bias = addend.getBias();
  }
  for (Operation *op : operators) {
    StringRef name = op->getName().getStringRef();
    if (info.resultMoments)
      return Mismatch(name + " follows the moments");
    if (auto moments = dyn_cast<ColumnMomentsOp>(op)) {
      if (moments.getX() != value)
        return Mismatch("the moments are not those of the result");
      info.resultMoments = moments.getY();
      info.resultWidth = moments.getHeight();
      continue;
    }
    if (auto sums = dyn_cast<ColumnSumsOp>(op)) {
      if (sums.getX() != value)
        return Mismatch("the sums are not those of the result");
      info.resultMoments = sums.getY();
      info.resultWidth = sums.getHeight();
      continue;
    }
    if (auto dots = dyn_cast<RowDotsOp>(op)) {
      if (dots.getA() != value)
        return Mismatch("the dot products are not those of the result");
      info.resultMoments = dots.getY();
      info.resultWidth = dots.getWidth();
      info.factor = dots.getB();
      continue;
    }
    if (isa<MomentsOp, NormalizeOp, NormalizeProductOp>(op)) {
      if (!isa<MatmulOp>(contraction))
        return Mismatch(name + " does not follow a product");
      if (auto moments = dyn_cast<MomentsOp>(op)) {
        if (moments.getX() != value)
          return Mismatch("the moments are not those of the result");
        info.resultMoments = moments.getY();
        info.resultWidth = moments.getWidth();
        continue;
      }
      auto norm = dyn_cast<NormalizeOp>(op);
      if (Legality why = norm ? takeNorm(info, norm, NormKind::residual, value)
                              : takeNorm(info, cast<NormalizeProductOp>(op),
                                         NormKind::product, value))
        return *why;
      value = info.result;
      type = tensorType(value);
      continue;
    }
    if (!isa<ElementwiseOp>(op))
      return Mismatch(name + " is not elementwise");
    auto resultType = tensorType(op->getResult(0));
    if (resultType.getShape() != type.getShape())
      return Mismatch(name + " changes the shape");
    if (!llvm::is_contained(op->getOperands(), value))
      return Mismatch(name + " does not follow the operator before it");
    bool simple = true, adds = isa<AddOp>(op) && !info.mixed &&
                               info.activation == Activation::none;
    for (Value operand : op->getOperands()) {
      if (operand == value || isSplat(operand))
        continue;
      // A sum takes each of them once.
      adds &= operand != info.bias && operand != info.residual;
      simple = false;
      if (!takeOperand(operand))
        return Mismatch("an operand of " + name +
                        " is neither a bias nor shaped like the "
                        "result");
    }
    value = info.result = op->getResult(0);
    info.mixed |= (!simple && !adds) || resultType != type;
    if (simple)
      info.activation =
          info.activation == Activation::none ? kindOf(op) : Activation::other;
    else if (adds)
      info.sum = value;
  }
  if (info.norm != NormKind::none && info.mixed)
    return Mismatch("the norm's result is combined with another operand");
  if (info.norm == NormKind::residual && info.residual.getType() != type)
    return Mismatch("the norm's input and the sum differ in type");
  if (ConvOp addend = info.addend) {
    auto conv = cast<ConvOp>(contraction);
    if (info.mixed || info.residual != addend.getY() ||
        addend.getChannelsLast() != conv.getChannelsLast())
      return Mismatch("the second convolution is not just added to the first");
    info.residual = nullptr;
  }
  if (!info.mixed)
    return info;
  info.activation = Activation::other;
  // A mixed epilogue computes in f32; its residual has the result's layout.
  auto isSmallFloat = [](Value v) {
    Type element = tensorType(v).getElementType();
    return element.isF32() || element.isF16() || element.isBF16();
  };
  if (!isSmallFloat(info.product) || !isSmallFloat(info.result) ||
      (info.bias && !isSmallFloat(info.bias)))
    return Mismatch("its epilogue computes in neither f32 nor 16-bit floats");
  if (info.residual && info.residual.getType() != info.result.getType())
    return Mismatch("the residual and the result differ in type");
  if (isa<ConvOp>(contraction) && info.result.getType() != type)
    return Mismatch("its result's type differs from the convolution's");
  return info;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t frit::nn::countFlops(Operation *op) {
  auto elements = [](Value v) { return tensorType(v).getNumElements(); };
  return TypeSwitch<Operation *, int64_t>(op)
      .Case([&](MatmulOp matmul) {
        ArrayRef<int64_t> a = shapeOf(matmul.getA());
        bool swapped = matmul.getTransposeA() && a.size() > 1;
        int64_t depth = swapped ? a[a.size() - 2] : a.back();
        return 2 * depth * elements(matmul.getY());
      })
      .Case([&](ConvOp conv) {
        int64_t filters = std::max<int64_t>(shapeOf(conv.getW())[0], 1);
        return 2 * elements(conv.getY()) * (elements(conv.getW()) / filters);
      })
      .Case([&](QuantizedConvOp conv) {
        int64_t filters = std::max<int64_t>(shapeOf(conv.getW())[0], 1);
        return 2 * elements(conv.getY()) * (elements(conv.getW()) / filters);
      })
      .Case([&](DepthwiseConvOp conv) {
        ArrayRef<int64_t> w = shapeOf(conv.getW());
        int64_t filters = std::max<int64_t>(w.back(), 1);
        return 2 * elements(conv.getY()) * (elements(conv.getW()) / filters);
      })
      .Case([&](AttentionOp attention) {
        ArrayRef<int64_t> k = shapeOf(attention.getK());
        int64_t products =
            2 * k[k.size() - 2] *
            (elements(attention.getQ()) + elements(attention.getY()));
        return attention.getCausal() ? products / 2 : products;
      })
      .Case([&](AttentionGradOp gradient) {
        // Five products; those of weights and their gradient count once.
        int64_t products =
            10 * elements(gradient.getQ()) * shapeOf(gradient.getK())[2];
        return gradient.getCausal() ? products / 2 : products;
      })
      .Default(int64_t(0));
}
