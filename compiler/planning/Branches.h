//===- Branches.h - Parallel branches of steps and their time -------------===//

#ifndef FRIT_COMPILER_PLANNING_BRANCHES_H
#define FRIT_COMPILER_PLANNING_BRANCHES_H

#include "dialects/nn/Target.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace frit::planning {

/// A step of a region, and the earlier steps of the region that it depends on.
struct Job {
  nn::StepCost cost;
  llvm::SmallVector<size_t, 4> after;
  /// Whether it leaves room to other jobs, but not to another of its kind.
  bool isBeside = false;
};

/// A partial order of a region's jobs. `follows` lists the direct predecessors
/// of each job, ascending. A job without any follows the step before the
/// region.
struct Branches {
  std::vector<llvm::SmallVector<size_t, 4>> follows;
  double microseconds = 0; ///< until all jobs have ended
};

/// Assigns every job to one of at most `most` branches: the one on which it
/// starts first, after the jobs already there. Those that leave room to others
/// share a branch, one of the `most`.
Branches branchOut(llvm::ArrayRef<Job> jobs, unsigned most,
                   const nn::BranchCosts &costs);

/// Returns the time of the jobs one after another.
double chainMicroseconds(llvm::ArrayRef<Job> jobs);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_BRANCHES_H
