//===- IntegerTiles.cpp - Choice of the tiles of products of bytes --------===//
//
// An SM multiplies, moves operands through shared memory and copies them from
// L2 at the same time, so a tile takes the longest of the three. Blocks that
// start together wait once for their first operands.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/integer/IntegerProduct.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Bytes that an SM moves to or from shared memory in a cycle.
static constexpr double kSharedRate = 128;
/// Microseconds until a block's first operands arrive, and from the start of a
/// later copy to its end.
static constexpr double kArrivalTime = 1.2, kCopyTime = 0.7;
/// Microseconds until the blocks of a cluster have each other's sums.
static constexpr double kMergeTime = 0.8;
/// Instructions of threads that an SM issues in a cycle.
static constexpr double kIssueRate = 128;
/// Bytes of L2's traffic per sum at the end of a tile.
static constexpr double kEndBytes = 4;
/// Time of products by mma.sync relative to the longest of its parts, since the
/// warps that multiply also load the fragments and copy.
static constexpr double kMmaShare = 1.5;
/// Threads of an SM that keep its tensor cores busy with mma.sync.
static constexpr double kMmaThreads = 256;
/// Accumulators of a thread that leave room for fragments and addresses, and
/// those that do if two blocks share an SM.
static constexpr int64_t kSumsOfThread = 128, kSumsOfTwoBlocks = 64;

/// Bytes of the longest step; most stages of a product of many steps, and of
/// one whose steps all have a stage.
static constexpr int64_t kLongDepth = 128, kUsualStages = 6,
                         kMostShortStages = 17;

namespace {
/// Rows and columns of a block and of its warps.
struct TileSizes {
  int64_t tileM, tileN, warpM, warpN;
};
} // namespace

static constexpr TileSizes kTiles[] = {
    {256, 128, 64, 64}, {128, 256, 64, 64}, {256, 64, 64, 64},
    {128, 128, 64, 64}, {128, 128, 64, 32}, {128, 64, 64, 32},
    {64, 128, 32, 64},  {64, 64, 32, 32},   {128, 32, 32, 32},
    {32, 128, 32, 32},  {32, 64, 32, 16},   {64, 32, 32, 16},
    {32, 32, 16, 32},   {16, 64, 16, 32},   {16, 32, 16, 32},
    {16, 32, 16, 16},   {16, 16, 16, 16}};
/// Tiles of whole warpgroups.
static constexpr TileSizes kWideTiles[] = {
    {128, 256, 16, 256}, {256, 128, 16, 128}, {128, 128, 16, 128},
    {64, 256, 16, 256},  {256, 64, 16, 64},   {128, 64, 16, 64},
    {64, 128, 16, 128},  {64, 64, 16, 64},    {128, 32, 16, 32},
    {64, 32, 16, 32}};

int64_t frit::cuda::threadsOf(IntegerGemmAttr schedule) {
  return schedule.getTileM() / schedule.getWarpM() *
         (schedule.getTileN() / schedule.getWarpN()) * schedule.getSplit() * 32;
}

int64_t frit::cuda::sharedBytesOf(IntegerGemmAttr schedule) {
  int64_t m = schedule.getTileM(), n = schedule.getTileN();
  int64_t parts = std::max<int64_t>(schedule.getSplit() - 1,
                                    schedule.getCluster() > 1 ? 1 : 0);
  return std::max(schedule.getStages() * (m + n) * schedule.getDepth(),
                  parts * m * n * 4);
}

/// Returns the blocks of a schedule that an SM has room for.
static int64_t blocksPerSm(IntegerGemmAttr schedule, const GpuArch &arch) {
  int64_t registers = schedule.getOccupancy() > 1 ? 128 : 255;
  return std::max<int64_t>(
      1, std::min({arch.sharedPerSm /
                       (sharedBytesOf(schedule) + arch.sharedReserved),
                   arch.registersPerSm / (threadsOf(schedule) * registers),
                   arch.threadsPerSm / threadsOf(schedule)}));
}

double frit::cuda::estimateTime(const IntegerProduct &product,
                                IntegerGemmAttr schedule, const GpuArch &arch) {
  int64_t m = schedule.getTileM(), n = schedule.getTileN();
  int64_t depth = schedule.getDepth(), perSm = blocksPerSm(schedule, arch);
  double sms = double(arch.sms), threads = double(threadsOf(schedule));
  int64_t cluster = schedule.getCluster();
  double blocks =
      double(ceilDiv(product.pixels(), m) * ceilDiv(product.k, n) * cluster);
  double stages = double(ceilDiv(ceilDiv(product.depth(), depth), cluster));
  double each = std::ceil(blocks / double(arch.clusteredSms(cluster)));
  // Bytes are multiplied twice as fast as 16-bit floats.
  double rate =
      2 * (schedule.getWgmma() ? arch.productRate / sms : arch.mmaRate);
  // Few warps leave the tensor cores idle while they load fragments.
  if (!schedule.getWgmma())
    rate *= std::min(1.0, 0.4 + 0.6 * std::min(each, double(perSm)) * threads /
                                    kMmaThreads);
  double multiplies = stages * 2.0 * double(m * n * depth) / rate;
  // A warpgroup reads its 64 rows once, a warp of mma.sync its own.
  double readers = schedule.getWgmma() ? threads / 128 : threads / 32;
  double lines = double((schedule.getWgmma() ? 64 : schedule.getWarpM()) +
                        schedule.getWarpN()) /
                     double(schedule.getSplit()) * readers +
                 double(m + n);
  double moves = stages * lines * double(depth) / (kSharedRate * arch.clock);
  double copies =
      (stages * double((m + n) * depth) + kEndBytes * double(m * n)) /
      (arch.l2Rate / sms);
  // The end of a tile hides behind the products of another block of the SM.
  double ends =
      product.endInstructions * double(m * n) / (kIssueRate * arch.clock);
  double products = std::max({multiplies, moves, copies}) *
                    (schedule.getWgmma() ? 1 : kMmaShare);
  double work =
      each * (std::min(each, double(perSm)) > 1 ? std::max(products, ends)
                                                : products + ends);
  // Copies run ahead by all stages but one, or two while WGMMA reads one.
  double ahead = double(schedule.getStages() - (schedule.getWgmma() ? 2 : 1));
  double latency = std::ceil(each / double(perSm)) *
                   (kArrivalTime + stages * kCopyTime / ahead);
  double bytes =
      double(product.n * product.h * product.w * product.c +
             product.k * product.depth() + product.pixels() * product.k);
  return std::max({work + kArrivalTime, latency, bytes / arch.memoryRate}) +
         (cluster > 1 ? kMergeTime : 0);
}

namespace {
/// Schedules and their estimated times.
class Ranking {
public:
  Ranking(const IntegerProduct &product, const GpuArch &arch)
      : product(product), arch(arch) {}

  void add(TileSizes tile, int64_t depth, int64_t stages, int64_t split,
           int64_t cluster, bool wgmma);
  SmallVector<IntegerGemmAttr> best(unsigned most);

private:
  const IntegerProduct &product;
  const GpuArch &arch;
  SmallVector<std::pair<double, IntegerGemmAttr>> ranked;
};
} // namespace

/// Adds a schedule if an SM has room for it: twice, if possible.
void Ranking::add(TileSizes tile, int64_t depth, int64_t stages, int64_t split,
                  int64_t cluster, bool wgmma) {
  auto make = [&](int64_t occupancy) {
    return IntegerGemmAttr::get(product.op->getContext(), tile.tileM,
                                tile.tileN, tile.warpM, tile.warpN, depth,
                                stages, split, cluster, occupancy, wgmma);
  };
  IntegerGemmAttr schedule = make(1);
  int64_t threads = threadsOf(schedule), shared = sharedBytesOf(schedule);
  int64_t sums = tile.warpM * tile.warpN / 32;
  if (threads < 64 || threads > 512 || sums > kSumsOfThread ||
      (threads > 256 && sums > kSumsOfThread / 2) ||
      shared > arch.sharedFor(1) || shared > arch.sharedPerBlock)
    return;
  if (threads == 256 && sums <= kSumsOfTwoBlocks && shared <= arch.sharedFor(2))
    schedule = make(2);
  ranked.push_back({estimateTime(product, schedule, arch), schedule});
}

SmallVector<IntegerGemmAttr> Ranking::best(unsigned most) {
  llvm::stable_sort(
      ranked, [](const auto &x, const auto &y) { return x.first < y.first; });
  SmallVector<IntegerGemmAttr> schedules;
  for (const auto &[time, schedule] : ranked)
    if (schedules.size() < most)
      schedules.push_back(schedule);
  return schedules;
}

SmallVector<IntegerGemmAttr>
frit::cuda::rankTiles(const IntegerProduct &product, const GpuArch &arch,
                      unsigned most) {
  Ranking ranking(product, arch);
  // The ranking keeps the order of equal estimates. Short products wait once if
  // all steps have a stage, and one is not copied ahead.
  for (int64_t cluster : {1, 2, 4, 8}) {
    int64_t stages = ceilDiv(ceilDiv(product.depth(), kLongDepth), cluster) + 1;
    if (stages <= kUsualStages || stages > kMostShortStages ||
        (cluster > 1 && arch.mma != Mma::wgmma))
      continue;
    for (TileSizes tile : kTiles)
      for (int64_t split = 1; split <= kLongDepth / 32; split *= 2)
        ranking.add(tile, kLongDepth, stages, split, cluster, /*wgmma=*/false);
  }
  // 4 stages come before 3, as they hide more latency.
  for (int64_t stages : {4, 6, 3})
    for (int64_t cluster : {1, 2, 4, 8}) {
      if (cluster > 1 && arch.mma != Mma::wgmma)
        continue;
      if (arch.mma == Mma::wgmma)
        for (TileSizes tile : kWideTiles)
          ranking.add(tile, /*depth=*/128, stages, /*split=*/1, cluster,
                      /*wgmma=*/true);
      for (TileSizes tile : kTiles)
        for (int64_t depth : {64, 128})
          for (int64_t split = 1; split <= depth / 32; split *= 2)
            ranking.add(tile, depth, stages, split, cluster, /*wgmma=*/false);
    }
  return ranking.best(most);
}
