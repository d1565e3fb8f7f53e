//===- FusionReshapes.h - Move reshapes that prevent fusion ---------------===//

#ifndef FRIT_COMPILER_TRANSFORM_FUSION_FUSIONRESHAPES_H
#define FRIT_COMPILER_TRANSFORM_FUSION_FUSIONRESHAPES_H

#include "dialects/nn/Target.h"

namespace frit {

/// Moves reshapes between a contraction and an epilogue that the target can
/// fuse (elementwise operators or moments) after the epilogue:
///
///   add(reshape(matmul), r)  ==>  reshape(add(matmul, reshape(r)))
void sinkReshapes(mlir::Block &block, const nn::Target &target);

/// Moves views before elementwise functions of one input, and before slices, so
/// that readers can compute those on the fly:
///
///   reshape(cast(%arg))  ==>  cast(reshape(%arg))
void raiseViews(mlir::Block &block);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_FUSION_FUSIONRESHAPES_H
