//===- SideColumnSums.cpp - Sums of columns in kernels of products --------===//
//
//   %y = nn.fusion(%a, %b) { nn.matmul … }            16384 × 3072
//   %p = nn.fusion(nn.reshape %y) { nn.reduce {axes = [1]} }  parts of columns
//   %s = nn.fusion(nn.reshape %p) { nn.reduce {axes = [0]} }
// ==>
//   %y, %p = nn.fusion(%a, %b) { nn.matmul …, nn.column_sums {height = 16} }
//   %s = nn.fusion(%p) { nn.reduce {axes = [0]} }
//
// The gradient of a bias is the column sum of another gradient. If a product,
// or the gradient of attention, computes that gradient, its kernel sums the
// columns of each part as it stores the result, in smaller parts than
// SplitReductions.cpp has chosen.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/fusion/SideKinds.h"
#include "dialects/nn/operators/Statistics.h"
#include "dialects/nn/training/Gradient.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static bool isSumAlong(ReduceOp op, int64_t axis) {
  return op.getKind() == Combiner::sum &&
         op.getAxes() == ArrayRef<int64_t>{axis};
}

/// Returns the columns of a product's result as a matrix. Those of attention's
/// gradient are the elements of all heads of a position.
static int64_t columnsOf(FusionOp product) {
  ArrayRef<int64_t> shape = shapeOf(product.getResult(0));
  if (isa<AttentionGradOp>(product.getAnchor()) && shape.size() == 4)
    return shape[2] * shape[3];
  return shape.back();
}

/// Returns the fusion of a product whose whole result `sums` sums in parts,
/// without computing anything else; else null.
static FusionOp productOfSums(FusionOp sums) {
  Block &body = sums.getBody().front();
  auto reduce = body.getTerminator()->getOperand(0).getDefiningOp<ReduceOp>();
  if (sums.getNumResults() != 1 || body.getNumArguments() != 1 || !reduce ||
      !isSumAlong(reduce, 1) || shapeOf(reduce.getX()).size() != 3)
    return {};
  Value summed = reduce.getX();
  if (auto cast = summed.getDefiningOp<CastOp>())
    summed = cast.getX();
  Value value = throughReshapes(sums.getInputs().front());
  auto product = value.getDefiningOp<FusionOp>();
  if (summed != body.getArgument(0) || !product ||
      product.getNumResults() != 1 ||
      !isa<MatmulOp, AttentionGradOp>(product.getAnchor()) ||
      columnsOf(product) != shapeOf(summed).back())
    return {};
  return product;
}

/// Returns the operands of other fusions that are the parts as a matrix, if
/// nothing else reads the parts and all of these fusions sum them.
static FailureOr<SmallVector<OpOperand *>> readersOfParts(Value parts) {
  SmallVector<OpOperand *> readers;
  for (Operation *user : parts.getUsers()) {
    auto reshape = dyn_cast<ReshapeOp>(user);
    if (!reshape || shapeOf(reshape.getY()).size() != 2 ||
        shapeOf(reshape.getY()).back() != shapeOf(parts).back())
      return failure();
    for (OpOperand &use : reshape.getY().getUses()) {
      auto fusion = dyn_cast<FusionOp>(use.getOwner());
      if (!fusion)
        return failure();
      // All reductions of the fusion must sum these parts.
      Block &body = fusion.getBody().front();
      Value own = body.getArgument(use.getOperandNumber());
      auto isSum = [&](ReduceOp op) {
        return op.getX() == own && isSumAlong(op, 0);
      };
      if (!llvm::all_of(body.getOps<ReduceOp>(), isSum) ||
          !llvm::all_of(own.getUsers(), llvm::IsaPred<ReduceOp>))
        return failure();
      readers.push_back(&use);
    }
  }
  return readers;
}

/// Builds the fusion of `product` that also sums the columns of its result, in
/// parts of `height` rows.
static FusionOp buildSumming(FusionOp product, FusionOp sums, int64_t height) {
  const int64_t columns = columnsOf(product);
  auto sum = [&](NNBuilder &b, Value result, ValueRange) {
    Value rows = result;
    if (columns != shapeOf(result).back()) {
      int64_t count = tensorType(result).getNumElements() / columns;
      rows = ReshapeOp::create(b, result, ArrayRef<int64_t>{count, columns});
    }
    Value parts = ColumnSumsOp::create(b, rows, height).getY();
    return std::pair(result, parts);
  };
  return buildJoined(product, sums, {}, sum);
}

/// Returns the fusion that a kernel computes, or null.
static FusionOp buildTaken(FusionOp product, FusionOp sums,
                           SideKernels kernels) {
  int64_t rows =
      tensorType(product.getResult(0)).getNumElements() / columnsOf(product);
  for (const SideOutputsRewrite *kernel : kernels) {
    if (!kernel->sumHeight || rows % kernel->sumHeight != 0)
      continue;
    FusionOp summing = buildSumming(product, sums, kernel->sumHeight);
    if (takeOrErase(summing, SideKernels(kernel)))
      return summing;
  }
  return {};
}

static void joinToProduct(FusionOp sums, SideKernels kernels) {
  FusionOp product = productOfSums(sums);
  if (!product)
    return;
  auto readers = readersOfParts(sums.getResult(0));
  if (failed(readers))
    return;
  FusionOp summing = buildTaken(product, sums, kernels);
  if (!summing)
    return;
  Value parts = summing.getResult(1);
  for (OpOperand *use : *readers) {
    auto fusion = cast<FusionOp>(use->getOwner());
    fusion.getBody()
        .getArgument(use->getOperandNumber())
        .setType(parts.getType());
    use->set(parts);
  }
  product.getResult(0).replaceAllUsesWith(summing.getResult(0));
  product.erase();
}

void frit::joinColumnSums(Block &block, SideKernels kernels) {
  for (FusionOp sums : llvm::to_vector(block.getOps<FusionOp>()))
    joinToProduct(sums, kernels);
}
