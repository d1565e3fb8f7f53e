//===- FusionRepeats.h - Few elements that readers compute anew -----------===//

#ifndef FRIT_COMPILER_TRANSFORM_FUSION_FUSIONREPEATS_H
#define FRIT_COMPILER_TRANSFORM_FUSION_FUSIONREPEATS_H

#include "mlir/IR/Block.h"

namespace frit {

/// Lets elementwise operators compute what is broadcast to them anew, where
/// that is a few additions or products of slices.
void repeatFew(mlir::Block &block);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_FUSION_FUSIONREPEATS_H
