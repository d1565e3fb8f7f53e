//===- OutputTarget.cpp - Where a path leads ------------------------------===//

#include "compiler/support/OutputTarget.h"

#include <cerrno>
#include <climits>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

using namespace frit;

std::error_code frit::lastError() {
  return std::error_code(errno, std::generic_category());
}

bool FilePlace::isSame(const FilePlace &other) const {
  return (file && file == other.file) ||
         (folder && folder == other.folder && name == other.name);
}

std::string frit::folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string frit::nameOf(const std::string &path) {
  return path.substr(path.rfind('/') + 1);
}

std::optional<FileIdentity> frit::identityOf(const std::string &path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0)
    return std::nullopt;
  return FileIdentity{facts.st_dev, facts.st_ino};
}

/// The type of /proc, which <linux/magic.h> calls PROC_SUPER_MAGIC.
static constexpr long kProc = 0x9fa0;

/// Returns whether a link lies in /proc, as those behind /dev/stdout do, and so
/// stands for an open file.
static bool isOpenFile(const std::string &link) {
  struct statfs facts;
  return statfs(folderOf(link).c_str(), &facts) == 0 && facts.f_type == kProc;
}

/// Follows links, even to a file that does not exist yet.
static std::error_code follow(OutputTarget &target) {
  for (int links = 0;; ++links) {
    struct stat facts;
    if (lstat(target.path.c_str(), &facts) != 0 || !S_ISLNK(facts.st_mode))
      return {};
    if (links == 40)
      return std::error_code(ELOOP, std::generic_category());
    if (isOpenFile(target.path)) {
      target.isStream = true;
      return {};
    }
    char text[PATH_MAX];
    ssize_t length = readlink(target.path.c_str(), text, sizeof text);
    if (length < 0)
      return lastError();
    std::string next(text, size_t(length));
    target.path =
        next.starts_with("/") ? next : folderOf(target.path) + "/" + next;
  }
}

std::error_code frit::locate(const std::string &path, int standard,
                             OutputTarget &target) {
  target = {};
  target.path = path;
  target.isStream = path == "-";
  if (path.empty())
    return std::error_code(ENOENT, std::generic_category());
  if (!target.isStream)
    if (std::error_code error = follow(target))
      return error;
  struct stat facts;
  int failed =
      path == "-" ? fstat(standard, &facts) : stat(target.path.c_str(), &facts);
  if (failed && errno != ENOENT)
    return lastError();
  target.exists = !failed;
  target.isFolder = failed ? path.ends_with("/") : S_ISDIR(facts.st_mode);
  if (target.exists && S_ISREG(facts.st_mode))
    target.place.file = {facts.st_dev, facts.st_ino};
  else
    target.isStream |= target.exists && !target.isFolder;
  if (!target.isStream) {
    target.place.folder = identityOf(folderOf(target.path));
    target.place.name = nameOf(target.path);
  }
  return {};
}
