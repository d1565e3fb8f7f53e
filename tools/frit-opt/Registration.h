//===- Registration.h - Dialects and passes of frit-opt -------------------===//

#ifndef FRIT_TOOLS_FRIT_OPT_REGISTRATION_H
#define FRIT_TOOLS_FRIT_OPT_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace frit {

/// Registers all dialects and passes of frit, and the upstream ones that its
/// tests use.
void registerEverything(mlir::DialectRegistry &registry);

} // namespace frit

#endif // FRIT_TOOLS_FRIT_OPT_REGISTRATION_H
