//===- Names.cpp - Find nodes and weights by their names ------------------===//

#include "compiler/transform/Names.h"

#include "mlir/IR/Location.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace frit;

bool frit::matchesAny(ArrayRef<std::string> patterns, StringRef name) {
  return llvm::any_of(patterns, [&](const std::string &pattern) {
    return llvm::cantFail(llvm::GlobPattern::create(pattern)).match(name);
  });
}

/// Returns the parts of a name that a pattern stands for, such as "fc.bias" and
/// "bias" for one that begins with *.
static SmallVector<StringRef> partsOf(StringRef name, bool opensFront,
                                      bool opensBack) {
  SmallVector<size_t> begins = {0}, ends = {name.size()};
  for (auto [i, c] : llvm::enumerate(name))
    if (c == '.' || c == '/' || c == '_') {
      if (opensFront)
        begins.append({i, i + 1});
      if (opensBack)
        ends.append({i, i + 1});
    }
  SmallVector<StringRef> parts;
  for (size_t begin : begins)
    for (size_t end : ends)
      if (begin < end)
        parts.push_back(name.slice(begin, end));
  return parts;
}

/// Returns the name that a pattern without a match may have meant, or "".
static StringRef nearestName(StringRef pattern, ArrayRef<StringRef> names) {
  constexpr size_t kMostNames = 10000;
  StringRef text = pattern.trim('*');
  // Up to a third of the characters may be wrong; beyond that, any is as near.
  unsigned least = (text.size() + 2) / 3 + 1;
  StringRef nearest;
  for (StringRef name : names.take_front(kMostNames))
    for (StringRef part :
         partsOf(name, pattern.starts_with('*'), pattern.ends_with('*'))) {
      unsigned wrong = text.edit_distance(part, /*AllowReplacements=*/true,
                                          /*MaxEditDistance=*/least);
      if (wrong < least && wrong < part.size()) {
        least = wrong;
        nearest = name;
      }
    }
  return nearest;
}

bool frit::checkPatterns(ArrayRef<std::string> patterns,
                         ArrayRef<StringRef> names, StringRef things,
                         StringRef end,
                         llvm::function_ref<InFlightDiagnostic()> emit) {
  for (const std::string &pattern : patterns) {
    if (llvm::any_of(names,
                     [&](StringRef name) { return matchesAny(pattern, name); }))
      continue;
    InFlightDiagnostic message = emit() << "no " << things
                                        << " has a name that matches '"
                                        << pattern << "'";
    StringRef nearest = nearestName(pattern, names);
    if (!nearest.empty())
      message << "; did you mean '" << nearest << "'?";
    else if (!names.empty())
      message << "; the first of " << names.size() << " is '" << names[0]
              << "'";
    message << end;
    return false;
  }
  return true;
}

SmallVector<StringRef> frit::nodeNamesOf(Operation *op) {
  SmallVector<StringRef> names;
  op->getLoc()->walk([&](Location loc) {
    auto named = dyn_cast<NameLoc>(loc);
    if (!named)
      return WalkResult::advance();
    // Readers of models say: node 'fc1' (Gemm, opset 20).
    StringRef text = named.getName().getValue();
    if (text.consume_front("node '"))
      names.push_back(text.take_front(text.rfind("' (")));
    return WalkResult::advance();
  });
  return names;
}
