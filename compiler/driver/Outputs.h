//===- Outputs.h - Files that appear whole or not at all ------------------===//

#ifndef FRIT_COMPILER_DRIVER_OUTPUTS_H
#define FRIT_COMPILER_DRIVER_OUTPUTS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace frit {

/// A file being written under another name in the same folder; it takes its
/// own name with `commit`, and vanishes without it. Where its name is that of a
/// device or a pipe, `commit` copies into that.
class PendingFile {
public:
  static llvm::Expected<PendingFile> create(llvm::StringRef finalPath);
  PendingFile(PendingFile &&other);
  PendingFile(const PendingFile &) = delete;
  ~PendingFile();

  llvm::StringRef path() const { return temporary; }
  llvm::Error commit();

private:
  PendingFile() = default;
  std::string finalPath, temporary;
};

/// Writes text to `path`, or to standard output for "-".
llvm::Error writeText(llvm::StringRef path, llvm::StringRef text);

/// The command that links `object` into the shared library `output`. An error,
/// with the way out, where the machine has no linker.
llvm::Expected<llvm::SmallVector<std::string>>
linkCommand(llvm::StringRef object, llvm::StringRef output);

/// Runs a command whose first word is a path.
llvm::Error run(llvm::ArrayRef<std::string> command);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OUTPUTS_H
