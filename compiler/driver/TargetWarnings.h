//===- TargetWarnings.h - What the targets of -march do not do ------------===//

#ifndef FRIT_COMPILER_DRIVER_TARGETWARNINGS_H
#define FRIT_COMPILER_DRIVER_TARGETWARNINGS_H

#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/options/Options.h"

namespace frit {

/// Warns of GPUs whose machines run other host code than the artifact's.
void warnOfHosts(const DriverOptions &options, DiagnosticPrinter &diagnostics);

/// Warns of targets that do not multiply floats of 8 bits, and says what they
/// multiply instead with this -fprecision: for -fquantize=fp8 or amp-fp8.
void warnOfFloats(const DriverOptions &options, llvm::StringRef precision,
                  DiagnosticPrinter &diagnostics);

/// Warns of options that have no effect.
void warnOfUnused(const DriverOptions &options, DiagnosticPrinter &diagnostics);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_TARGETWARNINGS_H
