//===- MovedEntries.h - Entries of caches in another order ----------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_MOVEDENTRIES_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_MOVEDENTRIES_H

#include "compiler/transform/recognize/MaskValue.h"

namespace frit {

/// An order of a cache's entries: key i is entry i - (context - length). Keys
/// before entry 0 are free, and no query attends to them.
struct MovedEntries {
  mlir::Value length;  ///< tokens before the call; i32 of batch
  int64_t context = 0; ///< entries of a cache
  int64_t keys = 0;    ///< the context and the tokens of the call

  bool operator==(const MovedEntries &other) const {
    return length == other.length && context == other.context &&
           keys == other.keys;
  }
};

/// A cache and the order in which a value has its entries.
struct MovedCache {
  mlir::Value cache;
  MovedEntries order;
};

/// Returns the cache whose entries along a dimension `value` has in such an
/// order; nothing if it is no reordered cache.
std::optional<MovedCache> findMovedCache(mlir::Value value, int64_t axis);

/// Returns the keys that each query sees of those that are not free, if `mask`
/// hides the free ones and one range of the others. All queries see their own.
std::optional<MaskRanges> findMovedRanges(mlir::Value mask,
                                          const MovedEntries &order);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_MOVEDENTRIES_H
