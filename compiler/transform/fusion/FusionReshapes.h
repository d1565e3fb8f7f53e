//===- FusionReshapes.h - Reshapes out of the way of fusion ---------------===//

#ifndef FRIT_COMPILER_TRANSFORM_FUSION_FUSIONRESHAPES_H
#define FRIT_COMPILER_TRANSFORM_FUSION_FUSIONRESHAPES_H

#include "dialects/nn/Target.h"

namespace frit {

/// Moves reshapes between a contraction and what the target takes into its
/// epilogue, elementwise operators or moments, behind the latter:
///
///   add(reshape(matmul), r)  ==>  reshape(add(matmul, reshape(r)))
void sinkReshapes(mlir::Block &block, const nn::Target &target);

/// Moves views of what is computed from an input alone, and of slices, before
/// it, so that what reads them can compute it on the fly:
///
///   reshape(cast(%arg))  ==>  cast(reshape(%arg))
void raiseViews(mlir::Block &block);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_FUSION_FUSIONRESHAPES_H
