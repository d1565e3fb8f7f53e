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

/// Returns the operands besides those of the product that have an element for
/// each sum.
static SmallVector<BlockArgument> findAddends(nn::FusionOp fusion,
                                              nn::QuantizedConvOp conv) {
  int64_t sums = nn::tensorType(conv.getY()).getNumElements();
  SmallVector<BlockArgument> addends;
  for (BlockArgument argument : fusion.getBody().getArguments())
    if (!llvm::is_contained(conv->getOperands(), argument) &&
        nn::tensorType(argument).getNumElements() == sums)
      addends.push_back(argument);
  return addends;
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
  return product.depth() <= kBoxedDepth &&
         product.pixels() * product.k >= kBoxedSums * arch.sms;
}

nn::Match<IntegerProduct> frit::cuda::describeProduct(nn::FusionOp fusion) {
  nn::QuantizedConvOp conv;
  for (Operation &op : fusion.getBody().front().without_terminator())
    if (auto found = dyn_cast<nn::QuantizedConvOp>(op)) {
      if (conv)
        return nn::Mismatch("it has two products");
      conv = found;
    }
  if (!conv)
    return nn::Mismatch("it has no product of bytes");
  for (Value operand : conv->getOperands())
    if (!isa<BlockArgument>(operand))
      return nn::Mismatch("an operand of the product is computed in the "
                          "fusion");
  for (Value result : fusion.getResults())
    if (nn::tensorType(result).getNumElements() !=
        nn::tensorType(conv.getY()).getNumElements())
      return nn::Mismatch("a result has not one element for each sum");
  auto product = describeProduct(conv);
  if (!product)
    return product;
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
  product->isCentered = product->hasFloats() ||
                        (isZero(conv.getXZero()) && isZero(conv.getWZero()));
  return product;
}
