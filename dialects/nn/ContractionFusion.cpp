//===- ContractionFusion.cpp - Fusions of one contraction or two ----------===//

#include "dialects/nn/ContractionInfo.h"

using namespace mlir;
using namespace frit::nn;

static llvm::LogicalResult refuse(std::string &reason, const Twine &why) {
  reason = why.str();
  return failure();
}

/// What a fusion computes, without the numbers that it does so with.
static SmallVector<Operation *> operatorsOf(FusionOp fusion) {
  SmallVector<Operation *> operators;
  for (Operation &op : fusion.getBody().front().without_terminator())
    if (!isa<ConstantOp>(op))
      operators.push_back(&op);
  return operators;
}

/// Whether a fusion yields just that, of arguments alone; values may be null.
static llvm::LogicalResult checkEnds(FusionOp fusion, ArrayRef<Value> results,
                                     ArrayRef<Value> operands,
                                     std::string &reason) {
  Block &body = fusion.getBody().front();
  if (!llvm::equal(body.getTerminator()->getOperands(), results))
    return refuse(reason, "it yields more than the end of its chain");
  for (Value operand : operands)
    if (operand && !isa<BlockArgument>(operand))
      return refuse(reason, "an operand is computed in the fusion");
  return success();
}

/// A contraction, the first of `operators`, and what follows it.
template <typename Op, typename Describe>
static auto describePart(ArrayRef<Operation *> operators, Describe describe,
                         std::string &reason) {
  auto info = describe(cast<Op>(operators.front()), reason);
  if (failed(info))
    return info;
  auto epilogue =
      describeEpilogue(operators.front(), operators.drop_front(), reason);
  if (failed(epilogue))
    return decltype(info)(failure());
  static_cast<EpilogueInfo &>(*info) = *epilogue;
  return info;
}

//===----------------------------------------------------------------------===//
// One contraction
//===----------------------------------------------------------------------===//

template <typename Info, typename Op, typename Describe>
static FailureOr<Info> describeFusion(FusionOp fusion, Describe describe,
                                      std::string &reason) {
  SmallVector<Operation *> operators = operatorsOf(fusion);
  if (operators.empty())
    return refuse(reason, "it has no contraction");
  if (!isa<Op>(operators.front()))
    return refuse(reason, operators.front()->getName().getStringRef() +
                              " comes before the contraction");
  FailureOr<Info> info = describePart<Op>(operators, describe, reason);
  if (failed(info))
    return failure();
  SmallVector<Value> results = {info->result};
  if (info->resultMoments)
    results.push_back(info->resultMoments);
  SmallVector<Value> operands(operators.front()->getOperands());
  llvm::append_values(operands, info->bias, info->residual, info->moments,
                      info->column);
  if (info->addend)
    llvm::append_values(operands, info->addend.getX(), info->addend.getW());
  if (failed(checkEnds(fusion, results, operands, reason)))
    return failure();
  return info;
}

FailureOr<GemmInfo> frit::nn::describeGemm(FusionOp fusion,
                                           std::string &reason) {
  return describeFusion<GemmInfo, MatmulOp>(fusion, describeMatmul, reason);
}

FailureOr<ConvInfo> frit::nn::describeConvolution(FusionOp fusion,
                                                  std::string &reason) {
  return describeFusion<ConvInfo, ConvOp>(fusion, describeConv, reason);
}

//===----------------------------------------------------------------------===//
// One after the other
//===----------------------------------------------------------------------===//

FailureOr<ConvB2bInfo>
frit::nn::describeConvB2b(ArrayRef<Operation *> operators,
                          std::string &reason) {
  size_t second = 1;
  while (second < operators.size() && !isa<ConvOp>(operators[second]))
    ++second;
  if (second >= operators.size() || !isa<ConvOp>(operators.front()))
    return refuse(reason, "it is not two convolutions");
  auto first =
      describePart<ConvOp>(operators.take_front(second), describeConv, reason);
  if (failed(first))
    return failure();
  auto last =
      describePart<ConvOp>(operators.drop_front(second), describeConv, reason);
  if (failed(last))
    return failure();
  if (last->x != first->result || !pointwiseGemm(*last))
    return refuse(reason, "the second convolution is not a pointwise one of "
                          "what the first has made");
  return ConvB2bInfo{*first, *last};
}

FailureOr<ConvB2bInfo> frit::nn::describeConvB2b(FusionOp fusion,
                                                 std::string &reason) {
  auto chain = describeConvB2b(operatorsOf(fusion), reason);
  if (failed(chain))
    return failure();
  const ConvInfo &first = chain->first, &last = chain->last;
  if (failed(checkEnds(fusion, {last.result},
                       {first.x, first.w, first.bias, first.residual, last.w,
                        last.bias, last.residual},
                       reason)))
    return failure();
  return chain;
}
