//===- Placement.h - Place buffers in an arena ----------------------------===//

#ifndef FRIT_COMPILER_PLANNING_PLACEMENT_H
#define FRIT_COMPILER_PLANNING_PLACEMENT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace frit::planning {

/// A buffer that is live from step `first` to step `last`, inclusive.
struct Interval {
  int64_t first = 0;
  int64_t last = 0;
  uint64_t bytes = 0;
  /// Buffers that end before this one begins in list order, but may be live at
  /// the same time because steps run concurrently.
  llvm::SmallVector<size_t, 0> concurrent;
};

struct Placement {
  llvm::SmallVector<uint64_t> offsets; ///< one per interval
  uint64_t bytes = 0;                  ///< of the arena
  uint64_t lowerBound = 0;             ///< peak of live bytes
};

/// Assigns offsets, multiples of `alignment`, so that intervals that are live
/// at the same time do not overlap. Tries to reach `bound`, below which no
/// placement is possible. Deterministic.
Placement place(llvm::ArrayRef<Interval> intervals, uint64_t alignment,
                uint64_t bound);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_PLACEMENT_H
