//===- Contraction.h - Choice of a contraction's kernel -------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H
#define FRIT_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H

#include "codegen/cuda/target/Skeleton.h"

namespace frit::cuda {

/// Return why WGMMA does not compute a matrix product, or a convolution that is
/// a product of all pixels and all filters; and why not any other convolution.
nn::Legality checkWgmmaGemm(Problem &problem, const Machine &machine);
nn::Legality checkWgmmaConv(Problem &problem, const Machine &machine);
inline bool usesWgmmaGemm(Problem &problem, const Machine &machine) {
  return !checkWgmmaGemm(problem, machine);
}
inline bool usesWgmmaConv(Problem &problem, const Machine &machine) {
  return !checkWgmmaConv(problem, machine);
}

/// Returns why the kernels without WGMMA do not compute an epilogue: they have
/// one product and one result.
nn::Legality checkPlainEpilogue(const nn::Epilogue &epilogue);

/// Returns whether conv.cuh multiplies the groups of a convolution by tensor
/// cores, with tiles that are full enough.
bool hasFastGroups(const nn::ConvInfo &conv);

/// Returns whether tensor cores support the element type.
bool usesTensorCores(nn::ConvOp conv);
/// Returns whether each channel of a convolution has a filter of its own.
bool isDepthwise(nn::ConvOp conv);

/// Returns the default tile of #cuda.gemm or #cuda.conv.
nn::Match<nn::Schedule> chooseTiles(Problem &problem, const Machine &machine);

/// Returns a fusion of two products and what combines them, or null.
const nn::GemmInfo *pairOf(Problem &problem);

/// Returns the product that a contraction's tiles cover. For a convolution it
/// is that of pixels and filters, with a batch for each group.
nn::Match<nn::GemmInfo> productOf(Problem &problem);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H
