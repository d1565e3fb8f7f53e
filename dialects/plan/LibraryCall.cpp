//===- LibraryCall.cpp - Steps of matrix products and convolutions --------===//

#include "dialects/plan/LibraryCall.h"

#include "dialects/plan/Plan.h"

using namespace mlir;
using namespace frit;
using namespace frit::plan;

#include "dialects/plan/LibraryCall.cpp.inc"

Value plan::createWorkspace(ImplicitLocOpBuilder &b, int64_t bytes) {
  if (!bytes)
    return nullptr;
  return BufferOp::create(b, MemRefType::get({bytes}, b.getI8Type()),
                          Space::arena, nullptr, nullptr, nullptr);
}

LogicalResult plan::reportMisfit(nn::FusionOp fusion,
                                 const nn::Mismatch &reason) {
  return fusion.emitError("is scheduled for a library, but ")
         << reason.reason();
}

IntegerAttr plan::algorithmAttr(Builder &b, int64_t algorithm) {
  return algorithm ? b.getI64IntegerAttr(algorithm) : IntegerAttr();
}

static UnitAttr unit(Builder &b, bool set) {
  return set ? b.getUnitAttr() : UnitAttr();
}

LogicalResult plan::buildGemm(ImplicitLocOpBuilder &b, nn::Problem &problem,
                              int64_t algorithm, const CallBuffers &buffers) {
  const auto &gemm = problem.gemm();
  if (!gemm)
    return reportMisfit(problem.fusion(), gemm.mismatch());
  auto integer = [&](int64_t v) { return b.getI64IntegerAttr(v); };
  auto list = [&](ArrayRef<int64_t> v) { return b.getDenseI64ArrayAttr(v); };
  GemmOp::create(
      b, buffers.fallback, buffers.inputs, buffers.outputs,
      createWorkspace(b, buffers.workspaceBytes), integer(gemm->m),
      integer(gemm->n), integer(gemm->k), integer(gemm->batch),
      list({gemm->lda, gemm->ldb, gemm->ldd}),
      list({gemm->strideA, gemm->strideB, gemm->strideD}),
      unit(b, gemm->transposeA), unit(b, gemm->transposeB), unit(b, gemm->tf32),
      unit(b, bool(gemm->epilogue.bias())),
      unit(b, bool(gemm->epilogue.residual())),
      ActivationAttr::get(b.getContext(), gemm->epilogue.activation()),
      algorithmAttr(b, algorithm));
  return success();
}

LogicalResult plan::buildConv(ImplicitLocOpBuilder &b, nn::Problem &problem,
                              int64_t algorithm, const CallBuffers &buffers) {
  const auto &conv = problem.conv();
  if (!conv)
    return reportMisfit(problem.fusion(), conv.mismatch());
  auto list = [&](ArrayRef<int64_t> v) { return b.getDenseI64ArrayAttr(v); };
  ConvOp::create(
      b, buffers.fallback, buffers.inputs, buffers.outputs,
      createWorkspace(b, buffers.workspaceBytes),
      list({conv->strideH, conv->strideW}),
      list({conv->padTop, conv->padLeft, conv->padBottom, conv->padRight}),
      list({conv->dilationH, conv->dilationW}),
      b.getI64IntegerAttr(conv->groups), unit(b, conv->channelsLast),
      unit(b, conv->tf32), unit(b, bool(conv->epilogue.bias())),
      unit(b, bool(conv->epilogue.residual())),
      ActivationAttr::get(b.getContext(), conv->epilogue.activation()),
      ConvPassAttr::get(b.getContext(), ConvPass::forward),
      algorithmAttr(b, algorithm), /*quantized=*/nullptr, /*offset=*/nullptr,
      /*scale=*/nullptr, /*y_zero=*/nullptr);
  return success();
}
