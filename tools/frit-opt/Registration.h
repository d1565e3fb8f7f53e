//===- Registration.h - What frit-opt knows -------------------------------===//

#ifndef FRIT_TOOLS_FRIT_OPT_REGISTRATION_H
#define FRIT_TOOLS_FRIT_OPT_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace frit {

/// Registers every dialect and every pass of frit, and the upstream ones that
/// tests of them use.
void registerEverything(mlir::DialectRegistry &registry);

} // namespace frit

#endif // FRIT_TOOLS_FRIT_OPT_REGISTRATION_H
