//===- Placement.cpp - Buffers at fixed offsets in one arena --------------===//
//
// Dynamic storage allocation is NP-hard; greedy placement in a good order is
// near the bound on what networks look like. Several orders are tried, each
// with first fit and best fit, and where all of them stay above the bound, a
// search moves the buffers that stick out to the front of the best order (the
// priority search of Maas et al., "TelaMalloc", ASPLOS 2023, in its simplest
// form).
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/Placement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <random>

using namespace frit::planning;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// Moves of the search over orders; fixed, so that builds are reproducible.
constexpr int kSearchRounds = 400;

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
    }
  }

  uint64_t lowerBound() const {
    std::map<int64_t, int64_t> change;
    for (auto [interval, size] : llvm::zip(intervals, bytes)) {
      change[interval.first] += size;
      change[interval.last + 1] -= size;
    }
    int64_t live = 0, peak = 0;
    for (auto [step, delta] : change)
      peak = std::max(peak, live += delta);
    return peak;
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

private:
  ArrayRef<Interval> intervals;
  SmallVector<uint64_t> bytes;
  SmallVector<SmallVector<size_t, 8>> overlaps;
};

} // namespace

Placement frit::planning::place(ArrayRef<Interval> intervals,
                                uint64_t alignment) {
  Placer placer(intervals, alignment);
  uint64_t bound = placer.lowerBound();
  Placement best;
  best.bytes = ~0ull;
  SmallVector<size_t> bestOrder;
  auto attempt = [&](ArrayRef<size_t> order) {
    for (bool bestFit : {false, true}) {
      Placement p = placer.run(order, bestFit);
      if (p.bytes < best.bytes) {
        best = std::move(p);
        bestOrder.assign(order.begin(), order.end());
      }
    }
    return best.bytes == bound;
  };

  bool done = intervals.empty() || llvm::any_of(placer.orders(), attempt);
  std::mt19937 random(1);
  for (int round = 0; !done && round < kSearchRounds; ++round) {
    // The buffers that reach the top cost most where they are: place one of
    // them earlier.
    SmallVector<size_t> order = bestOrder;
    SmallVector<size_t> top;
    for (auto [position, i] : llvm::enumerate(order))
      if (placer.end(best, i) > bound)
        top.push_back(position);
    size_t from = top[random() % top.size()];
    size_t to = random() % (from + 1);
    std::rotate(order.begin() + to, order.begin() + from,
                order.begin() + from + 1);
    done = attempt(order);
  }
  if (intervals.empty())
    best.bytes = 0;
  best.lowerBound = bound;
  return best;
}
