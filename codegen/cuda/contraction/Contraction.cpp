//===- Contraction.cpp - Which kernel multiplies --------------------------===//

#include "codegen/cuda/contraction/Contraction.h"

#include "codegen/cuda/contraction/Wgmma.h"
#include "dialects/nn/GradientInfo.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

static Type resultElement(Problem &problem) {
  return nn::tensorType(problem.fusion().getResult(0)).getElementType();
}

bool frit::cuda::usesWgmmaGemm(Problem &problem, const Machine &machine) {
  if (!machine.arch.hasWgmma)
    return false;
  if (problem.gemm())
    return takesWgmma(*problem.gemm(), resultElement(problem));
  auto pointwise = problem.conv() ? nn::pointwiseGemm(*problem.conv())
                                  : std::optional<nn::GemmInfo>();
  return pointwise && takesWgmma(*pointwise, resultElement(problem));
}

bool frit::cuda::usesWgmmaConv(Problem &problem, const Machine &machine) {
  return machine.arch.hasWgmma && problem.conv() &&
         !nn::pointwiseGemm(*problem.conv()) && takesWgmma(*problem.conv());
}

bool frit::cuda::libraryTakes(const nn::EpilogueInfo &info,
                              const Machine &machine) {
  using Kind = Activation;
  Type type = nn::tensorType(info.product).getElementType();
  if (!isa<FloatType>(type) || info.mixed || info.hasMoments() || info.addend)
    return false;
  bool simple = info.activation == Kind::none || info.activation == Kind::relu;
  if (isa<nn::ConvOp>(info.product.getDefiningOp()))
    return machine.cudnn && simple && !type.isF64();
  // cuBLASLt's GELU is the one with tanh.
  return machine.cublas &&
         (simple || (info.activation == Kind::geluTanh && !type.isF64()));
}

bool frit::cuda::libraryTakesGradient(Operation *op, const Machine &machine) {
  auto info = nn::describeConvGradient(op);
  if (!machine.cudnn || !info)
    return false;
  // cuDNN's engines pad both sides alike.
  Type element = nn::tensorType(info->a).getElementType();
  return info->hasEqualPads && (isHalf(element) || element.isF32());
}

/// Whether conv.cuh multiplies the groups of a convolution by tensor cores and
/// fills enough of its tiles: cuDNN is slow at those (notes/).
static bool hasFastGroups(const nn::ConvInfo &conv) {
  constexpr int64_t fewest = 24;
  int64_t channels = conv.c / conv.groups;
  return conv.groups > 1 && conv.channelsLast && channels >= fewest &&
         channels % 8 == 0 && isHalf(nn::tensorType(conv.x).getElementType());
}

bool frit::cuda::prefersLibrary(Problem &problem) {
  return !problem.conv() || !hasFastGroups(*problem.conv());
}

bool frit::cuda::takesEpilogue(Operation *contraction,
                               const nn::EpilogueInfo &info,
                               const Machine &machine) {
  if (libraryTakes(info, machine))
    return true;
  // What no library has joins where our own kernel is as fast.
  bool isConv = isa<nn::ConvOp>(contraction);
  if (!(isConv ? machine.cudnn : machine.cublas) && !info.hasMoments() &&
      !info.addend)
    return true;
  if (auto conv = dyn_cast<nn::ConvOp>(contraction)) {
    auto shape = nn::describeConv(conv);
    if (!shape)
      return false;
    if (hasFastGroups(*shape))
      return !info.addend;
    static_cast<nn::EpilogueInfo &>(*shape) = info;
    return machine.arch.hasWgmma && takesWgmma(*shape);
  }
  if (!machine.arch.hasWgmma)
    return false;
  auto shape = nn::describeMatmul(cast<nn::MatmulOp>(contraction));
  if (!shape)
    return false;
  static_cast<nn::EpilogueInfo &>(*shape) = info;
  return takesWgmma(*shape, nn::tensorType(info.result).getElementType());
}

nn::Match<nn::GemmInfo> frit::cuda::productOf(Problem &problem) {
  if (problem.gemm())
    return *problem.gemm();
  if (!problem.conv())
    return problem.conv().mismatch();
  const nn::ConvInfo &conv = *problem.conv();
  if (auto pointwise = nn::pointwiseGemm(conv))
    return *pointwise;
  nn::GemmInfo product = impliedGemm(conv);
  if (conv.groups > 1) {
    product.batch = conv.groups;
    product.n = conv.k / conv.groups;
    product.k = conv.r * conv.s * conv.c / conv.groups;
  }
  return product;
}
