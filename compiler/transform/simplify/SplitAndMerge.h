//===- SplitAndMerge.h - A reshape in two steps ---------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_SIMPLIFY_SPLITANDMERGE_H
#define FRIT_COMPILER_TRANSFORM_SIMPLIFY_SPLITANDMERGE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace frit {

/// A reshape as a split of dimensions followed by a merge of adjacent ones.
struct SplitAndMerge {
  llvm::SmallVector<int64_t> fine; ///< shape after the split
  /// Dimensions of `fine` that each dimension of the source and of the result
  /// consists of.
  llvm::SmallVector<llvm::SmallVector<int64_t>> from, to;
};

/// Factors a reshape into a split and a merge; nothing if the sizes do not
/// divide. Dimensions of size 1 are left out, except the source's if
/// `keepOnes`.
std::optional<SplitAndMerge> factorReshape(llvm::ArrayRef<int64_t> from,
                                           llvm::ArrayRef<int64_t> to,
                                           bool keepOnes);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_SIMPLIFY_SPLITANDMERGE_H
