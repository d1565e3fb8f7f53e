//===- CustomOpFile.h - Read a file of --custom-op ------------------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_CUSTOMOPFILE_H
#define FRIT_COMPILER_DRIVER_OPTIONS_CUSTOMOPFILE_H

#include "compiler/import/CustomSpec.h"

#include "llvm/Support/Error.h"

namespace frit {

/// Reads the operator that the file `path` defines, and the functions' files,
/// which lie relative to its folder. Errors name the file and the key. The
/// files count as inputs, which no output replaces.
llvm::Expected<CustomSpec> readCustomOp(const std::string &path);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_CUSTOMOPFILE_H
