//===- Contraction.h - Which kernel multiplies ----------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H
#define FRIT_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H

#include "codegen/cuda/target/Skeleton.h"

namespace frit::cuda {

/// Whether a matrix product, or a convolution that is one of all pixels by all
/// filters, runs by WGMMA; and whether another convolution does.
bool usesWgmmaGemm(Problem &problem, const Machine &machine);
bool usesWgmmaConv(Problem &problem, const Machine &machine);

/// Whether cuBLASLt or cuDNN compute a contraction and what follows it.
bool libraryTakes(const nn::EpilogueInfo &info, const Machine &machine);
/// Whether cuDNN computes `op`, a gradient of a convolution. No kernel of ours
/// does.
bool libraryTakesGradient(mlir::Operation *op, const Machine &machine);
/// Whether a library, which takes the contraction, comes before #cuda.gemm and
/// #cuda.conv without having been timed.
bool prefersLibrary(Problem &problem);

/// Whether a contraction should be one kernel with what `info` describes.
bool takesEpilogue(mlir::Operation *contraction, const nn::EpilogueInfo &info,
                   const Machine &machine);

/// The default tile of #cuda.gemm or #cuda.conv.
nn::Match<nn::Schedule> chooseTiles(Problem &problem, const Machine &machine);

/// The product that a contraction is for its tiles: a convolution's pixels by
/// its filters, a batch for each group.
nn::Match<nn::GemmInfo> productOf(Problem &problem);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H
