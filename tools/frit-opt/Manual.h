//===- Manual.h - The manual page and completion of frit-opt --------------===//

#ifndef FRIT_TOOLS_FRIT_OPT_MANUAL_H
#define FRIT_TOOLS_FRIT_OPT_MANUAL_H

#include "compiler/support/Help.h"

namespace frit {

/// Returns the contents of the manual page. Passes must be registered.
HelpTable optManual();

} // namespace frit

#endif // FRIT_TOOLS_FRIT_OPT_MANUAL_H
