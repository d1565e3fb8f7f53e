//===- PrecisionClasses.cpp - Operators by the precision they need --------===//

#include "compiler/transform/precision/PrecisionClasses.h"

#include "compiler/transform/fusion/FusionGroups.h"
#include "compiler/transform/recognize/QuantizedOperands.h"
#include "dialects/nn/Casts.h"
#include "dialects/nn/operators/Custom.h"
#include "dialects/nn/operators/Quantized.h"
#include "dialects/nn/operators/Statistics.h"
#include "dialects/nn/operators/Suppression.h"
#include "dialects/nn/training/Loss.h"
#include "dialects/nn/training/Random.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns whether an operator computes x · x, or x · x · x from x · x and x. A
/// power with these exponents is computed so.
static bool isPower(Operation *op) {
  auto product = dyn_cast<MulOp>(op);
  if (!product)
    return false;
  auto isSquareOf = [](Value square, Value x) {
    auto factor = square.getDefiningOp<MulOp>();
    return factor && factor.getA() == factor.getB() &&
           beforeCasts(factor.getA()) == beforeCasts(x);
  };
  Value a = product.getA(), b = product.getB();
  return a == b || isSquareOf(a, b) || isSquareOf(b, a);
}

/// Returns whether an operator divides by the scale of a quantization to bytes.
static bool scalesForBytes(Operation *op) {
  if (!isa<DivOp, MulOp>(op) || !op->hasOneUse())
    return false;
  auto round = dyn_cast<RoundOp>(*op->user_begin());
  return round && quantizes(round);
}

bool precision::staysWide(Operation *op) {
  // Rounding a random number may move it across the number that it is compared
  // with.
  if (llvm::any_of(op->getOperands(), [](Value operand) {
        return operand.getDefiningOp<RandomUniformOp>();
      }))
    return true;
  if (auto round = dyn_cast<RoundOp>(op); round && quantizes(round))
    return true;
  if (auto quotient = dyn_cast<DivOp>(op);
      scalesForBytes(op) || (quotient && quantizes(quotient)))
    return true;
  // Small weights are dequantized by now, as are filters of single channels.
  if (computesAngles(op) && filtersBytes(op))
    return true;
  return isPower(op) || multipliesQuantized(op) ||
         isa<ReduceOp, CumSumOp, CumProdOp, ExpOp, LogOp, PowOp, SinhOp, CoshOp,
             SoftplusOp, ReciprocalOp, RsqrtOp, IotaOp, SinOp, CosOp, TanOp,
             AsinOp, AcosOp, AcoshOp, AtanhOp, BitCastOp, SquaredErrorOp,
             BceWithLogitsOp, RandomUniformOp, AllReduceOp, DequantizeOp>(op);
}

bool precision::givesWide(Operation *op) {
  return isa<CrossEntropyOp, BatchMeanOp, BatchVarianceOp, GroupMeanOp,
             GroupVarianceOp>(op);
}

bool precision::isWideOperand(OpOperand &use, Type narrow) {
  if (CustomAttr custom = customOf(use.getOwner()))
    return !custom.takes(use.getOperandNumber(), narrow);
  if (isa<CrossEntropyGradOp>(use.getOwner()))
    return use.getOperandNumber() == 2;
  return isa<LayerNormOp, RmsNormOp, BatchNormOp, BatchVarianceOp, GroupNormOp,
             GroupVarianceOp>(use.getOwner()) &&
         use.getOperandNumber() > 0;
}

bool precision::takesMask(OpOperand &use) {
  auto attention = dyn_cast<AttentionOp>(use.getOwner());
  return attention && use.get() == attention.getMask();
}

bool precision::isWideResult(OpResult result, Type narrow) {
  Operation *op = result.getOwner();
  CustomAttr custom = customOf(op);
  return custom &&
         !custom.takes(op->getNumOperands() + result.getResultNumber(), narrow);
}

/// Returns the number of products that each element of a contraction sums; none
/// for other operators.
static std::optional<int64_t> countProducts(Operation *op) {
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    ArrayRef<int64_t> a = shapeOf(matmul.getA());
    bool transposed = matmul.getTransposeA() && a.size() > 1;
    return a[a.size() - (transposed ? 2 : 1)];
  }
  if (auto conv = dyn_cast<ConvOp>(op))
    return computeProduct(shapeOf(conv.getW()).drop_front());
  return std::nullopt;
}

bool precision::multipliesCoordinates(Operation *op) {
  constexpr int64_t kMostCoordinates = 4;
  return isa<MatmulOp>(op) && *countProducts(op) <= kMostCoordinates;
}

bool precision::takesAngles(Operation *op) {
  return isa<SinOp, CosOp, TanOp>(op);
}

bool precision::computesAngles(Operation *op) {
  constexpr int64_t kMostCoordinates = 32;
  std::optional<int64_t> products = countProducts(op);
  return isa<AvgPoolOp, ReduceMeanOp>(op) ||
         (products && *products <= kMostCoordinates);
}

/// Returns whether a value is rounded to bytes, by a quantization.
static bool isRounded(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto round = dyn_cast<RoundOp>(op))
      return quantizes(round);
    if (!isa<AddOp, MaxOp, MinOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

bool precision::isPosition(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto cast = dyn_cast<CastOp>(op))
    return !isRounded(use.get()) &&
           isa<FloatType>(tensorType(cast.getX()).getElementType()) &&
           cast.getTo().isInteger() && !cast.getTo().isInteger(1);
  if (isa<GatherOp, GatherElementsOp, ScatterElementsOp>(op))
    return use.getOperandNumber() == 1;
  return isa<KeepBitsOp>(op);
}

bool precision::computesPositions(Operation *op) {
  return isa<ElementwiseOp, ReduceOp, CumSumOp>(op) || movesElements(op) ||
         computesAngles(op);
}

bool precision::leadsToLog(Operation *op) {
  return isa<ElementwiseOp, SoftmaxOp>(op) || movesElements(op);
}

bool precision::isReduced(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *reader) {
    return isa<ReshapeOp>(reader) ? isReduced(reader->getResult(0))
                                  : isa<ReduceOp, ReduceMeanOp, LayerNormOp,
                                        RmsNormOp, GroupNormOp>(reader);
  });
}

bool precision::sums(Operation *op) {
  return isa<ReduceOp, ReduceMeanOp, AvgPoolOp, CumSumOp>(op);
}

bool precision::findsElements(Operation *op) {
  return isa<SortPlacesOp, ArgMaxOp, ArgMinOp, MaxPoolPlacesOp>(op);
}

bool precision::selectsElements(Operation *op) {
  if (auto scatter = dyn_cast<ScatterElementsOp>(op))
    return scatter.getReduction() == "max" || scatter.getReduction() == "min";
  return isa<MaxPoolOp>(op);
}

bool precision::movesElements(Operation *op) {
  if (auto scatter = dyn_cast<ScatterElementsOp>(op))
    return scatter.getReduction() == "none";
  return isa<ReshapeOp, GatherElementsOp>(op) || isMovement(op);
}

bool precision::isFactor(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<MulOp>(user) ||
           (movesElements(user) && isFactor(user->getResult(0)));
  });
}

bool precision::preservesPrecision(Operation *op) {
  return isa<ElementwiseOp>(op) || movesElements(op) || selectsElements(op) ||
         multipliesCoordinates(op);
}
