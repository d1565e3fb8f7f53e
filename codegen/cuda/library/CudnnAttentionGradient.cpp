//===- CudnnAttentionGradient.cpp - Gradients of attention by cuDNN -------===//

#include "codegen/cuda/attention/AttentionTile.h"
#include "codegen/cuda/contraction/Wgmma.h"
#include "codegen/cuda/library/LibraryCall.h"
#include "codegen/cuda/library/Operand.h"
#include "dialects/nn/GradientInfo.h"
#include "frit/artifact.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

LogicalResult CudnnAttentionGradientAttr::verify(
    llvm::function_ref<InFlightDiagnostic()> emitError, int64_t algorithm) {
  return verifyCall(emitError, algorithm);
}

/// Returns the bytes of the intermediate results; operands have 16 bits. Where
/// heads share keys and values, the library computes dk and dv of each head
/// before it sums them.
static int64_t scratchOf(const nn::AttentionGradientInfo &info) {
  artifact::Attention problem;
  problem.batch = info.batch;
  problem.heads = info.heads;
  problem.queries = info.queries;
  problem.size = info.size;
  int64_t bytes = artifact::AttentionScratch(problem).bytes;
  if (info.groups != info.heads)
    bytes += 2 * info.batch * info.heads * info.keys * info.size * 2;
  return bytes;
}

static nn::Mismatch needsResult() {
  return nn::Mismatch("cuDNN computes the sums of y · dy from y itself");
}

LogicalResult
CudnnAttentionGradientAttr::buildStep(ImplicitLocOpBuilder &b,
                                      nn::Problem &problem,
                                      const plan::CallBuffers &buffers) const {
  const auto &info = problem.attentionGradient();
  if (!info)
    return plan::reportMisfit(problem.fusion(), info.mismatch());
  if (!info->y)
    return plan::reportMisfit(problem.fusion(), needsResult());
  nn::AttentionGradOp op = info->op;
  auto integer = [&](int64_t v) { return b.getI64IntegerAttr(v); };
  auto place = [&](const nn::AttentionOperand &operand) {
    return operandAttr(b, operand, buffers.inputs.size());
  };
  plan::AttentionOp::create(
      b, buffers.fallback, buffers.inputs, buffers.outputs,
      plan::createWorkspace(b, buffers.workspaceBytes + scratchOf(*info)),
      integer(info->batch), integer(info->heads), integer(info->groups),
      integer(info->queries), integer(info->keys), integer(info->size),
      integer(info->size), op.getScaleAttr(), op.getCausalAttr(),
      place(info->q), place(info->k), place(info->v),
      info->mask ? place(*info->mask) : plan::OperandAttr(), place(*info->y),
      place(info->dy), place(info->stats), place(info->dq), place(info->dk),
      place(info->dv), plan::algorithmAttr(b, libraryAlgorithm()));
  return success();
}

namespace {
class CudnnAttentionGradient
    : public LibraryCallOf<CudnnAttentionGradientAttr> {
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::attentionGradient)
      return std::nullopt;
    if (nn::Legality why = checkCall(problem))
      return why;
    offers.add(
        CudnnAttentionGradientAttr::get(problem.context(), /*algorithm=*/0));
    return std::nullopt;
  }
  nn::Legality checkCall(Problem &problem) const override {
    const auto &info = problem.attentionGradient();
    if (!info)
      return info.mismatch();
    if (!info->y)
      return needsResult();
    if (info->sumHeight)
      return nn::Mismatch("cuDNN sums no columns of the gradient");
    return std::nullopt;
  }
  /// Returns whether cuDNN certainly supports the gradient: there is no
  /// fallback at run time. cuDNN's order of additions in the gradient of q is
  /// not deterministic.
  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    constexpr int64_t piece = 8;
    // Its engines for Hopper support larger heads.
    const int64_t mostSize = machine.arch.mma == Mma::wgmma ? 256 : 128;
    auto op = dyn_cast<nn::AttentionGradOp>(*composite);
    if (!op || nn::hasDelta(op) || !haveElements(op->getOperands()) ||
        !takesGradientMask(op))
      return false;
    ArrayRef<int64_t> q = nn::shapeOf(op.getQ());
    return machine.cudnn && !machine.deterministic && q[2] > 1 &&
           isHalf(nn::tensorType(op.getQ()).getElementType()) &&
           q[3] % piece == 0 && q[3] <= mostSize;
  }
  /// Returns whether the view is supported: cuDNN has no broadcast dimensions.
  bool canUseView(nn::CompositeOp composite, Type element,
                  const nn::StridedPlaces &places) const override {
    auto op = dyn_cast<nn::AttentionGradOp>(*composite);
    return op && !nn::hasDelta(op) && takesGradientView(element, places);
  }
};
} // namespace

template <>
std::unique_ptr<Skeleton>
frit::cuda::makeSkeleton<CudnnAttentionGradientAttr>() {
  return std::make_unique<CudnnAttentionGradient>();
}
