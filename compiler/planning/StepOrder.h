//===- StepOrder.h - Order and dependences of steps -----------------------===//

#ifndef FRIT_COMPILER_PLANNING_STEPORDER_H
#define FRIT_COMPILER_PLANNING_STEPORDER_H

#include "compiler/planning/Placement.h"
#include "dialects/plan/Plan.h"

#include "llvm/ADT/BitVector.h"

namespace frit::planning {

/// The steps of a list and their partial order: steps without an order between
/// them may run concurrently.
class StepOrder {
public:
  explicit StepOrder(plan::CommandListOp list);

  /// Orders `count` steps from `first` on, which are directly in the list. All
  /// earlier steps precede them, and they precede all later ones.
  StepOrder(plan::CommandListOp list, size_t first, size_t count);

  llvm::ArrayRef<mlir::Operation *> steps() const { return all; }

  /// Returns whether every step follows all earlier ones.
  bool isChain() const { return before.empty(); }

  /// Returns whether step `a` has ended when step `b` starts.
  bool precedes(size_t a, size_t b) const {
    return a < b && (isChain() || a < first || b >= first + before.size() ||
                     before[b - first][a - first]);
  }

private:
  /// Computes `before` for `count` steps from `first` on.
  void order(size_t count);

  llvm::SmallVector<mlir::Operation *> all;
  size_t first = 0; ///< first step that `before` describes
  /// Per step from `first` on, the steps that have ended before it; empty for a
  /// chain.
  std::vector<llvm::BitVector> before;
};

/// The arena buffers of a list, and the steps that use each.
class ArenaUses {
public:
  explicit ArenaUses(llvm::ArrayRef<mlir::Operation *> steps);

  llvm::SmallVector<plan::BufferOp> buffers() const;

  /// Returns the lifetime of each buffer, and the ones concurrent with it.
  llvm::SmallVector<Interval> intervals(const StepOrder &order) const;

  /// Returns the most bytes that may be live during one of the `count` steps
  /// from `first` on.
  uint64_t peakBetween(const StepOrder &order, size_t first,
                       size_t count) const;

  /// Returns a lower bound of the arena: the largest sum found of buffers that
  /// may be live during one step and cannot share memory.
  uint64_t lowerBound(const StepOrder &order) const;

private:
  struct Buffer {
    plan::BufferOp op;
    uint64_t bytes; ///< aligned
    llvm::SmallVector<size_t, 4> steps;
  };

  /// Returns the buffers that may be live during a step.
  llvm::SmallVector<const Buffer *> liveAt(const StepOrder &order,
                                           llvm::ArrayRef<const Buffer *> of,
                                           size_t step) const;
  /// Returns whether `b` may reuse the memory of `a`.
  static bool mayFollow(const StepOrder &order, const Buffer &a,
                        const Buffer &b);

  std::vector<Buffer> all;
};

/// Returns, per step, the earlier steps that it depends on, nearest last: they
/// write what it reads or writes, or read what it writes.
std::vector<llvm::SmallVector<size_t>>
dependences(llvm::ArrayRef<mlir::Operation *> steps);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_STEPORDER_H
