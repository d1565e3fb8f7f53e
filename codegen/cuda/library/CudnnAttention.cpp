//===- CudnnAttention.cpp - Attention by cuDNN ----------------------------===//

#include "codegen/cuda/attention/AttentionTile.h"
#include "codegen/cuda/contraction/Wgmma.h"
#include "codegen/cuda/library/LibraryCall.h"
#include "codegen/cuda/library/Operand.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

LogicalResult
CudnnAttentionAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                           int64_t algorithm, Attribute fallback) {
  return verifyCall(emitError, algorithm, fallback);
}

LogicalResult
CudnnAttentionAttr::buildStep(ImplicitLocOpBuilder &b, nn::Problem &problem,
                              const plan::CallBuffers &buffers) const {
  const auto &info = problem.attention();
  if (!info)
    return plan::reportMisfit(problem.fusion(), info.mismatch());
  nn::AttentionOp op = info->op;
  auto integer = [&](int64_t v) { return b.getI64IntegerAttr(v); };
  auto place = [&](const nn::AttentionOperand &operand) {
    return operandAttr(b, operand, buffers.inputs.size());
  };
  plan::AttentionOp::create(
      b, buffers.fallback, buffers.inputs, buffers.outputs,
      plan::createWorkspace(b, buffers.workspaceBytes), integer(info->batch),
      integer(info->heads), integer(info->groups), integer(info->queries),
      integer(info->keys), integer(info->size), integer(info->valueSize),
      op.getScaleAttr(), op.getCausalAttr(), place(info->q), place(info->k),
      place(info->v), info->mask ? place(*info->mask) : plan::OperandAttr(),
      place(info->result), /*dy=*/nullptr, /*stats=*/nullptr, /*dq=*/nullptr,
      /*dk=*/nullptr, /*dv=*/nullptr,
      plan::algorithmAttr(b, libraryAlgorithm()));
  return success();
}

/// Returns why cuDNN certainly has no kernel for the problem. Whether it has
/// one, only cuDNN knows, at run time.
static nn::Legality checkAttention(Problem &problem) {
  auto info = describeKernelAttention(problem);
  if (!info)
    return info.mismatch();
  if (info->statsIndex)
    return nn::Mismatch("it has statistics as a result");
  nn::AttentionOp op = info->op;
  // Its softmax of scores that are all -inf is NaN.
  bool adds = !info->mask ||
              (op.getUnguarded() &&
               isa<FloatType>(nn::tensorType(op.getMask()).getElementType()) &&
               llvm::all_of(info->mask->strides,
                            [](int64_t stride) { return stride >= 0; }));
  if (!isHalf(nn::tensorType(op.getQ()).getElementType()) || !adds ||
      !haveMaps(*info))
    return nn::Mismatch("cuDNN has no such types, masks or strides");
  return std::nullopt;
}

namespace {
class CudnnAttention : public LibraryCallOf<CudnnAttentionAttr> {
  /// Offers an alternative: only timing shows whether cuDNN has a kernel and
  /// how fast it is.
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() == Problem::Kind::attention && machine.cudnn &&
        !offers.schedules.empty() && !checkAttention(problem))
      offers.addAlternative(CudnnAttentionAttr::get(
          problem.context(), /*algorithm=*/0, offers.schedules.front()));
    return std::nullopt;
  }
  nn::Legality checkCall(Problem &problem) const override {
    return checkAttention(problem);
  }
};
} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<CudnnAttentionAttr>() {
  return std::make_unique<CudnnAttention>();
}
