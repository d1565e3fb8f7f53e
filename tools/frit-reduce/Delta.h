//===- Delta.h - The smallest part that still fails -----------------------===//

#ifndef FRIT_REDUCE_DELTA_H
#define FRIT_REDUCE_DELTA_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace frit::reduce {

/// What is kept of a list: indices, ascending.
using Kept = std::vector<unsigned>;

/// A part of the `count` elements that is interesting and of which no single
/// element can be left out; all of them together must be interesting. This is
/// ddmin of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
/// Input", IEEE Transactions on Software Engineering 28(2), 2002: halves, then
/// quarters and so on are tried alone and left out.
Kept minimize(unsigned count,
              llvm::function_ref<bool(llvm::ArrayRef<unsigned>)> isInteresting);

} // namespace frit::reduce

#endif // FRIT_REDUCE_DELTA_H
