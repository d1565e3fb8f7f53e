//===- Branches.h - Steps beside each other, and how long they take -------===//

#ifndef FRIT_COMPILER_PLANNING_BRANCHES_H
#define FRIT_COMPILER_PLANNING_BRANCHES_H

#include "dialects/nn/Target.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace frit::planning {

/// A step of a region, and the earlier ones of the region that it has to
/// follow.
struct Job {
  nn::StepCost cost;
  llvm::SmallVector<size_t, 4> after;
};

/// An order of a region's jobs: what each follows, in ascending order and
/// nothing that another of them follows. Those that follow none come behind
/// what is before the region.
struct Branches {
  std::vector<llvm::SmallVector<size_t, 4>> follows;
  double microseconds = 0; ///< until all have ended
};

/// Puts every job on the branch of at most `most` on which it starts first,
/// behind what is there.
Branches branchOut(llvm::ArrayRef<Job> jobs, unsigned most,
                   const nn::BranchCosts &costs);

/// The jobs one after another.
double chainMicroseconds(llvm::ArrayRef<Job> jobs);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_BRANCHES_H
