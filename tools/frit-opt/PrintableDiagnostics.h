//===- PrintableDiagnostics.h - Escape names in diagnostics ---------------===//

#ifndef FRIT_TOOLS_FRIT_OPT_PRINTABLEDIAGNOSTICS_H
#define FRIT_TOOLS_FRIT_OPT_PRINTABLEDIAGNOSTICS_H

#include "mlir/IR/DialectRegistry.h"

namespace frit {

/// Makes contexts of `registry` escape what is not printable in diagnostics,
/// because names in them come from models.
void escapeDiagnostics(mlir::DialectRegistry &registry);

} // namespace frit

#endif // FRIT_TOOLS_FRIT_OPT_PRINTABLEDIAGNOSTICS_H
