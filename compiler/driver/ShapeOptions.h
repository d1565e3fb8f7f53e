//===- ShapeOptions.h - -fshape -------------------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_SHAPEOPTIONS_H
#define FRIT_COMPILER_DRIVER_SHAPEOPTIONS_H

#include "compiler/driver/Options.h"

namespace frit {

/// Reads the sizes of a symbol, `batch=8`, `batch=1..64` or `batch=1,8,64`, or
/// an input's shape, `input:1x3` or `1x3` of the only input, in which a size
/// may be several too. False where it is none of these.
bool parseShape(llvm::StringRef spec, DriverOptions &options);

/// How many variants the options ask for.
int64_t countVariants(const DriverOptions &options);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_SHAPEOPTIONS_H
