//===- ModelName.cpp - The name of a model in C ---------------------------===//

#include "compiler/driver/ModelName.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;

/// Returns whether symbols of a model `name` could clash with the runtime's:
/// the type `frit_image` and the functions frit_...
static bool belongsToRuntime(StringRef name) {
  return name == "frit" || name.starts_with("frit_");
}

bool frit::isModelName(StringRef name) {
  // C++ reserves names with two underscores in a row. A leading or trailing one
  // would form such a pair in "__image", or begin a reserved name.
  return !name.empty() && isAlpha(name.front()) && name.back() != '_' &&
         all_of(name, [](char c) { return isAlnum(c) || c == '_'; }) &&
         !name.contains("__") && !belongsToRuntime(name);
}

std::string frit::modelNameOf(StringRef path) {
  std::string name;
  for (char c : sys::path::stem(path))
    if (isAlnum(c))
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  while (!name.empty() && name.back() == '_')
    name.pop_back();
  if (name.empty())
    return "model";
  return isAlpha(name.front()) && !belongsToRuntime(name) ? name
                                                          : "model_" + name;
}
