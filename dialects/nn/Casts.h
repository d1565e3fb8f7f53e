//===- Casts.h - Values behind casts --------------------------------------===//

#ifndef FRIT_DIALECTS_NN_CASTS_H
#define FRIT_DIALECTS_NN_CASTS_H

#include "dialects/nn/NN.h"

namespace frit::nn {

/// Returns the value that a chain of casts converts, or `value` itself.
inline mlir::Value beforeCasts(mlir::Value value) {
  while (auto cast = value.getDefiningOp<CastOp>())
    value = cast.getX();
  return value;
}

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_CASTS_H
