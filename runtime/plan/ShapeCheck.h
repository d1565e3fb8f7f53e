//===- ShapeCheck.h - Check the shapes in an artifact's plan --------------===//

#ifndef FRIT_RUNTIME_PLAN_SHAPECHECK_H
#define FRIT_RUNTIME_PLAN_SHAPECHECK_H

#include "runtime/plan/PlanView.h"

namespace frit {

/// Returns the error for a plan that the compiler cannot have written.
Status damagedPlan(std::string what);

/// Checks a tensor's name, shape and byte size. The plan's tables have been
/// checked before. `what` names the tensor's role in messages.
Status checkTensor(const PlanView &plan, const char *what, artifact::Text name,
                   artifact::DType type, artifact::Range dims, uint64_t bytes);

/// Checks the symbols, the variants and their inputs and outputs: all variants
/// must have the same ones, differing in sizes of symbols only.
Status checkVariants(const PlanView &plan);

} // namespace frit

#endif // FRIT_RUNTIME_PLAN_SHAPECHECK_H
