//===- TemporaryFolder.cpp - A folder for temporary files -----------------===//

#include "compiler/support/TemporaryFolder.h"

#include "compiler/support/Interrupts.h"

#include <cerrno>
#include <cstdlib>
#include <unistd.h>
#include <utility>

using namespace frit;

std::string frit::temporaryPlace() {
  const char *place = getenv("TMPDIR");
  return place && *place ? place : "/tmp";
}

std::error_code TemporaryFolder::create(TemporaryFolder &folder) {
  TemporaryFolder made;
  std::string path = temporaryPlace() + "/frit.XXXXXX";
  int error = 0;
  auto make = [&](char *pattern) {
    bool isMade = mkdtemp(pattern);
    error = errno;
    return isMade;
  };
  if (!makeTemporary(path, make))
    return std::error_code(error, std::generic_category());
  made.path = std::move(path);
  folder = std::move(made);
  return {};
}

TemporaryFolder::TemporaryFolder(TemporaryFolder &&other) {
  *this = std::move(other);
}

TemporaryFolder &TemporaryFolder::operator=(TemporaryFolder &&other) {
  std::swap(path, other.path);
  std::swap(files, other.files);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  if (path.empty())
    return;
  for (const std::string &file : files) {
    unlink(file.c_str());
    keepTemporary(file);
  }
  rmdir(path.c_str());
  keepTemporary(path);
}

std::string TemporaryFolder::file(const std::string &name) {
  files.push_back(path + "/" + name);
  addTemporary(files.back());
  return files.back();
}
