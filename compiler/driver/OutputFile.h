//===- OutputFile.h - Files that appear whole or not at all ---------------===//
//
// All tools of frit write files through this. Plain C++, without LLVM.
//
// A file is written under a temporary name in the same folder and renamed at
// the end. Devices, pipes and standard output are written directly. Folders and
// inputs of this program are refused.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_OUTPUTFILE_H
#define FRIT_COMPILER_DRIVER_OUTPUTFILE_H

#include <string>
#include <string_view>
#include <sys/types.h>
#include <system_error>

namespace frit {

/// Reason to refuse an output; a user error.
enum class OutputFault {
  isInput = 1, ///< the program reads it, maybe under another name
  isFolder,
};
std::error_code make_error_code(OutputFault fault);
/// Returns whether `error` is an OutputFault.
bool isOutputFault(std::error_code error);

/// Remembers a file that this program reads, so that no output replaces it
/// under any name; "-" is standard input. Ignores a file that does not exist.
void protectInput(const std::string &path);

/// Returns whether `path` is a stream, not a file: standard output, a device or
/// a pipe. It has no folder for further files.
bool isStreamOutput(const std::string &path);

/// Returns whether two outputs are the same file. Devices and pipes may be
/// named twice.
bool isSameOutput(const std::string &one, const std::string &other);

/// Returns why `path` cannot be written; success if nothing is known to prevent
/// it.
std::error_code checkOutput(const std::string &path);

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

template <>
struct std::is_error_code_enum<frit::OutputFault> : std::true_type {};

#endif // FRIT_COMPILER_DRIVER_OUTPUTFILE_H
