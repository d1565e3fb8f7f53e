//===- StepOrder.h - Order and dependences of steps -----------------------===//

#ifndef FRIT_COMPILER_PLANNING_STEPORDER_H
#define FRIT_COMPILER_PLANNING_STEPORDER_H

#include "compiler/planning/Placement.h"
#include "dialects/plan/Plan.h"

#include "llvm/ADT/BitVector.h"

namespace frit::planning {

/// The steps of a list and their partial order: steps without an order between
/// them may run concurrently. What follows a collective without awaiting it is
/// ordered after what the collective follows, too.
class StepOrder {
public:
  explicit StepOrder(plan::CommandListOp list);

  /// Orders steps each of which follows the one before it.
  explicit StepOrder(llvm::ArrayRef<mlir::Operation *> chain) : all(chain) {}

  /// Orders `count` steps of a list from `first` on, which are launches
  /// directly in the list. All earlier steps precede them, and they precede all
  /// later ones. `follows` has what each step of the list follows.
  StepOrder(llvm::ArrayRef<mlir::Operation *> steps,
            llvm::ArrayRef<plan::Follows> follows, size_t first, size_t count);

  llvm::ArrayRef<mlir::Operation *> steps() const { return all; }

  /// Returns whether the steps run one after another, except collectives, which
  /// run beside the steps up to those that await them.
  bool isChain() const { return before.empty(); }

  /// Returns whether step `a` has ended when step `b` starts.
  bool precedes(size_t a, size_t b) const {
    if (isChain())
      return a < b && (b > lastBeside(a) || isa<plan::CollectiveOp>(all[b]));
    return a < b && (a < first || b >= first + before.size() ||
                     before[b - first][a - first]);
  }

  /// Returns the last step of a chain that may start before step `a` has ended:
  /// `a` itself, except if it is a collective.
  size_t lastBeside(size_t a) const {
    return awaited.empty() ? a : awaited[a] - 1;
  }

private:
  /// Computes `before` for `count` steps from `first` on.
  void order(size_t count, llvm::ArrayRef<plan::Follows> follows);
  /// Returns whether the list is a chain. If so, computes `awaited`.
  bool findChain(llvm::ArrayRef<plan::Follows> follows);

  llvm::SmallVector<mlir::Operation *> all;
  size_t first = 0; ///< first step that `before` describes
  /// Per step from `first` on, the steps that have ended before it; empty for a
  /// chain.
  std::vector<llvm::BitVector> before;
  /// In a chain in which steps run beside collectives: the first step that
  /// starts after each step has ended and is no collective, which run one after
  /// another.
  std::vector<size_t> awaited;
};

/// The arena buffers of a list, and the steps that use each.
class ArenaUses {
public:
  explicit ArenaUses(llvm::ArrayRef<mlir::Operation *> steps);

  llvm::SmallVector<plan::BufferOp> buffers() const;

  /// Returns the lifetime of each buffer, and the ones concurrent with it.
  llvm::SmallVector<Interval> intervals(const StepOrder &order) const;

  /// Returns the most bytes that may be live during one of the `count` steps
  /// from `first` on; with `sharing` a lower bound, for steps that are
  /// concurrent with many that follow each other, whose buffers share memory.
  uint64_t peakBetween(const StepOrder &order, size_t first, size_t count,
                       bool sharing) const;

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
  /// Sorts buffers, the largest first.
  static void sortBySize(llvm::SmallVectorImpl<const Buffer *> &buffers);
  /// Returns the sum of buffers of `live`, in that order, of which each may not
  /// share memory with those added before.
  static uint64_t bytesApart(const StepOrder &order,
                             llvm::ArrayRef<const Buffer *> live);
  /// Returns the last step that may start before all users of a buffer have
  /// ended, as far as a chain goes.
  static size_t lastOf(const StepOrder &order, const Buffer &buffer);
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
