//===- MaskValue.h - Masks whose elements the compiler works out ----------===//
//
// Exporters write the mask of causal attention as a constant, or as operators
// on counters and triangles, in many ways. All of them are told by their
// elements.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_MASKVALUE_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_MASKVALUE_H

#include "dialects/nn/NN.h"

namespace frit {

/// Scores this low count for nothing: exp of what is 10000 less is 0.
inline constexpr double kMasked = -1e4;

enum class MaskKind { none, causal, other };

/// What a mask of an attention, of bools or of floats that are added times
/// `scale`, hides: nothing (`none`), all keys behind a query's own position
/// (`causal`), where floats have at most `kMasked`, or something else, or what
/// cannot be worked out.
MaskKind kindOfMask(mlir::Value mask, double scale = 1);

/// Of a mask of floats whose elements can be worked out, for each dimension the
/// least number of elements in which every line along it has a finite one, less
/// one; or nothing.
llvm::SmallVector<int64_t> findFinite(mlir::Value mask);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_MASKVALUE_H
