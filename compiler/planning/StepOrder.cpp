//===- StepOrder.cpp - Order and dependences of steps ---------------------===//

#include "compiler/planning/StepOrder.h"

#include "frit/artifact.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace frit;
using namespace frit::planning;

StepOrder::StepOrder(plan::CommandListOp list) : all(plan::stepsOf(list)) {
  if (llvm::none_of(all, [](Operation *step) {
        return bool(cast<plan::StepOp>(step).getFollowsAttr());
      }))
    return;
  std::vector<plan::Follows> follows = plan::followsOf(all);
  if (!findChain(follows))
    order(all.size(), follows);
}

StepOrder::StepOrder(ArrayRef<Operation *> steps,
                     ArrayRef<plan::Follows> follows, size_t first,
                     size_t count)
    : all(steps), first(first) {
  order(count, follows);
}

bool StepOrder::findChain(ArrayRef<plan::Follows> follows) {
  std::vector<plan::Follows> chain = plan::defaultFollows(all);
  // The last collective, and the first that no step has awaited.
  std::optional<int64_t> lastCollective;
  size_t firstOpen = all.size();
  awaited.assign(all.size(), all.size());
  for (auto [place, step] : llvm::enumerate(all)) {
    // A collective follows the steps before it, so who follows it does, too,
    // unless it is dropped for lack of a group.
    bool drops = isa<plan::AwaitOp>(step);
    const plan::Follows &own = follows[place];
    auto leadsFrom = [&](int64_t other) {
      return llvm::any_of(own, [&](int64_t direct) {
        return direct == other || (direct > other && !drops &&
                                   isa<plan::CollectiveOp>(all[direct]));
      });
    };
    // The step before it that is no collective.
    plan::Follows previous = chain[place];
    while (!previous.empty() && isa<plan::CollectiveOp>(all[previous[0]]))
      previous = chain[previous[0]];
    if (!previous.empty() && !leadsFrom(previous[0]))
      return false;
    if (isa<plan::CollectiveOp>(step)) {
      if (lastCollective && !leadsFrom(*lastCollective) &&
          awaited[*lastCollective] == all.size())
        return false;
      lastCollective = place;
      firstOpen = std::min(firstOpen, place);
      continue;
    }
    awaited[place] = place + 1;
    for (int64_t other : own)
      for (; int64_t(firstOpen) <= other; ++firstOpen)
        if (isa<plan::CollectiveOp>(all[firstOpen]))
          awaited[firstOpen] = place;
    while (firstOpen < all.size() && awaited[firstOpen] < all.size())
      ++firstOpen;
  }
  return true;
}

/// Returns the number of steps in a guard; 0 for other steps.
static size_t stepsIn(Operation *step) {
  return isa<plan::GuardOp>(step) ? plan::stepsOf(step).size() : 0;
}

void StepOrder::order(size_t count, ArrayRef<plan::Follows> follows) {
  awaited.clear();
  llvm::BitVector collectives(count);
  for (size_t place = 0; place < count; ++place) {
    Operation *step = all[first + place];
    collectives[place] = isa<plan::CollectiveOp>(step);
    llvm::BitVector &ended = before.emplace_back(count);
    for (size_t other : follows[first + place]) {
      if (other < first)
        continue;
      llvm::BitVector through = before[other - first];
      // On one rank, an await does not follow collectives.
      if (isa<plan::AwaitOp>(step) && collectives[other - first])
        through &= collectives;
      ended |= through;
      // Together with its steps, if it is a guard that this step is not in.
      size_t inside =
          step->getParentOp() == all[other] ? 0 : stepsIn(all[other]);
      ended.set(other - first, other - first + 1 + inside);
    }
  }
}

//===----------------------------------------------------------------------===//
// The arena
//===----------------------------------------------------------------------===//

ArenaUses::ArenaUses(ArrayRef<Operation *> steps) {
  DenseMap<Operation *, size_t> indexOf;
  for (auto [place, step] : llvm::enumerate(steps)) {
    SmallVector<Value> values = plan::readsOf(step);
    values.append(plan::writesOf(step));
    for (Value value : values) {
      plan::BufferOp root = plan::rootOf(value);
      if (root.getSpace() != plan::Space::arena)
        continue;
      auto [it, isNew] = indexOf.try_emplace(root, all.size());
      if (isNew)
        all.push_back({root,
                       llvm::alignTo(plan::byteSize(root.getBuffer().getType()),
                                     artifact::kAlignment),
                       {}});
      SmallVector<size_t, 4> &places = all[it->second].steps;
      if (places.empty() || places.back() != place)
        places.push_back(place);
    }
  }
}

SmallVector<plan::BufferOp> ArenaUses::buffers() const {
  return llvm::map_to_vector(all, [](const Buffer &entry) { return entry.op; });
}

bool ArenaUses::mayFollow(const StepOrder &order, const Buffer &a,
                          const Buffer &b) {
  if (a.steps.back() >= b.steps.front())
    return false;
  return llvm::all_of(a.steps, [&](size_t before) {
    return llvm::all_of(
        b.steps, [&](size_t after) { return order.precedes(before, after); });
  });
}

size_t ArenaUses::lastOf(const StepOrder &order, const Buffer &buffer) {
  size_t last = buffer.steps.back();
  if (order.isChain())
    for (size_t step : buffer.steps)
      last = std::max(last, order.lastBeside(step));
  return last;
}

SmallVector<Interval> ArenaUses::intervals(const StepOrder &order) const {
  SmallVector<Interval> result;
  for (const Buffer &b : all) {
    Interval &interval = result.emplace_back();
    interval.first = b.steps.front();
    interval.last = lastOf(order, b);
    interval.bytes = b.bytes;
    if (order.isChain())
      continue;
    for (auto [i, a] : llvm::enumerate(all))
      if (a.steps.back() < b.steps.front() && !mayFollow(order, a, b))
        interval.concurrent.push_back(i);
  }
  return result;
}

SmallVector<const ArenaUses::Buffer *>
ArenaUses::liveAt(const StepOrder &order, ArrayRef<const Buffer *> of,
                  size_t step) const {
  SmallVector<const Buffer *> live;
  for (const Buffer *buffer : of)
    if (!order.precedes(step, buffer->steps.front()) &&
        !llvm::all_of(buffer->steps, [&](size_t place) {
          return order.precedes(place, step);
        }))
      live.push_back(buffer);
  return live;
}

uint64_t ArenaUses::peakBetween(const StepOrder &order, size_t first,
                                size_t count, bool sharing) const {
  SmallVector<const Buffer *> near;
  for (const Buffer &buffer : all)
    if (buffer.steps.front() < first + count && buffer.steps.back() >= first)
      near.push_back(&buffer);
  if (sharing)
    sortBySize(near);
  uint64_t peak = 0;
  for (size_t step = first; step < first + count; ++step) {
    SmallVector<const Buffer *> live = liveAt(order, near, step);
    uint64_t bytes = sharing ? bytesApart(order, live) : 0;
    if (!sharing)
      for (const Buffer *buffer : live)
        bytes += buffer->bytes;
    peak = std::max(peak, bytes);
  }
  return peak;
}

void ArenaUses::sortBySize(SmallVectorImpl<const Buffer *> &buffers) {
  llvm::stable_sort(buffers, [](const Buffer *a, const Buffer *b) {
    return a->bytes > b->bytes;
  });
}

uint64_t ArenaUses::bytesApart(const StepOrder &order,
                               ArrayRef<const Buffer *> live) {
  SmallVector<const Buffer *> apart;
  uint64_t bytes = 0;
  for (const Buffer *b : live) {
    if (llvm::any_of(apart, [&](const Buffer *a) {
          return mayFollow(order, *a, *b) || mayFollow(order, *b, *a);
        }))
      continue;
    apart.push_back(b);
    bytes += b->bytes;
  }
  return bytes;
}

uint64_t ArenaUses::lowerBound(const StepOrder &order) const {
  uint64_t bound = 0;
  if (order.isChain()) {
    std::vector<int64_t> change(order.steps().size() + 1);
    for (const Buffer &buffer : all) {
      change[buffer.steps.front()] += buffer.bytes;
      change[lastOf(order, buffer) + 1] -= buffer.bytes;
    }
    int64_t live = 0;
    for (int64_t delta : change)
      bound = std::max<uint64_t>(bound, live += delta);
    return bound;
  }
  SmallVector<const Buffer *> largestFirst =
      llvm::map_to_vector(all, [](const Buffer &entry) { return &entry; });
  sortBySize(largestFirst);
  for (size_t step = 0; step < order.steps().size(); ++step)
    bound =
        std::max(bound, bytesApart(order, liveAt(order, largestFirst, step)));
  return bound;
}

//===----------------------------------------------------------------------===//
// Dependences
//===----------------------------------------------------------------------===//

namespace {
/// Identifies a memory. Several buffers may be the same output, prepared memory
/// or state.
using Memory = std::tuple<unsigned, int64_t, const void *>;

/// Bytes [begin, end) of a memory that a step uses.
struct Access {
  Access(plan::BufferOp root, uint64_t offset, uint64_t bytes);

  bool overlaps(const Access &other) const {
    return begin < other.end && other.begin < end;
  }
  bool covers(const Access &other) const {
    return begin <= other.begin && other.end <= end;
  }

  Memory memory;
  /// The whole memory, except in states and in the arena: there some steps use
  /// a part that others never touch.
  uint64_t begin = 0, end = ~uint64_t(0);
  size_t step = 0;
};

/// Writers and readers of a memory, except those whose bytes a later step has
/// overwritten.
struct Uses {
  SmallVector<Access> writers, readers;
};
} // namespace

Access::Access(plan::BufferOp root, uint64_t offset, uint64_t bytes) {
  auto space = unsigned(root.getSpace());
  switch (root.getSpace()) {
  case plan::Space::arena:
    memory = {space, 0, root.getOperation()};
    begin = offset;
    end = offset + bytes;
    break;
  case plan::Space::input:
  case plan::Space::output:
    memory = {space, int64_t(*root.getIndex()), nullptr};
    break;
  case plan::Space::constant:
  case plan::Space::prepared:
    // Read-only, or in the prepare list, which has no branches.
    memory = {space, 0, nullptr};
    break;
  case plan::Space::state:
    memory = {space, 0, root.getSymbolAttr().getAsOpaquePointer()};
    begin = offset;
    end = offset + bytes;
    break;
  }
}

static SmallVector<Access> accesses(ArrayRef<Value> values, size_t step) {
  return llvm::map_to_vector(values, [&](Value value) {
    uint64_t offset = 0;
    plan::BufferOp root = plan::rootOf(value, &offset);
    Access access(root, offset, plan::byteSize(value.getType()));
    access.step = step;
    return access;
  });
}

std::vector<SmallVector<size_t>>
frit::planning::dependences(ArrayRef<Operation *> steps) {
  std::vector<SmallVector<size_t>> result(steps.size());
  std::map<Memory, Uses> uses;
  for (auto [place, step] : llvm::enumerate(steps)) {
    llvm::SetVector<size_t> found;
    auto collect = [&](const Access &access, ArrayRef<Access> earlier) {
      for (const Access &other : earlier)
        if (access.overlaps(other))
          found.insert(other.step);
    };
    SmallVector<Access> reads = accesses(plan::readsOf(step), place);
    SmallVector<Access> writes = accesses(plan::writesOf(step), place);
    for (const Access &read : reads)
      collect(read, uses[read.memory].writers);
    for (const Access &write : writes) {
      collect(write, uses[write.memory].writers);
      collect(write, uses[write.memory].readers);
    }
    for (const Access &read : reads)
      uses[read.memory].readers.push_back(read);
    for (const Access &write : writes) {
      Uses &memory = uses[write.memory];
      auto isOver = [&](const Access &other) { return write.covers(other); };
      // On one rank a collective overwrites nothing.
      if (!isa<plan::CollectiveOp>(step)) {
        llvm::erase_if(memory.writers, isOver);
        llvm::erase_if(memory.readers, isOver);
      }
      memory.writers.push_back(write);
    }
    result[place] = found.takeVector();
    llvm::sort(result[place]);
  }
  return result;
}
