//===- MergeTargets.h - Merge the targets of several plans ----------------===//

#ifndef FRIT_COMPILER_PLANNING_MERGETARGETS_H
#define FRIT_COMPILER_PLANNING_MERGETARGETS_H

#include "dialects/plan/Plan.h"

namespace frit::planning {

/// Moves the main lists of `from` to `into`. Both are targets of the same
/// architecture with the same constant and state pools. Equal kernels are
/// shared, as is prepared memory that is computed from the same weights in the
/// same way; the rest of `from`'s prepare list is appended to that of `into`.
/// Prepared memory must have its offsets in both.
void mergeTarget(plan::TargetOp into, plan::TargetOp from);

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_MERGETARGETS_H
