//===- Library.cpp - Find and open NVIDIA's libraries ---------------------===//

#include "runtime/cuda/Library.h"

#include <cstdlib>
#include <cstring>
#include <glob.h>
#include <unistd.h>
#include <vector>

using namespace frit;
using namespace frit::cuda;

/// Lists glob patterns of Python package folders: of the active virtual
/// environment, of the python3 in PATH, and of the system.
static std::vector<std::string> packageFolders() {
  std::vector<std::string> folders;
  if (const char *environment = getenv("VIRTUAL_ENV"))
    folders.push_back(std::string(environment) + "/lib/python3*/site-packages");
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

bool Library::tryOpen(const std::string &path) {
  // Like the driver, these libraries do not support unloading.
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  return handle != nullptr;
}

bool Library::open(const char *variable,
                   std::initializer_list<const char *> names) {
  if (const char *given = getenv(variable)) {
    // An empty value, or one that does not open, disables the library.
    if (*given && tryOpen(given))
      return true;
    for (const char *name : names)
      if (*given && tryOpen(std::string(given) + "/" + name))
        return true;
    return false;
  }
  for (const char *name : names)
    if (tryOpen(name))
      return true;
  for (const char *name : names)
    if (tryOpen(std::string("/usr/local/cuda/lib64/") + name))
      return true;
  for (const std::string &folder : packageFolders()) {
    for (const char *name : names) {
      glob_t found;
      std::string pattern = folder + "/nvidia/*/lib/" + name;
      bool opened = glob(pattern.c_str(), 0, nullptr, &found) == 0 &&
                    found.gl_pathc && tryOpen(found.gl_pathv[0]);
      globfree(&found);
      if (opened)
        return true;
    }
  }
  return false;
}
