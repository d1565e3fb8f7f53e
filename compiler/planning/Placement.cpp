//===- Placement.cpp - Buffers at fixed offsets in one arena --------------===//
//
// Dynamic storage allocation is NP-hard; greedy placement in a good order is
// near the bound on what networks look like. Several orders are tried, each
// with first fit and best fit. Where all of them stay above the bound, the best
// order is improved by local search, as in Maas et al., "TelaMalloc" (ASPLOS
// 2023): a buffer that sticks out of the bound is placed earlier. What is
// minimised is not the arena alone but what sticks out in all, because a
// network of equal layers stays as large until the last of them is right; and
// moves that change nothing are taken too, because most of the landscape is
// flat.
//
// What that costs grows with the number of pairs of buffers that are live
// together. Where there are very many, buffers are placed once, as an allocator
// would that is asked for them step by step.
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/Placement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace frit::planning;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// What the search may cost, in looks at a neighbour: about a second. Counted,
/// not timed, so that builds are reproducible.
constexpr uint64_t kSearchBudget = 100'000'000;

/// Pairs of buffers that are live together, from which on they are placed one
/// after another: some 30 MB, and a second for all orders.
constexpr uint64_t kMostPairs = 4'000'000;

/// How much worse, in mean sizes of a buffer, a move may be at first.
constexpr double kFirstTemperature = 1;

/// Intervals with bytes rounded up, and which of them are live together.
class Placer {
public:
  Placer(ArrayRef<Interval> intervals, uint64_t alignment)
      : intervals(intervals) {
    for (const Interval &i : intervals)
      bytes.push_back(llvm::alignTo(i.bytes, alignment));
    overlaps.resize(intervals.size());
    SmallVector<size_t> byStart = identityOrder();
    llvm::stable_sort(byStart, [&](size_t a, size_t b) {
      return intervals[a].first < intervals[b].first;
    });
    SmallVector<size_t> live;
    for (size_t i : byStart) {
      llvm::erase_if(live, [&](size_t j) {
        return intervals[j].last < intervals[i].first;
      });
      for (size_t j : live) {
        overlaps[i].push_back(j);
        overlaps[j].push_back(i);
      }
      live.push_back(i);
      for (size_t j : intervals[i].beside) {
        overlaps[i].push_back(j);
        overlaps[j].push_back(i);
      }
    }
  }

  SmallVector<size_t> identityOrder() const {
    return llvm::to_vector(llvm::seq<size_t>(0, intervals.size()));
  }

  /// Orders worth trying: by size, by size times lifetime, by lifetime, by
  /// first use.
  SmallVector<SmallVector<size_t>> orders() const {
    auto sorted = [&](auto key) {
      SmallVector<size_t> order = identityOrder();
      llvm::stable_sort(order,
                        [&](size_t a, size_t b) { return key(a) > key(b); });
      return order;
    };
    auto life = [&](size_t i) {
      return intervals[i].last - intervals[i].first + 1;
    };
    return {sorted([&](size_t i) { return bytes[i]; }),
            sorted([&](size_t i) { return bytes[i] * life(i); }),
            sorted([&](size_t i) { return life(i); }),
            sorted([&](size_t i) { return -intervals[i].first; })};
  }

  /// Places in `order` into the lowest gap that fits, or the tightest.
  Placement run(ArrayRef<size_t> order, bool bestFit) const {
    Placement result;
    result.offsets.assign(intervals.size(), 0);
    SmallVector<bool> placed(intervals.size(), false);
    SmallVector<std::pair<uint64_t, uint64_t>> taken;
    for (size_t i : order) {
      taken.clear();
      for (size_t j : overlaps[i])
        if (placed[j])
          taken.push_back({result.offsets[j], result.offsets[j] + bytes[j]});
      llvm::sort(taken);
      uint64_t end = 0, offset = ~0ull, tightest = ~0ull;
      for (auto [from, to] : taken) {
        if (from >= end + bytes[i] && from - end < tightest) {
          offset = end;
          tightest = from - end;
          if (!bestFit)
            break;
        }
        end = std::max(end, to);
      }
      if (offset == ~0ull)
        offset = end;
      result.offsets[i] = offset;
      result.bytes = std::max(result.bytes, offset + bytes[i]);
      placed[i] = true;
    }
    return result;
  }

  uint64_t end(const Placement &p, size_t i) const {
    return p.offsets[i] + bytes[i];
  }

  /// Bytes by which buffers stick out of `bound`, over all buffers.
  uint64_t excess(const Placement &p, uint64_t bound) const {
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes.size(); ++i)
      sum += std::max(end(p, i), bound) - bound;
    return sum;
  }

  double meanBytes() const {
    return double(std::accumulate(bytes.begin(), bytes.end(), uint64_t(0))) /
           bytes.size();
  }

  /// Looks at a neighbour that placing all buffers takes.
  uint64_t cost() const {
    uint64_t sum = bytes.size();
    for (const auto &neighbours : overlaps)
      sum += neighbours.size();
    return sum;
  }

private:
  ArrayRef<Interval> intervals;
  SmallVector<uint64_t> bytes;
  SmallVector<SmallVector<size_t, 8>> overlaps;
};

/// The placements that were tried, and the one to go on from.
class Search {
public:
  Search(const Placer &placer, uint64_t bound) : placer(placer), bound(bound) {
    best.bytes = ~0ull;
  }

  bool done() const { return best.bytes == bound; }

  /// Places in this order. Goes on from there if it is no worse by more than
  /// `tolerance` bytes.
  void attempt(ArrayRef<size_t> order, bool bestFit, double tolerance = 0) {
    Placement p = placer.run(order, bestFit);
    uint64_t excess = placer.excess(p, bound);
    if (p.bytes < best.bytes)
      best = p;
    if (excess > currentExcess && excess - currentExcess > tolerance)
      return;
    current = std::move(p);
    currentExcess = excess;
    currentFit = bestFit;
    currentOrder.assign(order.begin(), order.end());
  }

  /// Moves buffers that stick out to the front, while the budget lasts.
  void improve() {
    std::mt19937 random(1);
    auto below = [&](size_t n) { return random() % n; };
    SmallVector<size_t> order, out;
    double temperature = placer.meanBytes() * kFirstTemperature;
    for (uint64_t spent = 0; !done() && spent < kSearchBudget;
         spent += placer.cost()) {
      order = currentOrder;
      out.clear();
      for (auto [position, i] : llvm::enumerate(order))
        if (placer.end(current, i) > bound)
          out.push_back(position);
      // One move more often than several: far steps leave a flat place.
      do {
        size_t from = below(4) ? out[below(out.size())] : below(order.size());
        size_t to = below(from + 1);
        std::rotate(order.begin() + to, order.begin() + from,
                    order.begin() + from + 1);
      } while (below(3) == 0);
      double left = 1 - double(spent) / kSearchBudget;
      double chance = (below(1 << 20) + 1.0) / (1 << 20);
      attempt(order, below(8) ? currentFit : !currentFit,
              -std::log(chance) * temperature * left * left);
    }
  }

  Placement best;

private:
  const Placer &placer;
  uint64_t bound;
  Placement current;
  SmallVector<size_t> currentOrder;
  uint64_t currentExcess = ~0ull;
  bool currentFit = false;
};

} // namespace

/// Pairs of intervals that overlap, and of those that are beside each other.
static uint64_t countPairs(ArrayRef<Interval> intervals) {
  std::vector<int64_t> ends;
  uint64_t pairs = 0;
  for (const Interval &i : intervals) {
    ends.push_back(i.last);
    pairs += i.beside.size();
  }
  llvm::sort(ends);
  // Every pair where the one begins before the other ends, but in order.
  for (const Interval &i : intervals)
    pairs += ends.end() - llvm::lower_bound(ends, i.first);
  uint64_t count = intervals.size();
  return pairs - count * (count + 1) / 2;
}

namespace {
/// The gaps of an arena that grows where none is large enough.
class Gaps {
public:
  uint64_t take(uint64_t bytes) {
    auto it = bySize.lower_bound({bytes, 0});
    if (it == bySize.end()) {
      // The last gap grows.
      uint64_t from = end;
      if (!byOffset.empty()) {
        auto [offset, size] = *byOffset.rbegin();
        if (offset + size == end) {
          from = offset;
          remove(offset, size);
        }
      }
      end = from + bytes;
      return from;
    }
    auto [size, offset] = *it;
    remove(offset, size);
    if (size > bytes)
      add(offset + bytes, size - bytes);
    return offset;
  }

  void giveBack(uint64_t offset, uint64_t bytes) {
    auto next = byOffset.lower_bound(offset);
    if (next != byOffset.end() && offset + bytes == next->first) {
      bytes += next->second;
      remove(next->first, next->second);
    }
    auto before = byOffset.lower_bound(offset);
    if (before != byOffset.begin() &&
        std::prev(before)->first + std::prev(before)->second == offset) {
      auto [from, size] = *std::prev(before);
      remove(from, size);
      offset = from;
      bytes += size;
    }
    add(offset, bytes);
  }

  uint64_t end = 0; ///< of what has been taken at most

private:
  void add(uint64_t offset, uint64_t size) {
    byOffset[offset] = size;
    bySize.insert({size, offset});
  }
  void remove(uint64_t offset, uint64_t size) {
    byOffset.erase(offset);
    bySize.erase({size, offset});
  }

  std::map<uint64_t, uint64_t> byOffset;
  std::set<std::pair<uint64_t, uint64_t>> bySize;
};
} // namespace

/// Into the tightest gap, in the order of first uses. An interval that others
/// are beside lasts as long as the longest of them.
static Placement placeInTurns(ArrayRef<Interval> intervals,
                              uint64_t alignment) {
  std::vector<int64_t> last;
  for (const Interval &i : intervals)
    last.push_back(i.last);
  for (const Interval &i : intervals)
    for (size_t other : i.beside)
      last[other] = std::max(last[other], i.last);
  auto byFirst = llvm::to_vector(llvm::seq<size_t>(0, intervals.size()));
  auto byLast = byFirst;
  llvm::stable_sort(byFirst, [&](size_t a, size_t b) {
    return intervals[a].first < intervals[b].first;
  });
  llvm::stable_sort(byLast,
                    [&](size_t a, size_t b) { return last[a] < last[b]; });
  Placement result;
  result.offsets.assign(intervals.size(), 0);
  Gaps gaps;
  // Buffers of nothing have places too.
  auto bytes = [&](size_t i) {
    return llvm::alignTo(std::max<uint64_t>(intervals[i].bytes, 1), alignment);
  };
  const size_t *ended = byLast.begin();
  for (size_t i : byFirst) {
    for (; last[*ended] < intervals[i].first; ++ended)
      gaps.giveBack(result.offsets[*ended], bytes(*ended));
    result.offsets[i] = gaps.take(bytes(i));
  }
  result.bytes = gaps.end;
  return result;
}

Placement frit::planning::place(ArrayRef<Interval> intervals,
                                uint64_t alignment, uint64_t bound) {
  if (intervals.empty())
    return {};
  if (countPairs(intervals) > kMostPairs) {
    Placement result = placeInTurns(intervals, alignment);
    result.lowerBound = bound;
    return result;
  }
  Placer placer(intervals, alignment);
  Search search(placer, bound);
  for (ArrayRef<size_t> order : placer.orders())
    for (bool bestFit : {false, true})
      if (!search.done())
        search.attempt(order, bestFit);
  search.improve();
  search.best.lowerBound = bound;
  return std::move(search.best);
}
