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
static constexpr int64_t kMostStages = 6, kMostResident = 2;
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

nn::GemmInfo frit::cuda::impliedGemm(const nn::ConvInfo &conv) {
  nn::GemmInfo info;
  static_cast<nn::EpilogueInfo &>(info) = conv;
  info.a = conv.x;
  info.b = conv.w;
  info.m = conv.n * conv.p * conv.q;
  info.n = info.ldd = conv.k;
  info.k = info.ldb =
      conv.r * conv.s * ceilDiv(conv.c, WgmmaTile::depth) * WgmmaTile::depth;
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

// Of an H200; all times in microseconds.
static constexpr double kCyclesPerMicrosecond = 1600;
/// What a multiprocessor gets from the second-level cache per microsecond, and
/// all of them from memory.
static constexpr double kCacheBytes = 70e3, kMemoryBytes = 3.9e6;
/// From a block's start to its first product, what every tile costs besides
/// its products and its stores, and what summing up parts does.
static constexpr double kFill = 1.6, kTurn = 0.3, kSummingUp = 1.2;

double frit::cuda::wgmmaMicroseconds(const nn::GemmInfo &product,
                                     const WgmmaTile &tile,
                                     int64_t resultBytes) {
  int64_t steps = ceilDiv(ceilDiv(product.k, WgmmaTile::depth), tile.split);
  // Blocks beside each other share a multiprocessor's units.
  int64_t blocks = tile.split > 1 ? tile.blocks(product)
                                  : tile.tiles(product) * tile.cluster;
  int64_t turns = ceilDiv(blocks, kMultiprocessors);
  double multiply = 2.0 * tile.n * tile.m / 64 / kCyclesPerMicrosecond;
  double load =
      (tile.m + tile.n / tile.cluster) * WgmmaTile::depth * 2.0 / kCacheBytes;
  double store = tile.m * tile.n * resultBytes *
                 (product.residual ? 2.0 : 1.0) / kCacheBytes;
  double time =
      kFill + turns * (steps * std::max(multiply, load) + store + kTurn);
  if (tile.split > 1)
    time += kSummingUp + tile.m * tile.n * 4.0 / kCacheBytes;
  double batchA = product.strideA ? product.batch : 1;
  double batchB = product.strideB ? product.batch : 1;
  double bytes = 2.0 * product.k * (product.m * batchA + product.n * batchB) +
                 double(resultBytes) * product.m * product.n * product.batch;
  return std::max(time, kFill + bytes / kMemoryBytes);
}

SmallVector<WgmmaPick> frit::cuda::rankWgmmaTiles(const nn::GemmInfo &product,
                                                  int64_t resultBytes,
                                                  unsigned most) {
  SmallVector<WgmmaPick> picks;
  int64_t steps = ceilDiv(product.k, WgmmaTile::depth);
  auto consider = [&](WgmmaTile tile) {
    for (tile.resident = kMostResident; tile.resident > 0; --tile.resident) {
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
      consider({m, n, 0, 1, 1});
      // Two blocks load half of B each.
      if (n % 128 == 0 && product.m > m)
        consider({m, n, 0, 2, 1});
      for (int64_t split : {2, 4, 8})
        if (split <= steps && m % split == 0)
          consider({m, n, 0, 1, split});
    }
  llvm::stable_sort(picks, [](const WgmmaPick &a, const WgmmaPick &b) {
    return a.microseconds < b.microseconds;
  });
  if (picks.size() > most)
    picks.truncate(most);
  return picks;
}
