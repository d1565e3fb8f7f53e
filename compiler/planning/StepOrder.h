//===- StepOrder.h - Which steps have ended when another starts -----------===//

#ifndef FRIT_COMPILER_PLANNING_STEPORDER_H
#define FRIT_COMPILER_PLANNING_STEPORDER_H

#include "compiler/planning/Placement.h"
#include "dialects/plan/Plan.h"

#include "llvm/ADT/BitVector.h"

namespace frit::planning {

/// The steps of a list, and in which order a runtime runs them that does at one
/// time whatever it may.
class StepOrder {
public:
  explicit StepOrder(plan::CommandListOp list);

  /// Of the `count` steps from `first` on, which stand in the list itself,
  /// where all before them precede them, and they all behind.
  StepOrder(plan::CommandListOp list, size_t first, size_t count);

  llvm::ArrayRef<mlir::Operation *> steps() const { return all; }

  /// Whether every step follows all before it.
  bool isChain() const { return before.empty(); }

  /// Whether step `a` has ended when step `b` starts.
  bool precedes(size_t a, size_t b) const {
    return a < b && (isChain() || a < first || b >= first + before.size() ||
                     before[b - first][a - first]);
  }

private:
  /// Works out `before` of so many from `first` on.
  void order(size_t count);

  llvm::SmallVector<mlir::Operation *> all;
  size_t first = 0; ///< of those that are ordered
  /// For each ordered step, the steps that have ended before it; empty where
  /// every step follows all earlier ones.
  std::vector<llvm::BitVector> before;
};

/// The buffers of an arena and the steps that use each.
class ArenaUses {
public:
  explicit ArenaUses(llvm::ArrayRef<mlir::Operation *> steps);

  llvm::SmallVector<plan::BufferOp> buffers() const;

  /// When each is live, and beside which others.
  llvm::SmallVector<Interval> intervals(const StepOrder &order) const;

  /// The most bytes of buffers that may be live while one of the `count` steps
  /// from `first` on runs.
  uint64_t peakBetween(const StepOrder &order, size_t first,
                       size_t count) const;

  /// Bytes of buffers no two of which can share memory: the most that are found
  /// among those that may be live while one step runs.
  uint64_t lowerBound(const StepOrder &order) const;

private:
  struct Buffer {
    plan::BufferOp op;
    uint64_t bytes; ///< as it is placed
    llvm::SmallVector<size_t, 4> steps;
  };

  /// Those that may be live while a step runs.
  llvm::SmallVector<const Buffer *> liveAt(const StepOrder &order,
                                           llvm::ArrayRef<const Buffer *> of,
                                           size_t step) const;
  /// Whether `b` may be where `a` has been.
  static bool mayFollow(const StepOrder &order, const Buffer &a,
                        const Buffer &b);

  std::vector<Buffer> all;
};

/// Of each of `steps`, the earlier ones that it has to follow, nearest last:
/// they write what it reads or writes, or read what it writes.
std::vector<llvm::SmallVector<size_t>>
dependences(llvm::ArrayRef<mlir::Operation *> steps);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_STEPORDER_H
