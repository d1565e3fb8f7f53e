//===- Outputs.h - What fritc writes --------------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_OUTPUTS_H
#define FRIT_COMPILER_DRIVER_OUTPUTS_H

#include "compiler/driver/OutputFile.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace frit {

/// Why `path` was not written: a StatusError, of usage where it must not be
/// written, of the machine where it cannot; success without an `error`.
llvm::Error outputError(llvm::StringRef path, std::error_code error);
/// As above, for an llvm::Error that holds an error code.
llvm::Error outputError(llvm::StringRef path, llvm::Error error);

/// Begins to write `path`, as OutputFile::create does.
llvm::Expected<OutputFile> createOutput(llvm::StringRef path,
                                        mode_t mode = 0666);

/// Writes text to `path`, or to standard output for "-".
llvm::Error writeText(llvm::StringRef path, llvm::StringRef text);

/// The command that links `object` into the shared library `output`. An error
/// of the machine, with the way out, where it has no linker.
llvm::Expected<llvm::SmallVector<std::string>>
linkCommand(llvm::StringRef object, llvm::StringRef output);

/// Runs a command whose first word is a path.
llvm::Error run(llvm::ArrayRef<std::string> command);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OUTPUTS_H
