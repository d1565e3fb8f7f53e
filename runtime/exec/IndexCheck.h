//===- IndexCheck.h - Indices that are out of range -----------------------===//

#ifndef FRIT_RUNTIME_EXEC_INDEXCHECK_H
#define FRIT_RUNTIME_EXEC_INDEXCHECK_H

#include "runtime/plan/PlanView.h"

#include <string>

namespace frit {

/// Fails if an element of `given` that the model takes as an index is out of
/// range. `expected` describes the input, called `name`; `sizes` are those of
/// the call's symbols, or -1 where they are not known. Checks nothing in device
/// memory, or if type or rank are not the model's.
Status checkIndices(const PlanView &plan, const std::string &name,
                    const artifact::Tensor &expected, const frit_tensor &given,
                    std::span<const int64_t> sizes);

/// Returns the fault that a check on the device has found: `count` is negative
/// (see artifact::Tensor).
Status indexFault(const PlanView &plan, const artifact::Tensor &check,
                  int64_t count);

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_INDEXCHECK_H
