//===- CudnnConvGradient.cpp - Gradients of convolutions by cuDNN ---------===//

#include "codegen/cuda/contraction/Wgmma.h"
#include "codegen/cuda/library/LibraryCall.h"
#include "dialects/nn/GradientInfo.h"
#include "dialects/plan/Plan.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

LogicalResult CudnnConvGradientAttr::verify(
    llvm::function_ref<InFlightDiagnostic()> emitError, int64_t algorithm) {
  return verifyCall(emitError, algorithm);
}

/// Returns the workspace of a call. The library's fast engines convert operands
/// to their preferred layout and sum parts of the result in it. So it gets as
/// many bytes as the operands, up to eight times the usual workspace.
static int64_t workspaceOf(const plan::CallBuffers &buffers) {
  int64_t bytes = 0, usual = buffers.workspaceBytes;
  for (ValueRange values : {buffers.inputs, buffers.outputs})
    for (Value value : values)
      bytes += plan::byteSize(value.getType());
  return std::clamp(int64_t(llvm::alignTo(bytes, 256)), usual, 8 * usual);
}

LogicalResult
CudnnConvGradientAttr::buildStep(ImplicitLocOpBuilder &b, nn::Problem &problem,
                                 const plan::CallBuffers &buffers) const {
  const auto &gradient = problem.convGradient();
  if (!gradient)
    return plan::reportMisfit(problem.fusion(), gradient.mismatch());
  auto list = [&](ArrayRef<int64_t> v) { return b.getDenseI64ArrayAttr(v); };
  auto unit = [&](bool set) { return set ? b.getUnitAttr() : UnitAttr(); };
  auto pass = gradient->ofWeight ? plan::ConvPass::grad_weight
                                 : plan::ConvPass::grad_input;
  plan::ConvOp::create(
      b, buffers.fallback, buffers.inputs, buffers.outputs,
      plan::createWorkspace(b, workspaceOf(buffers)), list(gradient->strides),
      list(gradient->pads), list(gradient->dilations),
      b.getI64IntegerAttr(gradient->groups), unit(gradient->channelsLast),
      unit(gradient->tf32), /*bias=*/UnitAttr(), /*residual=*/UnitAttr(),
      plan::ActivationAttr::get(b.getContext(), Activation::none),
      plan::ConvPassAttr::get(b.getContext(), pass),
      plan::algorithmAttr(b, libraryAlgorithm()));
  return success();
}

namespace {
class CudnnConvGradient : public LibraryCallOf<CudnnConvGradientAttr> {
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::convGradient)
      return std::nullopt;
    if (nn::Legality why = checkCall(problem))
      return why;
    offers.add(CudnnConvGradientAttr::get(problem.context(), /*algorithm=*/0));
    return std::nullopt;
  }
  nn::Legality checkCall(Problem &problem) const override {
    const auto &info = problem.convGradient();
    return info ? nn::Legality() : nn::Legality(info.mismatch());
  }
  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    if (!isa<nn::ConvGradInputOp, nn::ConvGradWeightOp>(*composite))
      return false;
    auto info = nn::describeConvGradient(composite);
    if (!machine.cudnn || !info)
      return false;
    // cuDNN's engines support symmetric padding only.
    Type element = nn::tensorType(info->a).getElementType();
    return info->hasEqualPads && (isHalf(element) || element.isF32());
  }
};
} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<CudnnConvGradientAttr>() {
  return std::make_unique<CudnnConvGradient>();
}
