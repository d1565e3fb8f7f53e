//===- IncludedFiles.h - Files that C or CUDA source includes -------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_INCLUDEDFILES_H
#define FRIT_COMPILER_DRIVER_OPTIONS_INCLUDEDFILES_H

#include "llvm/ADT/StringRef.h"

namespace frit {

/// Protects the files that source text in `folder` includes by name, and those
/// that they include, from being overwritten. Compilers, which also know names
/// that are macros, run only after the first outputs have been written.
void protectIncluded(llvm::StringRef text, llvm::StringRef folder);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_INCLUDEDFILES_H
