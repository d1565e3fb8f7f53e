//===- OutputFile.h - Files that appear whole or not at all ---------------===//
//
// All tools of frit write files through this. Plain C++, without LLVM.
//
// A file is written under a temporary name in the same folder and renamed at
// the end. Devices, pipes and standard output are written directly. Folders and
// files that the program owns are refused (see OwnedFiles.h).
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_SUPPORT_OUTPUTFILE_H
#define FRIT_COMPILER_SUPPORT_OUTPUTFILE_H

#include "compiler/support/OwnedFiles.h"

#include <string>
#include <string_view>
#include <sys/types.h>
#include <system_error>

namespace frit {

/// A file that is being written. It is removed unless it is committed.
class OutputFile {
public:
  OutputFile() = default;
  OutputFile(OutputFile &&other);
  OutputFile &operator=(OutputFile &&other);
  ~OutputFile();

  /// Begins to write `path`; "-" is standard output. `mode` is as in open(2).
  static std::error_code create(const std::string &path, OutputFile &file,
                                mode_t mode = 0666);

  /// Returns the name of an empty temporary file to write to until commit().
  const std::string &path() const { return temporary; }

  /// Moves the written file to its final place.
  std::error_code commit();

private:
  void discard();

  std::string target;    ///< without links; "-" is standard output
  std::string temporary; ///< empty once committed
  bool isStream = false; ///< the target is written directly
};

/// Writes a file that consists of `bytes`.
std::error_code writeFile(const std::string &path, std::string_view bytes);

} // namespace frit

#endif // FRIT_COMPILER_SUPPORT_OUTPUTFILE_H
