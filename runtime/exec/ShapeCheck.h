//===- ShapeCheck.h - Check the shapes in an artifact's plan --------------===//

#ifndef FRIT_EXEC_SHAPECHECK_H
#define FRIT_EXEC_SHAPECHECK_H

#include "runtime/exec/PlanView.h"

namespace frit {

/// What is wrong with a plan whose bytes are not what the compiler wrote.
Status damagedPlan(std::string what);

/// Checks the name, shape and size of a tensor of a plan whose tables have been
/// checked. `what` it is, is for the message.
Status checkTensor(const PlanView &plan, const char *what, artifact::Text name,
                   artifact::DType type, artifact::Range dims, uint64_t bytes);

/// Checks the symbols, the variants and their inputs and outputs: all variants
/// have the same, and inputs differ in the symbols' sizes only.
Status checkVariants(const PlanView &plan);

} // namespace frit

#endif // FRIT_EXEC_SHAPECHECK_H
