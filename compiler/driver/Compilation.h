//===- Compilation.h - One run of fritc -----------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_COMPILATION_H
#define FRIT_COMPILER_DRIVER_COMPILATION_H

#include "compiler/driver/options/Options.h"

namespace frit {
class TuneDevice;

/// Compiles as `options` say and returns the exit status. Everything that is
/// wrong has been reported on standard error, and nothing is left at the output
/// unless the status is 0. `device` is what -ftune-generate times on.
int compile(const DriverOptions &options, TuneDevice &device);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_COMPILATION_H
