//===- Problem.cpp - A fusion as skeletons see it -------------------------===//

#include "codegen/cuda/target/Problem.h"

#include "dialects/nn/Gradient.h"
#include "dialects/nn/StridedView.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

static Problem::Kind kindOf(Operation &op) {
  using Kind = Problem::Kind;
  return TypeSwitch<Operation *, Kind>(&op)
      .Case<nn::AttentionOp>([](auto) { return Kind::attention; })
      .Case<nn::MergeMomentsOp>([](auto) { return Kind::moments; })
      .Case<nn::AttentionGradOp>([](auto) { return Kind::attentionGradient; })
      .Case<nn::ConvGradInputOp, nn::ConvGradWeightOp>(
          [](auto) { return Kind::convGradient; })
      .Case<nn::MatmulOp, nn::ConvOp>([](auto) { return Kind::contraction; })
      .Case<nn::DepthwiseConvOp>([](auto) { return Kind::depthwise; })
      .Case<nn::ReduceOp>([](auto) { return Kind::reduction; })
      .Case<nn::TransposeOp>([](auto) { return Kind::transpose; })
      .Default(Kind::elementwise);
}

Problem::Problem(nn::FusionOp fusion) : op(fusion) {
  for (Operation &inner : op.getBody().front().without_terminator())
    kind_ = std::min(kind_, kindOf(inner));
}

const LinalgFusion &Problem::lowered() {
  if (!linalg)
    linalg.emplace(op);
  return *linalg;
}

const nn::Match<nn::GemmInfo> &Problem::gemm() {
  if (!gemmInfo)
    gemmInfo = nn::describeGemm(op);
  return *gemmInfo;
}

const nn::Match<nn::ConvInfo> &Problem::conv() {
  if (!convInfo)
    convInfo = nn::describeConvolution(op);
  return *convInfo;
}

const nn::Match<nn::ConvB2bInfo> &Problem::convB2b() {
  if (!convB2bInfo)
    convB2bInfo = nn::describeConvB2b(op);
  return *convB2bInfo;
}

const nn::Match<nn::AttentionInfo> &Problem::attention() {
  if (!attentionInfo)
    attentionInfo = nn::describeAttention(op);
  return *attentionInfo;
}

const nn::Match<nn::Schedule> &Problem::decideOnce(Decide *decide,
                                                   const Machine &machine) {
  auto found = decisions.find(decide);
  if (found == decisions.end())
    found = decisions.try_emplace(decide, decide(*this, machine)).first;
  return found->second;
}
