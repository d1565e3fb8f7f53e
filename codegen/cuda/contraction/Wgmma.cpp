//===- Wgmma.cpp - What warpgroup products take, and in which tiles -------===//

#include "codegen/cuda/contraction/Wgmma.h"

#include "codegen/cuda/target/Emit.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Shared memory of a multiprocessor, and what a block takes of it besides its
/// own.
static constexpr int64_t kShared = 233472, kReserved = 1024;
/// Registers of a multiprocessor and of a thread, those of one that took over
/// some, and what a thread needs besides its sums.
static constexpr int64_t kRegisters = 65536, kThreadRegisters = 255;
static constexpr int64_t kMovedRegisters = 240;
static constexpr int64_t kOtherRegisters = 48;
/// Lanes that merge the moments of a row, of which each has as many.
static constexpr int64_t kMomentLanes = 4;
/// More stages than this gain nothing.
static constexpr int64_t kMostStages = 13, kMostResident = 2;
/// What a warpgroup's boxes of the result take of shared memory.
static constexpr int64_t kBoxBytes = 4 * 16 * 128;

int64_t frit::cuda::sharedOf(int64_t blocks) {
  return kShared / blocks - kReserved;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

int64_t WgmmaTile::fixedBytes() const {
  // What the blocks that share k send each other comes on top.
  int64_t parts = (split - 1) * m * n * 4 / split;
  return stages * stageBytes() + parts + kBarrierBytes;
}

int64_t WgmmaTile::boxBytes() const {
  return std::max(m / 64 * kBoxBytes / split, kBoxBytes / 4);
}

int64_t WgmmaTile::slots() const {
  int64_t most = m == 128 && split == 1 ? 4 : 2;
  while (most > 1 && fixedBytes() + most * boxBytes() > sharedOf(resident))
    most /= 2;
  return most;
}

int64_t WgmmaTile::sharedBytes() const {
  return fixedBytes() + slots() * boxBytes();
}

bool WgmmaTile::fits() const {
  int64_t registers = movesRegisters()
                          ? kMovedRegisters
                          : kRegisters / (resident * threads()) / 8 * 8;
  // Blocks that share k divide the tile's 16-row units among them.
  return sharedBytes() <= sharedOf(resident) &&
         std::min(registers, kThreadRegisters) >= n / 2 + kOtherRegisters &&
         (m / 16 % split == 0 || (m == 64 && n % 128 == 0));
}

int64_t WgmmaTile::tiles(const nn::GemmInfo &product) const {
  return ceilDiv(product.m, m * cluster) * ceilDiv(product.n, n) *
         product.batch;
}

int64_t WgmmaTile::blocks(const nn::GemmInfo &product) const {
  if (split > 1)
    return tiles(product) * split;
  return std::min(tiles(product), kMultiprocessors * resident / cluster) *
         cluster;
}

bool WgmmaTile::storesBoxes(const nn::GemmInfo &product, int64_t bytes) const {
  return product.ldd * bytes % 16 == 0 && product.strideD * bytes % 16 == 0;
}

WgmmaTile frit::cuda::wgmmaTileOf(nn::ScheduleAttr schedule) {
  WgmmaTile tile = {schedule.getTileM(), schedule.getTileN(),
                    schedule.getStages(), schedule.getCluster(),
                    schedule.getSplit()};
  while (tile.resident < kMostResident) {
    ++tile.resident;
    if (!tile.fits()) {
      --tile.resident;
      break;
    }
  }
  return tile;
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

int64_t frit::cuda::tapsOfStep(const nn::ConvInfo &conv) {
  bool fills = conv.r * conv.s * conv.c % WgmmaTile::depth == 0;
  return fills && (conv.c == 16 || conv.c == 32) ? WgmmaTile::depth / conv.c
                                                 : 1;
}

bool frit::cuda::readsRows(const nn::ConvInfo &conv) {
  return conv.s > 1 && conv.s * conv.c == WgmmaTile::depth &&
         conv.padLeft == 0 && conv.strideW == 1 && conv.dilationW == 1 &&
         conv.q + conv.s - 1 <= conv.width;
}

nn::GemmInfo frit::cuda::impliedGemm(const nn::ConvInfo &conv) {
  nn::GemmInfo info;
  static_cast<nn::EpilogueInfo &>(info) = conv;
  info.a = conv.x;
  info.b = conv.w;
  info.m = conv.n * conv.p * conv.q;
  info.n = info.ldd = conv.k;
  info.k = info.ldb = conv.r * conv.s / tapsOfStep(conv) *
                      ceilDiv(conv.c, WgmmaTile::depth) * WgmmaTile::depth;
  info.lda = conv.c;
  info.transposeB = true;
  if (conv.addend)
    info.k += impliedGemm(nn::describeAddend(conv)).k;
  return info;
}

std::pair<SmallVector<int64_t, 3>, SmallVector<int64_t, 3>>
frit::cuda::im2colCorners(const nn::ConvInfo &conv) {
  int64_t width = readsRows(conv) ? conv.width - conv.s + 1 : conv.width;
  return {{-conv.padLeft, -conv.padTop},
          {(conv.q - 1) * conv.strideW - conv.padLeft + 1 - width,
           (conv.p - 1) * conv.strideH - conv.padTop + 1 - conv.h}};
}

//===----------------------------------------------------------------------===//
// What the skeletons take
//===----------------------------------------------------------------------===//

static Type elementOf(Value v) { return nn::tensorType(v).getElementType(); }

bool frit::cuda::isHalf(Type type) { return type.isF16() || type.isBF16(); }

/// Whether moments of rows are made, and norms by moments applied, as norm.cuh
/// does it.
static bool takesNorm(const nn::GemmInfo &info, Type result) {
  if (info.batch != 1 || info.ldd != info.n)
    return false;
  if (info.resultMoments && (info.resultWidth != kMomentWidth ||
                             info.n % kMomentWidth != 0 || !isHalf(result)))
    return false;
  return info.norm == nn::NormKind::none ||
         (elementOf(info.column).isF32() && elementOf(info.moments).isF32() &&
          (info.parts() == 1 || info.parts() % kMomentLanes == 0));
}

bool frit::cuda::takesWgmma(const nn::GemmInfo &info, Type result) {
  Type type = elementOf(info.a);
  auto aligned = [](int64_t elements) { return elements % 8 == 0; };
  constexpr int64_t limit = int64_t(1) << 31;
  if (info.hasMoments() && !takesNorm(info, result))
    return false;
  return isHalf(type) && elementOf(info.b) == type &&
         (result == type || result.isF32()) &&
         (!info.bias || isHalf(elementOf(info.bias)) ||
          elementOf(info.bias).isF32()) &&
         aligned(info.lda) && aligned(info.ldb) && aligned(info.strideA) &&
         aligned(info.strideB) && info.m < limit && info.n < limit &&
         info.k < limit && info.batch < limit;
}

bool frit::cuda::takesWgmma(const nn::ConvInfo &info) {
  if (!info.channelsLast || info.groups != 1 || info.c % 8 != 0)
    return false;
  if (info.addend) {
    nn::ConvInfo addend = nn::describeAddend(info);
    // Steps of both come by one ring, of several taps in other lines.
    if (tapsOfStep(info) > 1 || tapsOfStep(addend) > 1 || !takesWgmma(addend))
      return false;
  }
  auto isByte = [](int64_t at) { return at >= -128 && at <= 127; };
  auto [lower, upper] = im2colCorners(info);
  return llvm::all_of(lower, isByte) && llvm::all_of(upper, isByte) &&
         info.strideH <= 8 && info.strideW <= 8 &&
         takesWgmma(impliedGemm(info), elementOf(info.x));
}

//===----------------------------------------------------------------------===//
// Which tile
//===----------------------------------------------------------------------===//

// Fitted to 3840 timed kernels of 204 problems on an H200 (README.md says how);
// microseconds.

/// Products of a multiprocessor, in its cycles, which shared memory feeds with
/// 128 bytes each; how much slower either is than that, and a step's rest.
static constexpr double kCyclesPerMicrosecond = 1700;
static constexpr double kMultiplyTime = 1.2, kSharedTime = 0.58;
static constexpr double kStepTime = 0.003;
/// What two blocks beside each other lose by it.
static constexpr double kBesideTime = 1.26;
/// Bytes per microsecond that a multiprocessor gets from the second-level
/// cache, and that all of them get.
static constexpr double kCacheBytes = 169e3, kAllCacheBytes = 10.8e6;
/// How long a copy is under way.
static constexpr double kLatency = 1.25;
/// From a kernel's start to its first product, from a tile's last product to
/// the first of the next, and what a cluster that shares operands adds.
static constexpr double kFill = 1.21, kTurn = 0.3, kClusterTime = 2.9;
/// Bytes per microsecond of a warpgroup's results, and of the sums that blocks
/// send each other; until the first of them is on its way; how much longer
/// results take where products go on meanwhile.
static constexpr double kStoreBytes = 35.6e3, kSumBytes = 15.6e3;
static constexpr double kStoreTime = 0.225, kHiddenStore = 1.33;
/// How much longer they take by one box at a time.
static constexpr double kOneSlot = 1.4;
/// Bytes per microsecond from memory, and of inputs and results that the cache
/// holds, which it does with so many at most.
static constexpr double kMemoryBytes = 4.16e6, kHeldBytes = 18.8e6;
static constexpr double kMostHeld = 30e6;

/// The largest, and a little more where others come near: what overlaps does
/// not do so to the end, and nothing is to be held for equal that is not.
static double longest(std::initializer_list<double> times, double sharpness) {
  double sum = 0;
  for (double time : times)
    sum += std::pow(time, sharpness);
  return std::pow(sum, 1 / sharpness);
}

/// Clusters of so many blocks leave some multiprocessors of a group without.
static int64_t blocksAtATime(int64_t cluster) {
  return cluster <= 2 ? kMultiprocessors : cluster == 4 ? 128 : 120;
}

double frit::cuda::wgmmaMicroseconds(const nn::GemmInfo &product,
                                     const WgmmaTile &tile,
                                     int64_t resultBytes) {
  int64_t steps = ceilDiv(ceilDiv(product.k, WgmmaTile::depth), tile.split);
  int64_t cluster = tile.cluster * tile.split;
  int64_t blocks = tile.tiles(product) * cluster;
  // Blocks beside each other share a multiprocessor's units.
  int64_t turns = ceilDiv(blocks, blocksAtATime(cluster));
  int64_t beside = std::min(tile.resident, turns);
  double active = std::min(blocks, kMultiprocessors);
  // As in wgmma_plan.cuh: warpgroups take turns at whole tiles.
  bool takeTurns = tile.split == 1 && tile.m == 128 && tile.n <= 192 &&
                   tile.resident == 1 && blocks > kMultiprocessors;

  double multiply =
      tile.m * tile.n / 32 * kMultiplyTime / kCyclesPerMicrosecond;
  double feed = (2 * tile.m + tile.n + tile.m / 64 * tile.n) * kSharedTime /
                kCyclesPerMicrosecond;
  double load = (tile.m + tile.n / tile.cluster) * WgmmaTile::depth * 2.0 /
                std::min(kCacheBytes, kAllCacheBytes / active);
  double wait = kLatency / (tile.stages * beside);
  double step = longest({multiply, feed, load, wait}, 16) + kStepTime;
  double compute = steps * step * (beside > 1 ? kBesideTime : 1);

  double sums = double(tile.m * tile.n) / tile.split;
  double stored = sums * resultBytes * (product.residual ? 2 : 1);
  double writers =
      takeTurns ? 1 : std::max(tile.m / 64 / double(tile.split), 0.25);
  double store = stored / std::min(kStoreBytes * writers, kHeldBytes / active) +
                 kStoreTime;
  if (tile.slots() == 1)
    store *= kOneSlot;
  // One tile is stored while another is computed, or after it.
  double time = takeTurns || beside > 1
                    ? turns * std::max(compute, kHiddenStore * store) + store
                    : turns * (compute + store) + (turns - 1) * kTurn;
  time += kFill + sums * 4 * (tile.split - 1) / kSumBytes +
          (tile.cluster > 1 ? kClusterTime : 0);

  auto elements = [](Value v) {
    return double(nn::tensorType(v).getNumElements());
  };
  double results = double(product.m) * product.n * product.batch;
  double weights = 2 * elements(product.b);
  double others = 2 * elements(product.a) +
                  results * resultBytes * (product.residual ? 2 : 1);
  if (nn::ConvOp addend = product.addend) {
    weights += 2 * elements(addend.getW());
    others += 2 * elements(addend.getX());
  }
  double move = kFill + weights / kMemoryBytes +
                others / (others > kMostHeld ? kMemoryBytes : kHeldBytes);
  return longest({time, move}, 8);
}

/// Whether a tile can be among the fast ones: not half empty, large where there
/// are many of them, and small where there are few.
static bool isWorthTrying(const nn::GemmInfo &product, const WgmmaTile &tile) {
  int64_t area = tile.m * tile.n, tiles = tile.tiles(product);
  bool empty = (tile.m > 64 && tile.m >= 2 * product.m) ||
               (tile.n > 64 && tile.n >= 2 * product.n);
  bool small =
      (tiles > 5 * kMultiprocessors && area < 128 * 128 &&
       tile.n < product.n) ||
      (tiles > 12 * kMultiprocessors && tile.m == 64 && product.m > 64);
  bool large =
      tiles < 16 && area > 128 * 128 && product.m * product.n > 64 * 1024;
  return !empty && !small && !large;
}

SmallVector<WgmmaPick> frit::cuda::rankWgmmaTiles(const nn::GemmInfo &product,
                                                  int64_t resultBytes,
                                                  unsigned most) {
  SmallVector<WgmmaPick> picks;
  int64_t steps = ceilDiv(product.k, WgmmaTile::depth);
  auto consider = [&](WgmmaTile tile) {
    int64_t most = tile.m * tile.n <= 128 * 128 ? kMostResident : 1;
    for (tile.resident = most; tile.resident > 0; --tile.resident) {
      tile.stages = kMostStages;
      while (tile.stages > 2 && !tile.fits())
        --tile.stages;
      // What two blocks fit beside each other is not one.
      WgmmaTile closer = tile;
      ++closer.resident;
      if (!tile.fits() || (tile.resident < kMostResident && closer.fits()))
        continue;
      picks.push_back({tile, wgmmaMicroseconds(product, tile, resultBytes)});
      // Boxes may be worth a stage.
      WgmmaTile roomy = tile;
      while (roomy.stages > 3 && roomy.slots() == tile.slots())
        --roomy.stages;
      if (roomy.slots() > tile.slots())
        picks.push_back(
            {roomy, wgmmaMicroseconds(product, roomy, resultBytes)});
    }
  };
  for (int64_t m : {128, 64, 192})
    for (int64_t n : {128, 256, 192, 64}) {
      WgmmaTile tile = {m, n, 0, 1, 1};
      int64_t tiles = tile.tiles(product);
      // Whoever asks for all wants to know what there is.
      bool all = most == ~0u;
      if (!all && !isWorthTrying(product, tile))
        continue;
      consider(tile);
      // Two blocks load half of B each; several share the sums of few tiles.
      if (n >= 128 && (all ? product.m > m : tiles >= kMultiprocessors))
        consider({m, n, 0, 2, 1});
      for (int64_t split : {2, 4, 8})
        if (all ? split <= steps
                : 3 * split <= steps &&
                      tiles * split <= kMultiprocessors * 6 / 5)
          consider({m, n, 0, 1, split});
    }
  llvm::stable_sort(picks, [](const WgmmaPick &a, const WgmmaPick &b) {
    return a.microseconds < b.microseconds;
  });
  assert(!picks.empty() && "no tile for a product");
  if (picks.size() > most)
    picks.truncate(most);
  return picks;
}
