//===- Compilation.h - One run of fritc -----------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_COMPILATION_H
#define FRIT_COMPILER_DRIVER_COMPILATION_H

#include "compiler/driver/options/Options.h"

namespace frit {
class SampleRunner;
class TuneDevice;

/// Compiles as `options` say and returns the exit status. Errors have been
/// reported on standard error; unless the status is 0, nothing is left at the
/// output. -ftune-generate times on `device`, and --calibrate runs on `runner`.
int compile(const DriverOptions &options, TuneDevice &device,
            SampleRunner &runner);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_COMPILATION_H
