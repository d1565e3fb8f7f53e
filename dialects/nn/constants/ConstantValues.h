//===- ConstantValues.h - Evaluate values that depend on constants --------===//
//
// Evaluates tensors whose elements decide what a pass does, such as masks,
// where folding them would create constants that are too large to keep.
// Movement copies nothing, and dimensions along which a tensor repeats are
// evaluated once: the mask of 2048 positions for a batch of 4 costs no more
// than for a batch of 1.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_CONSTANTS_CONSTANTVALUES_H
#define FRIT_DIALECTS_NN_CONSTANTS_CONSTANTVALUES_H

#include "dialects/nn/constants/ConstantElements.h"

namespace frit::nn {

struct ConstantValue {
  ConstantElements elements;
  /// Whether elements depend on weights, which may be replaced.
  bool readsWeights = false;
};

/// Returns whether `value` depends on constants alone, and on few operators.
bool mayEvaluate(mlir::Value value);

/// Evaluates `value` in time and memory that are bounded. Returns nothing if it
/// depends on anything but constants, on operators that are not known here, or
/// if it has too many elements.
std::optional<ConstantValue> evaluateConstant(mlir::Value value);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_CONSTANTS_CONSTANTVALUES_H
