//===- Problem.cpp - What a fusion computes -------------------------------===//

#include "dialects/nn/Problem.h"

#include "dialects/nn/operators/Custom.h"
#include "dialects/nn/operators/Quantized.h"
#include "dialects/nn/operators/Statistics.h"
#include "dialects/nn/training/Gradient.h"

using namespace mlir;
using namespace frit::nn;

static Problem::Kind kindOf(Operation &op) {
  using Kind = Problem::Kind;
  return TypeSwitch<Operation *, Kind>(&op)
      .Case<CustomOp>([](auto) { return Kind::custom; })
      .Case<AttentionOp>([](auto) { return Kind::attention; })
      .Case<MergeMomentsOp>([](auto) { return Kind::moments; })
      .Case<AttentionGradOp>([](auto) { return Kind::attentionGradient; })
      .Case<SegmentSumOp>([](auto) { return Kind::segmentSum; })
      .Case<ConvGradInputOp, ConvGradWeightOp>(
          [](auto) { return Kind::convGradient; })
      .Case<QuantizedConvOp>([](auto) { return Kind::quantized; })
      .Case<MatmulOp, ConvOp>([](auto) { return Kind::contraction; })
      .Case<DequantizeOp>([](auto) { return Kind::dequantization; })
      .Case<DepthwiseConvOp>([](auto) { return Kind::depthwise; })
      .Case<GroupNormOp>([](auto) { return Kind::groupNorm; })
      .Case<ReduceOp>([](auto) { return Kind::reduction; })
      .Case<TransposeOp>([](auto) { return Kind::transpose; })
      .Default(Kind::elementwise);
}

Problem::Problem(FusionOp fusion) : op(fusion) {
  Block &body = op.getBody().front();
  // Only elementwise kernels and attention store rows at an offset.
  if (llvm::any_of(
          body.getTerminator()->getOperands(),
          [](Value result) { return storedValueOf(result) != result; }) &&
      body.getOps<AttentionOp>().empty())
    return;
  for (Operation &inner : body.without_terminator())
    dominant = std::min(dominant, kindOf(inner));
}

template <class Info>
static const Match<Info> &once(std::optional<Match<Info>> &known,
                               Match<Info> (*describe)(FusionOp), FusionOp op) {
  if (!known)
    known = describe(op);
  return *known;
}

const Match<GemmInfo> &Problem::gemm() {
  return once(gemmInfo, describeGemm, op);
}

const Match<GemmInfo> &Problem::preparedGemm() {
  return once<GemmInfo>(preparedInfo, describePreparedGemm, op);
}

const Match<ConvInfo> &Problem::conv() {
  return once(convInfo, describeConvolution, op);
}

const Match<ConvB2bInfo> &Problem::convB2b() {
  return once<ConvB2bInfo>(convB2bInfo, describeConvB2b, op);
}

const Match<AttentionInfo> &Problem::attention() {
  return once(attentionInfo, describeAttention, op);
}

const Match<ConvGradientInfo> &Problem::convGradient() {
  return once<ConvGradientInfo>(convGradientInfo, describeConvGradient, op);
}

const Match<AttentionGradientInfo> &Problem::attentionGradient() {
  return once(attentionGradientInfo, describeAttentionGradient, op);
}

/// Appends the operands of a contraction's addend and of its stages.
static void appendOperands(SmallVector<Value> &values,
                           const Epilogue &epilogue) {
  if (ConvOp addend = epilogue.addend)
    llvm::append_values(values, addend.getX(), addend.getW());
  for (const EndStage &one : epilogue.byKind())
    llvm::append_range(values, operandsOf(one));
}

SmallVector<Value> Problem::operands() {
  SmallVector<Value> values;
  if (gemm()) {
    values = {gemm()->a, gemm()->b};
    appendOperands(values, gemm()->epilogue);
  } else if (conv()) {
    values = {conv()->x, conv()->w};
    appendOperands(values, conv()->epilogue);
  } else if (convGradient()) {
    values = {convGradient()->a, convGradient()->b};
  } else if (convB2b()) {
    const ConvInfo &first = convB2b()->first, &last = convB2b()->last;
    values = {first.x, first.w};
    appendOperands(values, first.epilogue);
    values.push_back(last.w);
    appendOperands(values, last.epilogue);
  }
  return values;
}
