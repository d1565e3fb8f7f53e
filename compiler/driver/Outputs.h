//===- Outputs.h - Write outputs, run programs ----------------------------===//

#ifndef FRIT_COMPILER_DRIVER_OUTPUTS_H
#define FRIT_COMPILER_DRIVER_OUTPUTS_H

#include "compiler/driver/Status.h"
#include "compiler/support/OutputFile.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace frit {

/// Converts the reason why `path` was not written to a StatusError: a usage
/// error if the output is refused, else an error of the machine. Returns
/// success if there is no `error`.
llvm::Error outputError(llvm::StringRef path, std::error_code error);
/// As above, for an llvm::Error that holds an error code.
llvm::Error outputError(llvm::StringRef path, llvm::Error error);

/// Returns the error of outputs that are refused; success if none is.
llvm::Error refusalError(const OutputRefusal &refusal);

/// Begins to write `path`, as OutputFile::create does.
llvm::Expected<OutputFile> createOutput(llvm::StringRef path,
                                        mode_t mode = 0666);

/// Writes text to `path`, or to standard output for "-".
llvm::Error writeText(llvm::StringRef path, llvm::StringRef text);

/// Flushes standard output. Returns `status`, or kMachine after a message of
/// `tool` if output was lost.
int finishOutput(llvm::StringRef tool, int status);

/// A program and its arguments.
using Command = llvm::SmallVector<std::string>;

/// Runs a command whose first word is a path. A failure has the status `fault`.
llvm::Error run(llvm::ArrayRef<std::string> command,
                ExitStatus fault = kMachine);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OUTPUTS_H
