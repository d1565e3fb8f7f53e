//===- TemporaryFolder.h - For what other programs read and write ---------===//
//
// Plain C++, without LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_TEMPORARYFOLDER_H
#define FRIT_COMPILER_DRIVER_TEMPORARYFOLDER_H

#include <string>
#include <system_error>
#include <vector>

namespace frit {

/// A folder of one's own in $TMPDIR. It vanishes with this object, or when a
/// signal ends the program, and so do the files that were named in it.
class TemporaryFolder {
public:
  TemporaryFolder() = default;
  TemporaryFolder(TemporaryFolder &&other);
  TemporaryFolder &operator=(TemporaryFolder &&other);
  ~TemporaryFolder();

  static std::error_code create(TemporaryFolder &folder);

  /// The path of a file in it, which may not exist.
  std::string file(const std::string &name);

private:
  std::string path;
  std::vector<std::string> files;
};

/// $TMPDIR, or /tmp.
std::string temporaryPlace();

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_TEMPORARYFOLDER_H
