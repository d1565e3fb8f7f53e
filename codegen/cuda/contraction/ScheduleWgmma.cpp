//===- ScheduleWgmma.cpp - Choice of WGMMA tiles --------------------------===//

#include "codegen/cuda/contraction/Wgmma.h"
#include "codegen/cuda/scalar/LinalgFusion.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

// Constants fitted to 3840 timed kernels of 204 problems on an H200 (notes/);
// microseconds.

/// Slowdown of products, and of shared memory at 128 bytes a cycle, relative to
/// an SM's peak; and the overhead of a step of k.
static constexpr double kMultiplyTime = 1.2, kSharedTime = 0.58;
static constexpr double kStepTime = 0.003;
/// Factor by which a block takes longer if two share an SM.
static constexpr double kSharedSmTime = 1.26;
/// Bytes per microsecond from L2 to one SM; and to all SMs, as a multiple of
/// GpuArch::l2Rate.
static constexpr double kL2Rate = 169e3, kAllL2Rate = 2.16;
/// Latency of a copy, and of a cluster barrier.
static constexpr double kLatency = 1.25, kClusterBarrier = 1;
/// Time from a kernel's start to its first product, from a tile's last product
/// to the first of the next, and the additional time of a cluster that shares
/// operands.
static constexpr double kFill = 1.21, kNextTile = 0.3, kClusterTime = 2.9;
/// Bytes per microsecond of a warpgroup's results, and of the partial sums that
/// blocks exchange; latency of the first store; and slowdown of stores that
/// overlap with products.
static constexpr double kStoreBytes = 35.6e3, kSumBytes = 15.6e3;
static constexpr double kStoreTime = 0.225, kHiddenStore = 1.33;
/// Slowdown of stores with a single box in shared memory.
static constexpr double kOneSlot = 1.4;
/// Bytes per microsecond of inputs and results that stay in L2, as a multiple
/// of GpuArch::l2Rate, and the bytes per MiB of L2 up to which they do.
static constexpr double kHeldRate = 3.76, kMostHeld = 0.6e6;
/// Bytes per microsecond, as a multiple of GpuArch::l2Rate, by which copies
/// from L2 slow long products down: at the power limit, what copies draw lowers
/// the clock.
static constexpr double kPowerRate = 11;
/// Microseconds per element for which a warpgroup computes an epilogue of sum
/// and residual, such as the gradient of an activation, unless it adds or
/// multiplies them; and how much longer it takes if its sums leave too few
/// registers to overlap elements, or if two blocks per SM leave so few that it
/// spills.
static constexpr double kEpilogueTime = 5e-4, kCrowded = 1.14, kSpilled = 2;
/// Instructions of a warp that a scheduler issues per cycle at the end of a
/// tile: an estimate.
static constexpr double kEndRate = 0.7;
/// Upper bound of the instructions that a scheduler issues per cycle at the end
/// of a tile if all of its warps wait for boxes there at the same time.
static constexpr double kBoxedEndRate = 0.64;
/// Bytes per microsecond that an SM streams from memory, and the rows of
/// products whose time is that of their weights: fitted to a step of a language
/// model of 8 sequences on an H200.
static constexpr double kSmStream = 30e3;
static constexpr int64_t kFewRows = 16;
/// More stages or blocks per SM than these gain nothing.
static constexpr int64_t kUsefulStages = 13, kUsefulOccupancy = 2;
/// With this few stages, loops longer than those of the fitted problems do not
/// hide the latency of copies.
static constexpr int64_t kFewStages = 3, kLongLoop = 60;

/// Returns the time of overlapping operations: the longest, and a little more
/// if others come near it, since the overlap is not perfect.
static double longest(std::initializer_list<double> times, double sharpness) {
  double sum = 0;
  for (double time : times)
    sum += std::pow(time, sharpness);
  return std::pow(sum, 1 / sharpness);
}

WgmmaWork frit::cuda::workOf(const nn::GemmInfo &product, int64_t resultBytes) {
  WgmmaWork work = {.m = product.m,
                    .n = sumColumns(product),
                    .k = product.k,
                    .batch = product.batch,
                    .needs = needsOf(product),
                    .resultBytes = resultBytes};
  auto elements = [](Value v) {
    return double(nn::tensorType(v).getNumElements());
  };
  double results = double(product.m) * product.n * product.batch /
                   double(product.epilogue.sumsPerResult());
  work.weightBytes = 2 * elements(product.b);
  if (product.pairedB)
    work.weightBytes += 2 * elements(product.pairedB);
  work.otherBytes = 2 * elements(product.a) +
                    results * resultBytes * double(1 + work.needs.boxesRead);
  if (nn::ConvOp addend = product.epilogue.addend) {
    work.weightBytes += 2 * elements(addend.getW());
    work.otherBytes += 2 * elements(addend.getX());
  }
  return work;
}

double frit::cuda::wgmmaMicroseconds(const WgmmaWork &product,
                                     const WgmmaTile &tile,
                                     const GpuArch &arch) {
  const EndNeeds &needs = product.needs;
  int64_t resultBytes = product.resultBytes;
  WgmmaLayout layout = tile.layout(needs);
  int64_t steps = ceilDiv(ceilDiv(product.k, kWgmmaDepth), tile.split);
  int64_t cluster = tile.cluster * tile.split;
  int64_t blocks = tile.neededBlocks(product);
  // Concurrent blocks of an SM share its units.
  int64_t waves = ceilDiv(blocks, arch.clusteredSms(cluster));
  int64_t sharing = std::min(tile.occupancy, waves);
  double active = double(std::min(blocks, arch.sms));
  double heldRate = kHeldRate * arch.l2Rate;
  double mostHeld = kMostHeld * double(arch.l2Bytes >> 20);

  double multiply = tile.m * tile.n / 32 * kMultiplyTime / arch.clock;
  double feed =
      (2 * tile.m + tile.n + tile.m / 64 * tile.n) * kSharedTime / arch.clock;
  double stepBytes = (tile.m + tile.n / tile.cluster) * kWgmmaDepth * 2.0;
  double load =
      stepBytes / std::min(kL2Rate, kAllL2Rate * arch.l2Rate / active);
  // One stage is multiplied while the others are copied.
  int64_t stages = tile.stages * sharing;
  bool stalls = steps > kLongLoop && stages <= kFewStages;
  double wait = kLatency / (stalls ? stages - 1 : stages);
  double step = longest({multiply, feed, load, wait}, 16) + kStepTime;
  double compute = steps * step * (sharing > 1 ? kSharedSmTime : 1);

  double sums = double(tile.m * tile.n) / tile.split;
  double stored = sums * resultBytes *
                  double(needs.boxesRead + needs.boxesStored) /
                  double(needs.sumsPerResult);
  double writers =
      tile.pingPong ? 1 : std::max(tile.m / 64 / double(tile.split), 0.25);
  double store =
      stored / std::min(kStoreBytes * writers, heldRate / active) + kStoreTime;
  if (layout.slots() == 1)
    store *= kOneSlot;
  // The warps of a warpgroup have a scheduler each, which two warpgroups share.
  bool waits = product.waitsForBoxes && !tile.pingPong && waves > 1;
  if (needs.storesRegisters)
    store = kStoreTime +
            sums / 128 * product.endInstructions / arch.clock /
                std::min(waits ? kBoxedEndRate : 1, kEndRate * writers);
  double finish = store;
  if (needs.computesLong) {
    bool isCrowded = tile.pingPong && tile.n > 128;
    double spread = tile.occupancy > 1 ? kSpilled : isCrowded ? kCrowded : 1;
    finish = std::max(store, sums / writers * kEpilogueTime * spread);
  }
  // The store of one tile overlaps with the products of another, or follows
  // them. Warpgroups or blocks that take turns each multiply and finish.
  double hidden = product.waitsForBoxes ? store : kHiddenStore * store;
  double turn = std::max(hidden, (compute + finish) / 2);
  double time = tile.pingPong || sharing > 1
                    ? waves * std::max(compute, turn) + finish
                    : waves * (compute + finish) + (waves - 1) * kNextTile;
  time += double(blocks) * steps * stepBytes / (kPowerRate * arch.l2Rate);
  time += kFill + sums * 4 * (tile.split - 1) / kSumBytes +
          (tile.cluster > 1 ? kClusterTime : 0) +
          (layout.overlaysStages() ? kClusterBarrier : 0);

  double weights = product.weightBytes, others = product.otherBytes;
  double rate = product.m <= kFewRows
                    ? std::min(arch.memoryRate, active * kSmStream)
                    : arch.memoryRate;
  double move = kFill + weights / rate +
                others / (others > mostHeld ? arch.memoryRate : heldRate);
  return longest({time, move}, 8);
}

/// Returns whether a tile may be fast: it is not half empty, large if there are
/// many tiles, and small if there are few.
static bool isWorthTrying(const WgmmaWork &product, const WgmmaTile &tile,
                          const GpuArch &arch) {
  int64_t area = tile.m * tile.n, tiles = tile.tiles(product);
  bool empty = (tile.m > 64 && tile.m >= 2 * product.m) ||
               (tile.n > 64 && tile.n >= 2 * product.n);
  bool small =
      (tiles > 5 * arch.sms && area < 128 * 128 && tile.n < product.n) ||
      (tiles > 12 * arch.sms && tile.m == 64 && product.m > 64);
  bool large =
      tiles < 16 && area > 128 * 128 && product.m * product.n > 64 * 1024;
  return !empty && !small && !large;
}

SmallVector<WgmmaPick> frit::cuda::rankWgmmaTiles(const WgmmaWork &product,
                                                  const GpuArch &arch,
                                                  unsigned most,
                                                  bool maySplit) {
  SmallVector<WgmmaPick> picks;
  int64_t steps = ceilDiv(product.k, kWgmmaDepth);
  auto add = [&](WgmmaTile tile) {
    tile.pingPong = tile.pingPongs(product, arch);
    double time = wgmmaMicroseconds(product, tile, arch);
    picks.push_back({tile, time});
  };
  const EndNeeds &needs = product.needs;
  auto overlays = [&](const WgmmaTile &tile) {
    return tile.layout(needs).overlaysStages();
  };
  auto slots = [&](const WgmmaTile &tile) {
    return tile.layout(needs).slots();
  };
  auto consider = [&](WgmmaTile tile) {
    int64_t most = tile.m * tile.n <= 128 * 128 ? kUsefulOccupancy : 1;
    for (tile.occupancy = most; tile.occupancy > 0; --tile.occupancy) {
      tile.stages = kUsefulStages;
      while (tile.stages > 2 && !tile.fits(needs, arch))
        --tile.stages;
      WgmmaTile overlaid = tile;
      while (tile.stages > 2 && overlays(tile))
        --tile.stages;
      // Skip tiles that fit more often per SM; a higher occupancy covers them.
      WgmmaTile closer = tile;
      ++closer.occupancy;
      if (!tile.fits(needs, arch) ||
          (tile.occupancy < kUsefulOccupancy && closer.fits(needs, arch)))
        continue;
      if (!overlays(tile))
        add(tile);
      // Partial sums of other blocks may reuse the memory of stages.
      if (tile.stages <= kFewStages && steps > kLongLoop * tile.split &&
          overlays(overlaid))
        add(overlaid);
      // More boxes may be worth a stage.
      WgmmaTile roomy = tile;
      while (roomy.stages > 3 && slots(roomy) == slots(tile))
        --roomy.stages;
      if (slots(roomy) > slots(tile))
        add(roomy);
    }
  };
  for (int64_t m : {128, 64, 192})
    for (int64_t n : {128, 256, 192, 64}) {
      WgmmaTile tile = {m, n, 0, 1, 1};
      int64_t tiles = tile.tiles(product);
      // Tuning asks for all tiles.
      bool all = most == ~0u;
      if (!all && !isWorthTrying(product, tile, arch))
        continue;
      consider(tile);
      // Two blocks may multicast B, half each. With few tiles, several blocks
      // may split K.
      if (n >= 128 && (all ? product.m > m : tiles >= arch.sms))
        consider({m, n, 0, 2, 1});
      // Split-K does not support moments of columns.
      if (needs.exchangesColumns || !maySplit)
        continue;
      for (int64_t split : {2, 4, 8})
        if (all ? split <= steps
                : 3 * split <= steps && tiles * split <= arch.sms * 6 / 5)
          consider({m, n, 0, 1, split});
      // Blocks with the same part of k may share B, too. The model does not
      // know when that pays; it paid for one product of ten that were timed.
      for (int64_t split : {2, 4})
        if (all && split <= steps && n >= 128 && product.m > m)
          consider({m, n, 0, 2, split});
    }
  llvm::stable_sort(picks, [](const WgmmaPick &a, const WgmmaPick &b) {
    return a.microseconds < b.microseconds;
  });
  assert(!picks.empty() && "no tile for a product");
  if (picks.size() > most)
    picks.truncate(most);
  return picks;
}
