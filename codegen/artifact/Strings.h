//===- Strings.h - Serialize what a model does with strings ---------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_STRINGS_H
#define FRIT_CODEGEN_ARTIFACT_STRINGS_H

#include "codegen/artifact/Tables.h"
#include "dialects/plan/Strings.h"

namespace frit::artifact {

/// Adds the string program of the function that was added last, all of whose
/// inputs and outputs have their types by now.
void addStrings(Tables &tables, const plan::Strings &strings);

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_STRINGS_H
