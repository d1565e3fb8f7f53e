//===- Placement.cpp - Place buffers in an arena --------------------------===//
//
// Dynamic storage allocation is NP-hard, but for networks, greedy placement in
// a good order comes close to the lower bound. Several orders are tried, each
// with first fit and best fit. If all exceed the bound, local search improves
// the best order, as in Maas et al., "TelaMalloc" (ASPLOS 2023): a buffer that
// exceeds the bound is placed earlier. The search minimizes the total excess of
// all buffers, not the arena: with equal layers, the arena shrinks only once
// the last layer is placed well. It also accepts moves that change nothing, as
// most moves do.
//
// The cost grows with the number of pairs of buffers that are live at the same
// time. If there are very many, buffers are placed once, step by step, like an
// allocator.
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

/// Budget of the search in visits of a neighbour: about a second. A count, not
/// a time, so that builds are reproducible.
constexpr uint64_t kSearchBudget = 100'000'000;

/// Pairs of buffers live at the same time from which on the search is skipped:
/// they take 30 MB, and one pass of all orders a second.
constexpr uint64_t kMostPairs = 4'000'000;

/// Worsening that a move may cause at first, in mean buffer sizes.
constexpr double kFirstTemperature = 1;

/// Intervals with aligned sizes, and which of them are live at the same time.
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
      for (size_t j : intervals[i].concurrent) {
        overlaps[i].push_back(j);
        overlaps[j].push_back(i);
      }
    }
  }

  SmallVector<size_t> identityOrder() const {
    return llvm::to_vector(llvm::seq<size_t>(0, intervals.size()));
  }

  /// Orders to try: by size, by size times lifetime, by lifetime, by first use.
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

  /// Places buffers in `order`, each in the lowest gap that fits, or in the
  /// tightest.
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

  /// Returns the bytes by which buffers exceed `bound`, summed over all.
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

  /// Visits of neighbours that one placement of all buffers costs.
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

/// State of the search: the best placement, and the one to continue from.
class Search {
public:
  Search(const Placer &placer, uint64_t bound) : placer(placer), bound(bound) {
    best.bytes = ~0ull;
  }

  bool done() const { return best.bytes == bound; }

  /// Places buffers in this order. Continues from there if it is not worse by
  /// more than `tolerance` bytes.
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

  /// Moves buffers that exceed the bound towards the front, until the budget is
  /// used up.
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
      // Mostly one move, sometimes several: larger steps leave plateaus.
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

/// Counts the pairs of intervals that are live at the same time.
static uint64_t countPairs(ArrayRef<Interval> intervals) {
  std::vector<int64_t> ends;
  uint64_t pairs = 0;
  for (const Interval &i : intervals) {
    ends.push_back(i.last);
    pairs += i.concurrent.size();
  }
  llvm::sort(ends);
  // All pairs in which one begins before the other ends, minus those counted in
  // both orders.
  for (const Interval &i : intervals)
    pairs += ends.end() - llvm::lower_bound(ends, i.first);
  uint64_t count = intervals.size();
  return pairs - count * (count + 1) / 2;
}

namespace {
/// The gaps of an arena. It grows if no gap is large enough.
class Gaps {
public:
  uint64_t take(uint64_t bytes) {
    auto it = bySize.lower_bound({bytes, 0});
    if (it == bySize.end()) {
      // Extend the last gap.
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

  uint64_t end = 0; ///< the arena's size

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

/// Places buffers in the order of their first use, each in the tightest gap. A
/// buffer with concurrent ones is kept as long as the last of these.
static Placement placeStepByStep(ArrayRef<Interval> intervals,
                                 uint64_t alignment) {
  std::vector<int64_t> last;
  for (const Interval &i : intervals)
    last.push_back(i.last);
  for (const Interval &i : intervals)
    for (size_t other : i.concurrent)
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
  // Empty buffers get an offset too.
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
    Placement result = placeStepByStep(intervals, alignment);
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
