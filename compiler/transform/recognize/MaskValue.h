//===- MaskValue.h - Evaluate attention masks -----------------------------===//
//
// Exporters write the mask of causal attention in many ways: as a constant, or
// as operators on counters and triangles. Evaluating its elements recognises
// all of them.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_MASKVALUE_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_MASKVALUE_H

#include "dialects/nn/NN.h"

namespace frit {

/// Scores of at most this count as masked: exp(x - 10000) is 0.
inline constexpr double kMasked = -1e4;

enum class MaskKind { none, causal, other };

/// Returns what an attention's mask hides: nothing (`none`), exactly the keys
/// after a query's own position (`causal`), or anything else, including masks
/// that cannot be evaluated (`other`). Float masks are multiplied by `scale`
/// and hide where the result is at most `kMasked`.
MaskKind kindOfMask(mlir::Value mask, double scale = 1);

/// Returns, for each dimension of a float mask, the smallest n such that every
/// line along it has a finite element at an index of at most n. Returns nothing
/// if the mask cannot be evaluated.
llvm::SmallVector<int64_t> findFinite(mlir::Value mask);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_MASKVALUE_H
