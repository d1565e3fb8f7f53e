//===- FusionRepeats.cpp - Few elements that readers compute anew ---------===//
//
//   %s = nn.slice %m : ... -> tensor<2x1x64xf16>
//   %1 = nn.add %s, 1.0 : tensor<2x1x64xf16>
//   %y = nn.mul %x, %1 : tensor<2x256x64xf16>
// ==>
//   %s = nn.slice %m : ... -> tensor<2x1x64xf16>
//   %e = nn.expand %s : tensor<2x256x64xf16>
//   %1 = nn.add %e, 1.0 : tensor<2x256x64xf16>
//   %y = nn.mul %x, %1 : tensor<2x256x64xf16>
//
// A kernel of a few thousand elements takes as long as its launch and one way
// to memory and back. Slices and broadcasts are indices in the reader's kernel,
// where an addition for every element that is read costs less. Networks that
// depend on a time or a class have two such for each norm: 1 + scale.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/fusion/FusionRepeats.h"

#include "compiler/transform/Graph.h"
#include "dialects/nn/KernelSize.h"
#include "dialects/nn/NN.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Elements that are computed anew, and operators that compute one.
static constexpr int64_t kMostElements = 1 << 16;
static constexpr unsigned kMostRepeated = 4;

/// Returns whether `value` is computed from slices by few cheap operators,
/// which are counted in `operators`.
static bool isCheap(Value value, unsigned &operators) {
  bool slices = false;
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<ElementwiseOp>(op) || op->getNumResults() != 1 ||
      countInstructions(op) > 1 || ++operators > kMostRepeated)
    return false;
  for (Value operand : op->getOperands()) {
    if (splatOf(operand))
      continue;
    if (!throughReshapes(operand).getDefiningOp<SliceOp>() &&
        !isCheap(operand, operators))
      return false;
    slices = true;
  }
  return slices;
}

/// Computes a cheap value for every element of `shape` before the reader.
static Value repeat(OpBuilder &builder, Value value, ArrayRef<int64_t> shape) {
  if (splatOf(value))
    return value;
  Operation *op = value.getDefiningOp();
  if (!isa<ElementwiseOp>(op))
    return ExpandOp::create(builder, value.getLoc(), value, shape);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(repeat(builder, operand, shape));
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  Value result = clone->getResult(0);
  result.setType(tensorType(value).clone(shape));
  return result;
}

void frit::repeatFew(Block &block) {
  for (Operation &reader : llvm::make_early_inc_range(block)) {
    if (!isa<ElementwiseOp>(reader) || reader.getNumResults() != 1)
      continue;
    ArrayRef<int64_t> shape = resultType(&reader).getShape();
    for (OpOperand &use : reader.getOpOperands()) {
      auto type = dyn_cast<RankedTensorType>(use.get().getType());
      unsigned operators = 0;
      // A reader that repeats no element joins its producer's kernel anyway.
      if (!type || !type.hasStaticShape() ||
          ShapedType::isDynamicShape(shape) ||
          type.getNumElements() > kMostElements ||
          type.getNumElements() == ShapedType::getNumElements(shape) ||
          !isCheap(use.get(), operators))
        continue;
      OpBuilder builder(&reader);
      use.set(repeat(builder, use.get(), shape));
    }
  }
}
