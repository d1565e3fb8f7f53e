//===- Placement.h - Buffers at fixed offsets in one arena ----------------===//

#ifndef FRIT_COMPILER_PLANNING_PLACEMENT_H
#define FRIT_COMPILER_PLANNING_PLACEMENT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace frit::planning {

/// A buffer that is live from step `first` to step `last`, both included.
struct Interval {
  int64_t first = 0;
  int64_t last = 0;
  uint64_t bytes = 0;
  /// Others that end before this one begins, and may be live at once with it
  /// all the same, since steps run beside each other.
  llvm::SmallVector<size_t, 0> beside;
};

struct Placement {
  llvm::SmallVector<uint64_t> offsets; ///< one per interval
  uint64_t bytes = 0;                  ///< of the arena
  uint64_t lowerBound = 0;             ///< peak of live bytes
};

/// Places intervals so that no two that are live at once overlap; every offset
/// is a multiple of `alignment`. No placement takes less than `bound`, which is
/// sought. Deterministic.
Placement place(llvm::ArrayRef<Interval> intervals, uint64_t alignment,
                uint64_t bound);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_PLACEMENT_H
