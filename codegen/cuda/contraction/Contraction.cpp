//===- Contraction.cpp - Choice of a contraction's kernel -----------------===//

#include "codegen/cuda/contraction/Contraction.h"

#include "codegen/cuda/contraction/Wgmma.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

static Type resultElement(Problem &problem) {
  return nn::tensorType(problem.fusion().getResult(0)).getElementType();
}

const nn::GemmInfo *frit::cuda::pairOf(Problem &problem) {
  const nn::Match<nn::GemmInfo> &info = problem.preparedGemm();
  return info && info->pairedB ? &*info : nullptr;
}

nn::Legality frit::cuda::checkWgmmaGemm(Problem &problem,
                                        const Machine &machine) {
  if (machine.arch.mma != Mma::wgmma)
    return nn::Mismatch("the target has no WGMMA");
  if (problem.gemm())
    return checkWgmma(*problem.gemm(), resultElement(problem));
  if (const nn::GemmInfo *pair = pairOf(problem))
    return checkWgmmaPair(*pair, machine);
  if (!problem.conv())
    return isa<nn::ConvOp>(problem.fusion().getAnchor())
               ? problem.conv().mismatch()
               : problem.gemm().mismatch();
  auto pointwise = nn::pointwiseGemm(*problem.conv());
  if (!pointwise)
    return nn::Mismatch("it is no product, nor a pointwise convolution");
  return checkWgmma(*pointwise, resultElement(problem));
}

nn::Legality frit::cuda::checkWgmmaConv(Problem &problem,
                                        const Machine &machine) {
  if (machine.arch.mma != Mma::wgmma)
    return nn::Mismatch("the target has no WGMMA");
  if (!problem.conv())
    return problem.conv().mismatch();
  if (nn::pointwiseGemm(*problem.conv()))
    return nn::Mismatch("it is a product: use #cuda.wgmma_gemm");
  return checkWgmma(*problem.conv());
}

nn::Legality frit::cuda::checkPlainEpilogue(const nn::Epilogue &epilogue) {
  if (epilogue.addend)
    return nn::Mismatch("two convolutions in one kernel need WGMMA");
  if (epilogue.isExtended())
    return nn::Mismatch("norms, statistics and second results need WGMMA");
  return std::nullopt;
}

bool frit::cuda::usesTensorCores(nn::ConvOp conv) {
  Type element = nn::tensorType(conv.getX()).getElementType();
  return isHalf(element) || (element.isF32() && conv.getTf32());
}

bool frit::cuda::isDepthwise(nn::ConvOp conv) {
  ArrayRef<int64_t> w = nn::shapeOf(conv.getW());
  int64_t perGroup = conv.getChannelsLast() ? w.back() : w[1];
  return perGroup == 1 && w[0] > 1 && int64_t(conv.getGroup()) == w[0];
}

bool frit::cuda::hasFastGroups(const nn::ConvInfo &conv) {
  constexpr int64_t fewest = 24;
  int64_t channels = conv.c / conv.groups;
  return conv.groups > 1 && conv.channelsLast && channels >= fewest &&
         channels % 8 == 0 && isHalf(nn::tensorType(conv.x).getElementType());
}

nn::Match<nn::GemmInfo> frit::cuda::productOf(Problem &problem) {
  if (problem.gemm())
    return *problem.gemm();
  if (const nn::GemmInfo *pair = pairOf(problem))
    return *pair;
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
