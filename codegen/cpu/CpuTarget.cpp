//===- CpuTarget.cpp - The host as a target -------------------------------===//

#include "codegen/cpu/CpuTarget.h"

#include "dialects/nn/ContractionInfo.h"

using namespace mlir;
using namespace frit;

/// Whether the runtime multiplies elements of this type.
static bool hasKernel(Value operand) {
  Type element = nn::tensorType(operand).getElementType();
  return element.isF32() || element.isF64() || element.isF16() ||
         element.isBF16();
}

bool cpu::CpuTarget::takesEpilogue(ArrayRef<Operation *> fused,
                                   Operation *next) const {
  SmallVector<Operation *> epilogue(fused.drop_front());
  epilogue.push_back(next);
  auto info = nn::describeEpilogue(fused.front(), epilogue);
  return info && !info->addend && info->activation != nn::ActivationKind::other;
}

/// A core caches 1,536 (Skylake) to 4,096 (Zen 3) decoded instructions, which
/// is this many of a loop that is unrolled four times; and the addresses of 64
/// pages, which is one for each tensor. The largest kernels of the models in
/// test/models have 113 instructions by this count, and 11 tensors.
nn::KernelSize cpu::CpuTarget::largestKernel() const {
  return {/*instructions=*/384, /*tensors=*/64};
}

/// A branch costs nothing, but what is guarded is in no kernel with what picks
/// its result: worth it from a few microseconds of a core on.
bool cpu::CpuTarget::guards(const nn::Work &work) const {
  double microseconds = double(work.flops) / 5e4 + double(work.bytes) / 1e4;
  return microseconds > 2;
}

nn::ScheduleAttr cpu::CpuTarget::schedule(nn::FusionOp fusion) const {
  MLIRContext *context = fusion.getContext();
  auto library = [&](nn::Skeleton skeleton) {
    return nn::ScheduleAttr::get(context, skeleton, 1, 1, 1, true);
  };
  auto fits = [](const nn::EpilogueInfo &info) {
    return !info.addend && info.activation != nn::ActivationKind::other;
  };
  auto gemm = nn::describeGemm(fusion);
  if (gemm && fits(*gemm) && hasKernel(gemm->a))
    return library(nn::Skeleton::gemm);
  auto conv = nn::describeConvolution(fusion);
  if (conv && fits(*conv) && hasKernel(conv->x))
    return library(nn::Skeleton::conv);
  return nn::ScheduleAttr::get(context, nn::Skeleton::host, 1, 1, 1, false);
}
