//===- LibraryWindows.cpp - Find and open NVIDIA's DLLs -------------------===//

#include "runtime/cuda/library/Library.h"
#include "runtime/system/System.h"

#include <cstdlib>

using namespace frit::cuda;
namespace os = frit::system;

/// Whether a file can be opened for reading.
static bool exists(const std::string &file) {
  os::FileView view = os::mapFile(file);
  if (view.data)
    os::unmapFile(view.data, view.bytes);
  return view.fault == os::FileView::Fault::none;
}

bool Library::tryOpen(const std::string &file) {
  std::string reason;
  handle = os::openLibrary(file, /*stays=*/true, reason);
  if (handle)
    return true;
  if (file.find_first_of("/\\") != file.npos && exists(file))
    refusals += "; " + file + ": " + reason;
  return false;
}

bool Library::tryFolder(const LibraryName &name, const std::string &folder) {
  for (const char *file : name.files)
    if (file && tryOpen(folder + file))
      return true;
  return false;
}

bool Library::open(const LibraryName &name) {
  if (const char *given = getenv(name.variable)) {
    std::string path(given);
    bool isFile = path.ends_with(".dll");
    return !path.empty() &&
           (isFile ? tryOpen(path) : tryFolder(name, path + "\\"));
  }
  if (tryFolder(name, ""))
    return true;
  if (const char *home = getenv("CUDA_PATH"))
    for (const char *folder : {"\\bin\\", "\\bin\\x64\\"})
      if (tryFolder(name, std::string(home) + folder))
        return true;
  return false;
}

std::string Library::path() const { return handle ? os::pathOf(handle) : ""; }
