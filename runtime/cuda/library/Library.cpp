//===- Library.cpp - Find and open NVIDIA's libraries ---------------------===//

#include "runtime/cuda/library/Library.h"
#include "runtime/system/System.h"

#include <cstdlib>
#include <cstring>
#include <glob.h>
#include <unistd.h>
#include <vector>

using namespace frit::cuda;
namespace os = frit::system;

/// Returns the folder of the library or program that contains this code, or "".
static std::string ownFolder() {
  std::string file = os::ownFile();
  return file.substr(0, file.find('/') == file.npos ? 0 : file.rfind('/'));
}

/// Lists glob patterns of Python package folders: of the environment that frit
/// is installed in, of the active one, of the python3 in PATH, of the user and
/// of the system.
static std::vector<std::string> packageFolders() {
  std::vector<std::string> folders;
  // In a wheel, this is site-packages/frit/libfrit.so or bin/fritc.
  if (std::string own = ownFolder(); !own.empty()) {
    folders.push_back(own + "/..");
    folders.push_back(own + "/../lib/python3*/site-packages");
  }
  for (const char *variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char *environment = getenv(variable))
      folders.push_back(std::string(environment) +
                        "/lib/python3*/site-packages");
  const char *path = getenv("PATH");
  while (path && *path) {
    size_t length = strcspn(path, ":");
    std::string folder(path, length);
    if (access((folder + "/python3").c_str(), X_OK) == 0)
      folders.push_back(folder + "/../lib/python3*/site-packages");
    path += length + (path[length] == ':');
  }
  if (const char *home = getenv("HOME"))
    folders.push_back(std::string(home) + "/.local/lib/python3*/site-packages");
  folders.push_back("/usr/local/lib/python3*/dist-packages");
  folders.push_back("/usr/lib/python3*/dist-packages");
  return folders;
}

bool Library::tryOpen(const std::string &file) {
  // Like the driver, these libraries do not support unloading.
  std::string reason;
  handle = os::openLibrary(file, /*stays=*/true, reason);
  if (handle)
    return true;
  // A bare name that the loader does not find is not reported as refused.
  bool exists = file.find('/') == file.npos
                    ? !reason.starts_with(file + ": cannot open shared object")
                    : access(file.c_str(), F_OK) == 0;
  if (exists)
    refusals += "; " + (reason.starts_with(file) ? "" : file + ": ") + reason;
  return false;
}

bool Library::tryFolder(const LibraryName &name, const std::string &folder) {
  for (const char *file : name.files)
    if (file && tryOpen(folder + file))
      return true;
  return false;
}

/// Tries the matches of a glob pattern in reverse order: the newest version
/// first.
bool Library::tryPattern(const LibraryName &name, const std::string &folders) {
  for (const char *file : name.files) {
    if (!file)
      break;
    glob_t found;
    bool opened = false;
    if (glob((folders + file).c_str(), 0, nullptr, &found) == 0)
      for (size_t i = found.gl_pathc; i && !opened; --i)
        opened = tryOpen(found.gl_pathv[i - 1]);
    globfree(&found);
    if (opened)
      return true;
  }
  return false;
}

bool Library::open(const LibraryName &name) {
  if (const char *given = getenv(name.variable)) {
    if (!*given)
      return false;
    std::string folder = std::string(given) + "/";
    return access(folder.c_str(), F_OK) == 0 ? tryFolder(name, folder)
                                             : tryOpen(given);
  }
  if (tryFolder(name, ""))
    return true;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *home = getenv(variable))
      if (tryFolder(name, std::string(home) + "/lib64/"))
        return true;
  if (tryFolder(name, "/usr/local/cuda/lib64/") ||
      tryPattern(name, "/usr/local/cuda-*/lib64/"))
    return true;
  for (const std::string &folder : packageFolders())
    if (tryPattern(name, folder + "/nvidia/*/lib/"))
      return true;
  return false;
}

std::string Library::path() const { return handle ? os::pathOf(handle) : ""; }
