//===- FusionOrder.cpp - Dependences through other groups -----------------===//
//
// Two groups cannot join if a third one depends on one and is needed by the
// other. All groups have a place in a topological order (`Group::place`), so
// the search for a third one visits only groups between the two. It runs
// forwards from one and backwards from the other in turn, each time with a
// larger limit, because one direction may meet far fewer groups than the other.
//
// The joined group takes the place of one of the two. Groups between them that
// depend on it move behind it, or those that it needs move before it.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/fusion/FusionGroups.h"

#include <queue>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// First and largest limit of operands or readers that a search looks at. It
/// looks at each once, so the answer is exact for models of up to the largest.
static constexpr size_t kFirstLooks = 1 << 6;
static constexpr size_t kMostLooks = 1 << 16;

/// Distance of two groups in the order, before others move between them.
static constexpr uint64_t kSpacing = uint64_t(1) << 32;

/// A queue of pairs of a number and a group, lowest number first.
using LowestFirst =
    std::priority_queue<std::pair<uint64_t, unsigned>,
                        std::vector<std::pair<uint64_t, unsigned>>,
                        std::greater<>>;

SmallVector<unsigned> FusionGroups::producers(const Group &group) const {
  SmallVector<unsigned> found;
  unsigned self = groupOf[group.members.front()];
  for (unsigned member : group.members)
    for (Value operand : ops[member]->getOperands())
      if (Operation *def = operand.getDefiningOp())
        if (auto it = indices.find(def); it != indices.end())
          if (unsigned id = groupOf[it->second]; id != self)
            found.push_back(id);
  llvm::sort(found);
  found.erase(llvm::unique(found), found.end());
  return found;
}

SmallVector<unsigned> FusionGroups::sorted() const {
  // Kahn's algorithm. Prefers the group whose last operator comes first, which
  // keeps the program's order if possible.
  SmallVector<unsigned> waiting(groups.size()), result;
  SmallVector<SmallVector<unsigned>> readers(groups.size());
  LowestFirst ready;
  for (auto [id, group] : llvm::enumerate(groups)) {
    if (group.members.empty())
      continue;
    SmallVector<unsigned> read = producers(group);
    waiting[id] = read.size();
    for (unsigned producer : read)
      readers[producer].push_back(id);
    if (read.empty())
      ready.push({group.members.back(), id});
  }
  while (!ready.empty()) {
    unsigned id = ready.top().second;
    ready.pop();
    result.push_back(id);
    for (unsigned reader : readers[id])
      if (--waiting[reader] == 0)
        ready.push({groups[reader].members.back(), reader});
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Searching
//===----------------------------------------------------------------------===//

FusionGroups::Path FusionGroups::search(unsigned from, unsigned to,
                                        Between &found, size_t limit) const {
  bool forwards = found.dependents;
  unsigned start = forwards ? from : to, goal = forwards ? to : from;
  uint64_t low = groups[from].place, high = groups[to].place;
  // Groups near the goal come first: if there is a path, it is short then.
  LowestFirst work;
  work.push({0, start});
  llvm::DenseSet<unsigned> seen = {start};
  size_t looks = 0;
  Path path = Path::none;
  auto look = [&](unsigned id, Operation *next) {
    if (++looks > limit) {
      path = Path::unknown;
      return;
    }
    auto it = indices.find(next);
    if (it == indices.end())
      return;
    unsigned other = groupOf[it->second];
    if (other == goal) {
      if (id != start)
        path = Path::exists;
      return;
    }
    uint64_t place = groups[other].place;
    if (place > low && place < high && seen.insert(other).second)
      work.push({forwards ? high - place : place - low, other});
  };
  while (!work.empty()) {
    unsigned id = work.top().second;
    work.pop();
    if (id != start)
      found.groups.push_back(id);
    for (unsigned member : groups[id].members) {
      if (forwards)
        for (Operation *user : ops[member]->getUsers()) {
          look(id, user);
          if (path != Path::none)
            return path;
        }
      else
        for (Value operand : ops[member]->getOperands()) {
          look(id, operand.getDefiningOp());
          if (path != Path::none)
            return path;
        }
    }
  }
  return path;
}

std::optional<FusionGroups::Between>
FusionGroups::findBetween(unsigned from, unsigned to) const {
  for (size_t limit = kFirstLooks; limit <= kMostLooks; limit *= 4)
    for (bool dependents : {false, true}) {
      Between found;
      found.dependents = dependents;
      Path path = search(from, to, found, limit);
      if (path == Path::none)
        return found;
      if (path == Path::exists)
        return std::nullopt;
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Placing
//===----------------------------------------------------------------------===//

void FusionGroups::placeAll(ArrayRef<unsigned> order) {
  byPlace.clear();
  uint64_t place = 0;
  for (unsigned id : order) {
    place += kSpacing;
    groups[id].place = place;
    byPlace[place] = id;
  }
}

void FusionGroups::placeBoth(unsigned from, unsigned to) {
  Between between = *findBetween(from, to);
  SmallVector<unsigned> &moved = between.groups;
  llvm::sort(moved, [&](unsigned a, unsigned b) {
    return groups[a].place < groups[b].place;
  });
  for (unsigned id : moved)
    byPlace.erase(groups[id].place);
  byPlace.erase(groups[between.dependents ? from : to].place);
  if (!between.dependents) {
    groups[to].place = groups[from].place;
    byPlace[groups[to].place] = to;
  }
  if (moved.empty())
    return;
  // The places around the gap behind or before both.
  auto findGap = [&] {
    auto it = byPlace.find(groups[to].place);
    if (!between.dependents)
      return std::pair(it == byPlace.begin() ? 0 : std::prev(it)->first,
                       it->first);
    auto next = std::next(it);
    return std::pair(it->first, next == byPlace.end()
                                    ? it->first + kSpacing * moved.size()
                                    : next->first);
  };
  auto [low, high] = findGap();
  if (high - low <= moved.size()) {
    placeAll(llvm::to_vector(llvm::make_second_range(byPlace)));
    std::tie(low, high) = findGap();
  }
  uint64_t step = (high - low) / (moved.size() + 1);
  for (unsigned id : moved) {
    low += step;
    groups[id].place = low;
    byPlace[low] = id;
  }
}
