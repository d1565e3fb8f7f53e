//===- FusionOrder.cpp - Dependences through other groups -----------------===//
//
// Two groups cannot join if a third one depends on one and is needed by the
// other. Every group knows the last program position of its dependences
// (`Group::reach`), so a search only visits groups between the two.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/fusion/FusionGroups.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Maximum operators that a search visits. It visits each once, so the answer
/// is exact for models of up to this many.
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
      // Groups that end before the first operator of `from` do not depend on
      // it.
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
