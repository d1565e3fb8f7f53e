//===- CachesInPlace.h - Attend to caches where they lie ------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_CACHESINPLACE_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_CACHESINPLACE_H

#include "mlir/IR/Block.h"

namespace frit {

/// Lets attention read caches in their own order, where the model has them
/// moved to the end of a longer sequence (decoder::bindCaches).
void readCachesInPlace(mlir::Block &block);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_CACHESINPLACE_H
