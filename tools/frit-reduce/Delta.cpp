//===- Delta.cpp - Delta debugging of a list ------------------------------===//

#include "tools/frit-reduce/Delta.h"

#include <algorithm>
#include <numeric>

using namespace frit::reduce;
using llvm::ArrayRef;

/// Returns part `i` of `parts` nearly equal ones.
static ArrayRef<unsigned> chunk(ArrayRef<unsigned> all, size_t i,
                                size_t parts) {
  size_t begin = all.size() * i / parts, end = all.size() * (i + 1) / parts;
  return all.slice(begin, end - begin);
}

static Kept without(ArrayRef<unsigned> all, ArrayRef<unsigned> part) {
  Kept rest(all.begin(), part.begin());
  rest.insert(rest.end(), part.end(), all.end());
  return rest;
}

Kept frit::reduce::minimize(
    unsigned count,
    llvm::function_ref<bool(ArrayRef<unsigned>)> isInteresting) {
  Kept kept(count);
  std::iota(kept.begin(), kept.end(), 0);
  size_t parts = 2;
  while (kept.size() >= 2) {
    Kept smaller;
    size_t next = 0;
    for (size_t i = 0; i < parts && smaller.empty(); ++i) {
      ArrayRef<unsigned> part = chunk(kept, i, parts);
      if (isInteresting(part))
        smaller = part.vec(), next = 2;
    }
    // With two parts, removing one is the same as keeping the other.
    for (size_t i = 0; parts > 2 && i < parts && smaller.empty(); ++i) {
      Kept rest = without(kept, chunk(kept, i, parts));
      if (isInteresting(rest))
        smaller = std::move(rest), next = std::max<size_t>(parts - 1, 2);
    }
    if (!smaller.empty()) {
      kept = std::move(smaller);
      parts = std::min(next, kept.size());
    } else if (parts < kept.size()) {
      parts = std::min(2 * parts, kept.size());
    } else {
      break;
    }
  }
  if (kept.size() == 1 && isInteresting({}))
    kept.clear();
  return kept;
}
