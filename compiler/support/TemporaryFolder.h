//===- TemporaryFolder.h - A folder for temporary files -------------------===//
//
// Plain C++, without LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_SUPPORT_TEMPORARYFOLDER_H
#define FRIT_COMPILER_SUPPORT_TEMPORARYFOLDER_H

#include <string>
#include <system_error>
#include <vector>

namespace frit {

/// A new folder in $TMPDIR. The folder and the files named in it are removed
/// with this object, or when a signal ends the program.
class TemporaryFolder {
public:
  TemporaryFolder() = default;
  TemporaryFolder(TemporaryFolder &&other);
  TemporaryFolder &operator=(TemporaryFolder &&other);
  ~TemporaryFolder();

  static std::error_code create(TemporaryFolder &folder);

  /// Returns the path of a file in it, which need not exist.
  std::string file(const std::string &name);

private:
  std::string path;
  std::vector<std::string> files;
};

/// Returns $TMPDIR, or /tmp.
std::string temporaryPlace();

} // namespace frit

#endif // FRIT_COMPILER_SUPPORT_TEMPORARYFOLDER_H
