//===- ModelName.h - What a model is called in C --------------------------===//

#ifndef FRIT_COMPILER_DRIVER_MODELNAME_H
#define FRIT_COMPILER_DRIVER_MODELNAME_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace frit {

/// Whether `name` may begin the symbols of a model: a C and C++ identifier that
/// is reserved neither for the compiler nor for frit's runtime.
bool isModelName(llvm::StringRef name);

/// The model name nearest to a file's: `path` without its folder and ending,
/// other characters as "_". "model" where nothing is left, as of "-".
std::string modelNameOf(llvm::StringRef path);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_MODELNAME_H
