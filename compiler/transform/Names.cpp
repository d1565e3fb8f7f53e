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
