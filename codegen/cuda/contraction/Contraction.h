//===- Contraction.h - Which kernel multiplies ----------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H
#define FRIT_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H

#include "codegen/cuda/target/Skeleton.h"

namespace frit::cuda {

/// Whether a matrix product, or a convolution that is one of all pixels by all
/// filters, runs by WGMMA; and whether another convolution does.
bool usesWgmmaGemm(Problem &problem, const Machine &machine);
bool usesWgmmaConv(Problem &problem, const Machine &machine);

/// Whether conv.cuh multiplies the groups of a convolution by tensor cores and
/// fills enough of its tiles.
bool hasFastGroups(const nn::ConvInfo &conv);

/// Whether tensor cores multiply such elements.
bool usesTensorCores(nn::ConvOp conv);
/// Whether each channel of a convolution has a filter of its own.
bool isDepthwise(nn::ConvOp conv);

/// The default tile of #cuda.gemm or #cuda.conv.
nn::Match<nn::Schedule> chooseTiles(Problem &problem, const Machine &machine);

/// The product that a contraction is for its tiles: a convolution's pixels by
/// its filters, a batch for each group.
nn::Match<nn::GemmInfo> productOf(Problem &problem);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H
