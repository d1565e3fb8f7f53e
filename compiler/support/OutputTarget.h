//===- OutputTarget.h - Where a path leads --------------------------------===//

#ifndef FRIT_COMPILER_SUPPORT_OUTPUTTARGET_H
#define FRIT_COMPILER_SUPPORT_OUTPUTTARGET_H

#include <optional>
#include <string>
#include <sys/types.h>
#include <system_error>

namespace frit {

/// Identifies a file or a folder, whatever its name is.
struct FileIdentity {
  dev_t device;
  ino_t number;

  bool operator==(const FileIdentity &) const = default;
};

/// A file, which need not exist yet. Links, bind mounts and open descriptors
/// lead to the same place as the name itself.
struct FilePlace {
  std::optional<FileIdentity> file;   ///< if it is a regular file that exists
  std::optional<FileIdentity> folder; ///< that has it; none for a stream
  std::string name;                   ///< in the folder

  bool isSame(const FilePlace &other) const;
};

/// The file, device, pipe or descriptor that a path leads to.
struct OutputTarget {
  std::string path;      ///< behind all links; "-" is a standard stream
  bool isStream = false; ///< it is written directly: it is no file of a folder
  bool isFolder = false;
  bool exists = false;
  FilePlace place;
};

/// Returns the error of the last system call.
std::error_code lastError();

/// Returns the folder and the name of a path.
std::string folderOf(const std::string &path);
std::string nameOf(const std::string &path);

/// Returns the identity of a file or folder, if it exists.
std::optional<FileIdentity> identityOf(const std::string &path);

/// Follows `path`, where "-" is the descriptor `standard`.
std::error_code locate(const std::string &path, int standard,
                       OutputTarget &target);

} // namespace frit

#endif // FRIT_COMPILER_SUPPORT_OUTPUTTARGET_H
