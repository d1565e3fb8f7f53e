//===- IncludedFiles.cpp - Files that C or CUDA source includes -----------===//

#include "compiler/driver/options/IncludedFiles.h"

#include "compiler/support/OutputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <vector>

using namespace llvm;

/// Returns the name behind an #include of a line; empty if it has none.
static StringRef includedBy(StringRef line) {
  line = line.ltrim();
  if (!line.consume_front("#"))
    return "";
  line = line.ltrim();
  if (!line.consume_front("include"))
    return "";
  line = line.ltrim();
  return line.consume_front("\"")  ? line.split('"').first
         : line.consume_front("<") ? line.split('>').first
                                   : "";
}

/// Finds a file by its name in one of `folders`. Returns its path without
/// links, or "" if it is none of the user's.
static std::string find(StringRef name, ArrayRef<std::string> folders) {
  for (const std::string &folder : folders) {
    SmallString<128> path(sys::path::is_absolute(name) ? "" : folder), real;
    sys::path::append(path, name);
    if (sys::fs::is_regular_file(path) && !sys::fs::real_path(path, real))
      return real.str().str();
  }
  return "";
}

void frit::protectIncluded(StringRef text, StringRef folder) {
  StringSet<> seen;
  std::vector<std::string> found;
  auto read = [&](StringRef source, StringRef here) {
    for (StringRef line : split(source, '\n'))
      if (StringRef name = includedBy(line); !name.empty())
        if (std::string path = find(name, {here.str(), folder.str()});
            !path.empty() && seen.insert(path).second)
          found.push_back(path);
  };
  read(text, folder);
  while (!found.empty()) {
    std::string path = std::move(found.back());
    found.pop_back();
    protectInput(path);
    if (auto file = MemoryBuffer::getFile(path))
      read((*file)->getBuffer(), sys::path::parent_path(path));
  }
}
