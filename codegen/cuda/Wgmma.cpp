//===- Wgmma.cpp - What warpgroup products take, and in which tiles -------===//

#include "codegen/cuda/Wgmma.h"

#include "codegen/cuda/Emit.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Multiprocessors of the devices that sm_90a is, mostly; any number works.
static constexpr int64_t kMultiprocessors = 132;
/// Shared memory of a multiprocessor, what a block takes of it besides its own,
/// and what its barriers take.
static constexpr int64_t kShared = 233472, kReserved = 1024;
static constexpr int64_t kBarrierBytes = 512;
/// Registers of a multiprocessor and of a thread, and what a thread needs
/// besides its sums.
static constexpr int64_t kRegisters = 65536, kThreadRegisters = 255;
static constexpr int64_t kOtherRegisters = 48;
/// More stages than this gain nothing.
static constexpr int64_t kMostStages = 13, kMostResident = 2;
/// What a warpgroup's boxes of the result take of shared memory.
static constexpr int64_t kBoxBytes = 4 * 16 * 128;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

int64_t WgmmaTile::sharedBytes() const {
  // What the blocks that share k send each other comes on top.
  int64_t parts = (split - 1) * m * n * 4 / split;
  int64_t bytes = stages * stageBytes() + parts + kBarrierBytes;
  int64_t boxes = std::max(m / 64 * kBoxBytes / split, kBoxBytes / 4);
  int64_t most = kShared / resident - kReserved;
  return bytes + (bytes + 2 * boxes <= most ? 2 : 1) * boxes;
}

bool WgmmaTile::fits() const {
  int64_t registers = kRegisters / (resident * threads()) / 8 * 8;
  // Blocks that share k divide the tile's 16-row units among them.
  return sharedBytes() <= kShared / resident - kReserved &&
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
  return info;
}

std::pair<SmallVector<int64_t, 3>, SmallVector<int64_t, 3>>
frit::cuda::im2colCorners(const nn::ConvInfo &conv) {
  return {{-conv.padLeft, -conv.padTop},
          {(conv.q - 1) * conv.strideW - conv.padLeft + 1 - conv.width,
           (conv.p - 1) * conv.strideH - conv.padTop + 1 - conv.h}};
}

//===----------------------------------------------------------------------===//
// What the skeletons take
//===----------------------------------------------------------------------===//

static Type elementOf(Value v) { return nn::tensorType(v).getElementType(); }

static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

bool frit::cuda::takesWgmma(const nn::GemmInfo &info, Type result) {
  Type type = elementOf(info.a);
  auto aligned = [](int64_t elements) { return elements % 8 == 0; };
  constexpr int64_t limit = int64_t(1) << 31;
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
  auto isByte = [](int64_t at) { return at >= -128 && at <= 127; };
  auto [lower, upper] = im2colCorners(info);
  return llvm::all_of(lower, isByte) && llvm::all_of(upper, isByte) &&
         info.strideH <= 8 && info.strideW <= 8 &&
         takesWgmma(impliedGemm(info), elementOf(info.x));
}

//===----------------------------------------------------------------------===//
// Which tile
//===----------------------------------------------------------------------===//

// Fitted to 1740 timed kernels of 92 problems on an H200; microseconds.

/// Products of a warpgroup are at least so slow, by columns and by rows of 64.
static constexpr double kColumnsPerMicrosecond = 1484, kRowsTime = 0.011;
/// Bytes per microsecond that a multiprocessor gets from the second-level
/// cache, that all of them get, and that come from memory.
static constexpr double kCacheBytes = 109.8e3, kAllCacheBytes = 8.477e6;
static constexpr double kMemoryBytes = 3.488e6;
/// How long a copy is under way.
static constexpr double kLatency = 0.895;
/// From a kernel's start to its first product; what a cluster adds.
static constexpr double kFill = 1.57, kClusterTime = 2.9;
/// Bytes per microsecond of a block's results, and of the sums that blocks send
/// each other.
static constexpr double kStoreBytes = 145.4e3, kSumBytes = 11.64e3;

double frit::cuda::wgmmaMicroseconds(const nn::GemmInfo &product,
                                     const WgmmaTile &tile,
                                     int64_t resultBytes) {
  int64_t steps = ceilDiv(ceilDiv(product.k, WgmmaTile::depth), tile.split);
  int64_t blocks = tile.tiles(product) * tile.cluster * tile.split;
  // Blocks beside each other share a multiprocessor's units.
  int64_t turns = ceilDiv(blocks, kMultiprocessors);
  double active = std::min(blocks, kMultiprocessors);
  double multiply =
      tile.m / 64 * (2.0 * tile.n / kColumnsPerMicrosecond + kRowsTime);
  double load = (tile.m + tile.n / tile.cluster) * WgmmaTile::depth * 2.0 /
                std::min(kCacheBytes, kAllCacheBytes / active);
  double wait = kLatency / (tile.stages * std::min(tile.resident, turns));
  double sums = double(tile.m * tile.n) / tile.split;
  double store = sums * resultBytes * (product.residual ? 2 : 1) / kStoreBytes;
  double time = kFill + turns * steps * std::max({multiply, load, wait}) +
                sums * 4 * (tile.split - 1) / kSumBytes +
                (tile.cluster > 1 ? kClusterTime : 0);
  // One block stores while the one beside it multiplies.
  time += tile.resident > 1 ? store : turns * store;

  double results = double(product.m) * product.n * product.batch;
  double bytes = 2.0 * nn::tensorType(product.a).getNumElements() +
                 2.0 * nn::tensorType(product.b).getNumElements() +
                 results * resultBytes * (product.residual ? 2 : 1);
  return std::max(time, kFill + bytes / kMemoryBytes);
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
  bool timed = tile.m != 192 || tile.n != 64;
  return timed && !empty && !small && !large;
}

/// Stages that hide how long memory takes.
static constexpr int64_t kDeepEnough = 6;

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
      if (tile.fits() && (tile.resident == kMostResident || !closer.fits()))
        picks.push_back({tile, wgmmaMicroseconds(product, tile, resultBytes)});
    }
  };
  for (int64_t m : {128, 64, 192})
    for (int64_t n : {128, 256, 192, 64}) {
      WgmmaTile tile = {m, n, 0, 1, 1};
      int64_t tiles = tile.tiles(product);
      // Whoever asks for all has timed them.
      bool all = most == ~0u;
      if (!all && !isWorthTrying(product, tile))
        continue;
      consider(tile);
      // Two blocks load half of B each; several share the sums of few tiles.
      if (n % 128 == 0 && (all ? product.m > m : tiles >= kMultiprocessors))
        consider({m, n, 0, 2, 1});
      for (int64_t split : {2, 4, 8})
        if (all ? split <= steps
                : 3 * split <= steps &&
                      tiles * split <= kMultiprocessors * 6 / 5)
          consider({m, n, 0, 1, split});
    }
  // What the model holds for equal is not: the weights of a network come from
  // memory, and few stages wait for them.
  auto depth = [](const WgmmaPick &pick) {
    return std::min(pick.tile.stages, kDeepEnough);
  };
  llvm::stable_sort(picks, [&](const WgmmaPick &a, const WgmmaPick &b) {
    return a.microseconds != b.microseconds ? a.microseconds < b.microseconds
                                            : depth(a) > depth(b);
  });
  assert(!picks.empty() && "no tile for a product");
  if (picks.size() > most)
    picks.truncate(most);
  return picks;
}
