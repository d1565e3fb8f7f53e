//===- StringCheck.h - Check what a plan does with strings ----------------===//

#ifndef FRIT_RUNTIME_PLAN_STRINGCHECK_H
#define FRIT_RUNTIME_PLAN_STRINGCHECK_H

#include "runtime/plan/PlanView.h"

namespace frit {

/// Checks the vocabulary, and that there is a string program for each function
/// or for none.
Status checkVocabulary(const PlanView &plan);

/// Checks the string steps of the plan's function, whose variants have been
/// checked.
Status checkStrings(const PlanView &plan);

} // namespace frit

#endif // FRIT_RUNTIME_PLAN_STRINGCHECK_H
