//===- IntegerProduct.cpp - Products of bytes on NVIDIA GPUs --------------===//

#include "codegen/cuda/integer/IntegerProduct.h"

#include "dialects/nn/Fold.h"
#include "dialects/nn/contraction/Contraction.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Instructions of the end per sum: of its places and the store, of an
/// elementwise operator on average, since quantizations have few for many, and
/// of a GELU; counted in machine code.
static constexpr double kSumInstructions = 1.5, kOperatorInstructions = 0.75,
                        kGeluInstructions = 8;

/// Maximum bytes along k, and minimum sums per SM, of products whose time is
/// that of loads and stores: boxes then gain more than they cost, which is
/// memory of stages, and time at the end of the last tile (measured on an
/// H200).
static constexpr int64_t kBoxedDepth = 128, kBoxedSums = 4 * 128 * 256;

/// Maximum strides, pads and dilations, so that places of taps fit an int.
static constexpr int64_t kMostOffset = 1 << 15;

static bool isSmall(Value tensor) {
  auto type = nn::tensorType(tensor);
  return type.getNumElements() > 0 && type.getNumElements() <= INT32_MAX;
}

static bool isSigned(Value bytes) {
  return !nn::tensorType(bytes).getElementType().isUnsignedInteger();
}

/// Returns the name of a format of 8-bit floats in device code; empty for
/// bytes.
static StringRef formatOf(Value codes) {
  Type element = nn::tensorType(codes).getElementType();
  if (isa<IntegerType>(element))
    return {};
  return isa<Float8E5M2Type>(element) ? "e5m2" : "e4m3";
}

nn::Match<IntegerProduct> frit::cuda::describeProduct(nn::QuantizedConvOp op) {
  if (nn::hasEnd(op))
    return nn::Mismatch("other operators compute what follows the sums");
  if (op.getGroup() != 1)
    return nn::Mismatch("it has " + Twine(op.getGroup()) + " groups");
  if (!haveElements({op.getX(), op.getW(), op.getY()}) || !isSmall(op.getX()) ||
      !isSmall(op.getW()) || !isSmall(op.getY()))
    return nn::Mismatch("a tensor has no elements, or too many");
  for (ArrayRef<int64_t> list :
       {op.getStrides(), op.getPads(), op.getDilations()})
    if (llvm::any_of(list, [](int64_t step) { return step > kMostOffset; }))
      return nn::Mismatch("a stride, pad or dilation is above " +
                          Twine(kMostOffset));
  IntegerProduct product;
  product.op = op;
  ArrayRef<int64_t> x = nn::shapeOf(op.getX()), w = nn::shapeOf(op.getW());
  ArrayRef<int64_t> y = nn::shapeOf(op.getY());
  product.n = x.front();
  product.c = x.back();
  product.k = w.front();
  product.signedX = isSigned(op.getX());
  product.signedW = isSigned(op.getW());
  product.floatX = formatOf(op.getX());
  product.floatW = formatOf(op.getW());
  size_t spatial = x.size() - 2;
  if (spatial >= 1) {
    product.w = x[spatial];
    product.s = w[spatial];
    product.q = y[spatial];
    product.strideW = op.getStrides().back();
    product.dilationW = op.getDilations().back();
    product.padLeft = op.getPads()[spatial - 1];
  }
  if (spatial == 2) {
    product.h = x[1];
    product.r = w[1];
    product.p = y[1];
    product.strideH = op.getStrides().front();
    product.dilationH = op.getDilations().front();
    product.padTop = op.getPads().front();
  }
  // The last tap's place, of the last row of windows.
  int64_t reach =
      std::max(product.p * product.strideH + product.r * product.dilationH,
               product.q * product.strideW + product.s * product.dilationW);
  if (reach > INT32_MAX / 2)
    return nn::Mismatch("its windows reach too far");
  return product;
}

/// Returns the instructions of what follows the sums, per sum.
static double countEnd(nn::FusionOp fusion, nn::QuantizedConvOp conv) {
  double count = kSumInstructions;
  for (Operation &op : fusion.getBody().front().without_terminator())
    if (isa<nn::ElementwiseOp>(op) &&
        nn::tensorType(op.getResult(0)).getNumElements() ==
            nn::tensorType(conv.getY()).getNumElements())
      count += isa<nn::GeluOp>(op) ? kGeluInstructions : kOperatorInstructions;
  return count;
}

/// Returns the operands besides those of products that have an element for each
/// sum.
static SmallVector<BlockArgument> findAddends(nn::FusionOp fusion,
                                              nn::QuantizedConvOp conv) {
  int64_t sums = nn::tensorType(conv.getY()).getNumElements();
  SmallVector<BlockArgument> addends;
  for (BlockArgument argument : fusion.getBody().getArguments())
    if (llvm::none_of(argument.getUsers(),
                      llvm::IsaPred<nn::QuantizedConvOp>) &&
        nn::tensorType(argument).getNumElements() == sums)
      addends.push_back(argument);
  return addends;
}

/// Returns the bytes that a product becomes by operators in a row, each the
/// only reader of the one before; null if it does not.
static Value codesOf(nn::QuantizedConvOp conv) {
  Value value = conv.getY();
  for (;;) {
    Operation *reader = nullptr;
    for (Operation *user : value.getUsers()) {
      if (reader && reader != user)
        return nullptr;
      reader = user;
    }
    if (!isa_and_nonnull<nn::ElementwiseOp>(reader) ||
        reader->getNumResults() != 1 ||
        nn::shapeOf(reader->getResult(0)) != nn::shapeOf(value))
      return nullptr;
    for (Value operand : reader->getOperands())
      if (operand != value && nn::tensorType(operand).getNumElements() ==
                                  nn::tensorType(value).getNumElements())
        return nullptr;
    value = reader->getResult(0);
    auto element = dyn_cast<IntegerType>(elementType(value));
    if (element && element.getWidth() == 8)
      return value;
  }
}

static SmallVector<nn::QuantizedConvOp>
findConvs(ArrayRef<Operation *> operators) {
  SmallVector<nn::QuantizedConvOp> convs;
  for (Operation *op : operators)
    if (auto conv = dyn_cast<nn::QuantizedConvOp>(op))
      convs.push_back(conv);
  return convs;
}

/// Adds the first product to the one that reads its codes. Zero points are
/// those of the model here; describeProduct of a fusion finds them outside of
/// it.
static IntegerProduct joinFirst(IntegerProduct product,
                                nn::QuantizedConvOp first, Value codes) {
  product.first = first;
  product.firstCodes = codes;
  nn::QuantizedConvOp both[] = {product.op, first};
  product.isCentered = llvm::all_of(both, [](nn::QuantizedConvOp conv) {
    return nn::isZeroInteger(conv.getXZero()) &&
           nn::isZeroInteger(conv.getWZero());
  });
  return product;
}

nn::Match<IntegerProduct>
frit::cuda::describePair(ArrayRef<Operation *> operators) {
  SmallVector<nn::QuantizedConvOp> convs = findConvs(operators);
  llvm::DenseSet<Operation *> inside(operators.begin(), operators.end());
  if (convs.size() != 2)
    return nn::Mismatch("it is not two products of bytes");
  if (nn::multipliesFloats(convs[0]) || nn::multipliesFloats(convs[1]) ||
      convs[0].getY().getType() != convs[1].getY().getType() ||
      elementType(convs[0].getX()) != elementType(convs[1].getX()) ||
      elementType(convs[0].getW()) != elementType(convs[1].getW()))
    return nn::Mismatch("its two products have other types or results");
  int64_t sums = nn::tensorType(convs[0].getY()).getNumElements();
  for (Operation *op : operators)
    for (Value operand : op->getOperands())
      if (isa<nn::QuantizedConvOp>(op)
              ? inside.contains(operand.getDefiningOp())
              : !inside.contains(operand.getDefiningOp()) &&
                    nn::tensorType(operand).getNumElements() == sums)
        return nn::Mismatch("its two products read or add other tensors");
  for (unsigned i : {0, 1}) {
    Value codes = codesOf(convs[i]);
    if (!codes || !inside.contains(codes.getDefiningOp()) ||
        llvm::any_of(codes.getUsers(),
                     [&](Operation *user) { return !inside.contains(user); }))
      continue;
    auto product = describeProduct(convs[1 - i]);
    auto first = describeProduct(convs[i]);
    if (!product || !first)
      return product ? first : product;
    return joinFirst(*product, convs[i], codes);
  }
  return nn::Mismatch("neither of its two products becomes bytes alone");
}

nn::Match<IntegerProduct>
frit::cuda::describeChain(ArrayRef<Operation *> operators) {
  SmallVector<nn::QuantizedConvOp> convs = findConvs(operators);
  if (convs.size() != 2)
    return nn::Mismatch("it is not two products of bytes");
  nn::QuantizedConvOp first = convs.front(), last = convs.back();
  Value codes = codesOf(first);
  if (!codes || last.getX() != codes ||
      llvm::any_of(codes.getUsers(), [&](Operation *op) { return op != last; }))
    return nn::Mismatch("its second product is not the only reader of what the "
                        "first one becomes");
  if (nn::multipliesFloats(first) || nn::multipliesFloats(last))
    return nn::Mismatch("its two products are of floats");
  auto product = describeProduct(last);
  auto before = describeProduct(first);
  if (!product || !before)
    return product ? before : product;
  product->isChain = true;
  return joinFirst(*product, first, codes);
}

IntegerProduct frit::cuda::describeFirst(const IntegerProduct &product) {
  IntegerProduct first = *describeProduct(product.first);
  first.isCentered = product.isCentered;
  return first;
}

/// Returns the only one of these operands if it has bytes. Boxes of wider
/// elements are more than shared memory has room for.
static std::optional<unsigned> findBoxed(ArrayRef<BlockArgument> addends) {
  if (addends.size() != 1 ||
      nn::tensorType(addends.front()).getElementTypeBitWidth() != 8)
    return std::nullopt;
  return addends.front().getArgNumber();
}

bool frit::cuda::favorsBoxes(const IntegerProduct &product,
                             const GpuArch &arch) {
  if (product.isChain)
    return true;
  if (product.first && describeFirst(product).depth() > kBoxedDepth)
    return false;
  return product.depth() <= kBoxedDepth &&
         product.pixels() * product.k >= kBoxedSums * arch.sms;
}

nn::Match<IntegerProduct> frit::cuda::describeProduct(nn::FusionOp fusion) {
  SmallVector<Operation *> operators =
      llvm::map_to_vector(fusion.getBody().front().without_terminator(),
                          [](Operation &op) { return &op; });
  auto convs = llvm::filter_to_vector(
      operators, [](Operation *op) { return isa<nn::QuantizedConvOp>(op); });
  if (convs.empty())
    return nn::Mismatch("it has no product of bytes");
  bool isChain =
      convs.size() == 2 &&
      !isa<BlockArgument>(cast<nn::QuantizedConvOp>(convs.back()).getX());
  for (Operation *each : convs)
    for (OpOperand &operand : each->getOpOperands())
      if (!isa<BlockArgument>(operand.get()) &&
          !(isChain && each == convs.back() && operand.getOperandNumber() == 0))
        return nn::Mismatch("an operand of the product is computed in the "
                            "fusion");
  nn::Match<IntegerProduct> product =
      isChain ? describeChain(operators)
      : convs.size() == 1
          ? describeProduct(cast<nn::QuantizedConvOp>(convs.front()))
          : describePair(operators);
  if (!product)
    return product;
  nn::QuantizedConvOp conv = product->op;
  for (Value result : fusion.getResults())
    if (nn::tensorType(result).getNumElements() !=
        nn::tensorType(conv.getY()).getNumElements())
      return nn::Mismatch("a result has not one element for each sum");
  product->endInstructions = countEnd(fusion, conv);
  SmallVector<BlockArgument> addends = findAddends(fusion, conv);
  product->boxed = findBoxed(addends);
  for (BlockArgument addend : addends)
    product->addedBytes +=
        llvm::divideCeil(nn::tensorType(addend).getElementTypeBitWidth(), 8);
  if (fusion.getNumResults() == 1) {
    Type result = elementType(fusion.getResult(0));
    unsigned bits = result.getIntOrFloatBitWidth();
    product->storesBoxes = bits == 8 || bits == 16;
  }
  // Kernels of a plan have no operands; the plan marks those that are 0.
  auto marked = fusion->getAttrOfType<DenseI64ArrayAttr>("plan.zero_inputs");
  auto isZero = [&](Value zero) {
    int64_t number = cast<BlockArgument>(zero).getArgNumber();
    return (marked && llvm::is_contained(marked.asArrayRef(), number)) ||
           (number < int64_t(fusion.getInputs().size()) &&
            nn::isZeroInteger(fusion.getInputs()[number]));
  };
  product->isCentered =
      product->hasFloats() || llvm::all_of(convs, [&](Operation *each) {
        auto one = cast<nn::QuantizedConvOp>(each);
        return isZero(one.getXZero()) && isZero(one.getWZero());
      });
  return product;
}
