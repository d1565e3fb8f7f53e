//===- FusionViews.h - Movement that becomes strides ----------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_FUSION_FUSIONVIEWS_H
#define FRIT_COMPILER_TRANSFORM_FUSION_FUSIONVIEWS_H

#include "dialects/nn/Target.h"

namespace frit {

/// Clones for every opaque composite the movement that its kernel does by
/// strides, and returns the operators of each such fusion. A transpose or slice
/// with other readers is then not computed for the composite.
llvm::SmallVector<llvm::SmallVector<mlir::Operation *>>
bringViews(mlir::Block &block, const nn::Target &target);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_FUSION_FUSIONVIEWS_H
