//===- Delta.h - Delta debugging of a list --------------------------------===//

#ifndef FRIT_TOOLS_FRIT_REDUCE_DELTA_H
#define FRIT_TOOLS_FRIT_REDUCE_DELTA_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace frit::reduce {

/// Indices of the elements that are kept, ascending.
using Kept = std::vector<unsigned>;

/// Returns an interesting subset of the `count` elements from which no single
/// element can be removed. The whole set must be interesting. Implements ddmin
/// (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input",
/// IEEE Transactions on Software Engineering 28(2), 2002): tries halves, then
/// quarters and so on, and their complements.
Kept minimize(unsigned count,
              llvm::function_ref<bool(llvm::ArrayRef<unsigned>)> isInteresting);

} // namespace frit::reduce

#endif // FRIT_TOOLS_FRIT_REDUCE_DELTA_H
