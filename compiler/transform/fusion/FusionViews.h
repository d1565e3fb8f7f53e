//===- FusionViews.h - Movement that becomes strides ----------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_FUSION_FUSIONVIEWS_H
#define FRIT_COMPILER_TRANSFORM_FUSION_FUSIONVIEWS_H

#include "dialects/nn/Target.h"

namespace frit {

/// Gives every composite that the target has kept whole its own clones of the
/// movement that its kernel does by strides, and returns the operators that
/// make one fusion with each. A transpose or slice that others read too is not
/// computed for the composite then.
llvm::SmallVector<llvm::SmallVector<mlir::Operation *>>
bringViews(mlir::Block &block, const nn::Target &target);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_FUSION_FUSIONVIEWS_H
