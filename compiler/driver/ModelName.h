//===- ModelName.h - The name of a model in C -----------------------------===//

#ifndef FRIT_COMPILER_DRIVER_MODELNAME_H
#define FRIT_COMPILER_DRIVER_MODELNAME_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace frit {

/// Returns whether `name` may begin the symbols of a model: a C and C++
/// identifier that neither the languages nor frit's runtime reserve.
bool isModelName(llvm::StringRef name);

/// Derives a model's name from a file's: `path` without folder and ending, with
/// "_" for characters that names cannot have; "model" if nothing is left.
std::string modelNameOf(llvm::StringRef path);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_MODELNAME_H
