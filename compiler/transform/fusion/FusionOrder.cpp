//===- FusionOrder.cpp - Groups that others have to run between -----------===//
//
// Two groups cannot join where a third one depends on the one and is needed by
// the other. Of every group it is known how far behind in the program what it
// depends on may be (`Group::reach`), so that a search looks only at what lies
// between the two.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/fusion/FusionGroups.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Operators that a search looks at, at most: it looks at each once, so that
/// the answer is exact for models of up to as many.
static constexpr size_t kMostLooks = 1 << 14;

bool FusionGroups::dependsIndirectly(unsigned from, unsigned to) const {
  unsigned first = groups[from].members.front();
  llvm::DenseSet<unsigned> seen = {to};
  SmallVector<unsigned> work = {to};
  for (size_t looks = 0; !work.empty();) {
    unsigned reader = work.pop_back_val();
    looks += groups[reader].members.size();
    if (looks > kMostLooks)
      return true;
    for (unsigned id : producers(groups[reader])) {
      if (id == from && reader != to)
        return true;
      // What ends before the first operator of `from` needs none of them.
      if (id != from && groups[id].reach > first && seen.insert(id).second)
        work.push_back(id);
    }
  }
  return false;
}

void FusionGroups::spreadReach(unsigned id) {
  SmallVector<unsigned> work = {id};
  while (!work.empty()) {
    const Group &group = groups[work.pop_back_val()];
    for (unsigned member : group.members)
      for (Operation *user : ops[member]->getUsers()) {
        auto it = indices.find(user);
        if (it == indices.end())
          continue;
        Group &reader = groups[groupOf[it->second]];
        if (reader.reach >= group.reach)
          continue;
        reader.reach = group.reach;
        work.push_back(groupOf[it->second]);
      }
  }
}
