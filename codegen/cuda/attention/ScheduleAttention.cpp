//===- ScheduleAttention.cpp - Choice of attention tiles ------------------===//

#include "codegen/cuda/attention/AttentionTile.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Queries from which large tiles pay for causal attention, and from which they
/// do if each SM gets this many tiles of 64 queries. A tile reads all keys up
/// to those of its last query, although earlier queries need fewer.
static constexpr int64_t kLongCausal = 2048, kShorterCausal = 1024;
static constexpr int64_t kManyTiles = 16;
/// Keys from which on it pays that another block reads some of them, and while
/// there are fewer blocks than SMs.
static constexpr int64_t kKeysPerBlock = 256, kKeysPerOnlyBlock = 128;
/// Maximum stages that a block holds if it holds all that it reads.
static constexpr int64_t kMostStagesHeld = 4;

/// Chooses the tile for a few queries of many keys, which warps and the blocks
/// of a cluster divide. Where blocks are few, each reads all of its keys before
/// it has a query. If results must not depend on the batch, nor do the tile and
/// the blocks of a cluster: more queries are columns of further tiles.
static AttentionTile chooseTileOfFew(const nn::AttentionInfo &info,
                                     const Machine &machine) {
  const GpuArch &arch = machine.arch;
  const bool hasColumns =
      takesColumns(info) && (machine.batchInvariant || info.queries <= 8);
  const int64_t rows = hasColumns ? 8 : 16;
  const int64_t size = std::max(info.size, info.valueSize);
  AttentionTile tile = {rows, rows, size > 64 ? 16 : 32, /*splits=*/4};
  auto areFew = [&](const AttentionTile &tile) {
    return hasColumns && tile.tiles(info) <= arch.sms;
  };
  while (arch.mma == Mma::wgmma && tile.cluster < 8) {
    AttentionTile wider = tile;
    wider.cluster *= 2;
    const bool isOnly = !machine.batchInvariant && areFew(wider);
    if (wider.cluster * (isOnly ? kKeysPerOnlyBlock : kKeysPerBlock) >
        info.keys)
      break;
    tile = wider;
  }
  while (tile.sharedBytes(info) > arch.sharedPerBlock && tile.n > 16)
    tile.n /= 2;
  AttentionTile whole = tile;
  whole.held = tile.stagesOfBlock(info);
  // Other kernels get the other half of an SM's shared memory.
  if (areFew(tile) && whole.held > tile.held && whole.held <= kMostStagesHeld &&
      whole.sharedBytes(info) <= arch.sharedFor(2))
    return whole;
  return tile;
}

/// Chooses large tiles for many queries, so that keys are read less often.
/// Otherwise spreads the queries over all SMs, and the keys of a block over
/// more warps.
AttentionTile frit::cuda::choosePlainTile(const nn::AttentionInfo &info,
                                          const Machine &machine) {
  const GpuArch &arch = machine.arch;
  int64_t heads = info.batch * info.heads;
  int64_t size = std::max(info.size, info.valueSize);
  int64_t rows = std::min<int64_t>(roundUp(info.queries, 16), 64);
  int64_t blocks = heads * ceilDiv(info.queries, 64);
  bool isSingle = elementBytes(info) == 4;
  AttentionTile tile = {rows, 16, 64, 1};
  if (machine.batchInvariant || (readsManyKeys(info) && arch.mma == Mma::wgmma))
    return chooseTileOfFew(info, machine);
  if (size > (isSingle ? 64 : 128)) {
    tile.n = 32;
  } else if (blocks >= 4 * arch.sms) {
    if (info.queries > 64)
      tile = {128, 32, 64, 1};
    // Padding keys of the last tile cost more than smaller tiles do.
    if (isSingle && roundUp(info.keys, 32) < roundUp(info.keys, 64))
      tile.n = 32;
  } else {
    if (2 * blocks < arch.sms)
      tile.m = std::min<int64_t>(rows, 32);
    tile.splits = tile.m > 16 ? 2 : 4;
    int64_t share = roundUp(ceilDiv(info.keys, tile.splits), 16);
    if (size <= 64)
      tile.n = share <= (isSingle ? 64 : 112)        ? share
               : info.keys % (96 * tile.splits) != 0 ? 64
                                                     : 96;
  }
  while (tile.sharedBytes(info) > arch.sharedPerBlock && tile.n > 16)
    tile.n = roundUp(tile.n / 2, 16);
  return tile;
}

/// Returns the number of keys that a warpgroup multiplies, padding included.
/// The last stage may be narrower.
static int64_t paddedKeys(const nn::AttentionInfo &info, int64_t n) {
  int64_t whole = info.keys / n * n;
  if (!info.causal && whole)
    for (int64_t width : {0, 16, 32, 64, 80, 96})
      if (info.keys - whole <= width && width < n)
        return whole + width;
  return roundUp(info.keys, n);
}

/// Chooses three or four warpgroups per SM, which overlap best on an H200: in
/// one block, which reads the keys once for all of them, or in three blocks if
/// the queries do not fill a large one. With few queries, warpgroups divide the
/// keys instead.
AttentionTile frit::cuda::chooseWgmmaTile(const nn::AttentionInfo &info,
                                          const GpuArch &arch) {
  AttentionTile tile;
  tile.stages = 2;
  int64_t blocks = tile.tiles(info);
  bool isLong =
      info.causal &&
      (info.queries >= kLongCausal ||
       (info.queries >= kShorterCausal && blocks >= kManyTiles * arch.sms));
  const int64_t size = std::max(info.size, info.valueSize);
  // The stage that all keys fit into, if there is one.
  auto fitKeys = [&](ArrayRef<int64_t> widths, int64_t otherwise) {
    auto fits = [&](int64_t n) { return info.keys <= n; };
    auto least = llvm::find_if(widths, fits);
    return least == widths.end() ? otherwise : *least;
  };
  if (size > 128) {
    tile.n = fitKeys({64, 80, 96}, 64);
    return tile;
  }
  if (size > 64) {
    AttentionTile three = {192, 16, 64, 1, /*stages=*/3};
    tile.n = fitKeys({64, 80}, 128);
    // Warpgroups that share the keys have one stage each: with more than two
    // tiles of keys they would wait for every copy.
    bool wouldWait = info.keys > 2 * tile.n && 4 * blocks >= 3 * arch.sms;
    if (blocks > 2 * arch.sms && isLong && three.hasRegisters(info, 1, arch))
      tile = three;
    else if (blocks > 2 * arch.sms || wouldWait ||
             (info.keys <= tile.n && blocks > arch.sms))
      tile.m = 128;
    else if (info.keys > tile.n)
      tile.splits = 2;
    return tile;
  }
  if (blocks > 2 * arch.sms) {
    AttentionTile four = {256, 16, 64, 1, /*stages=*/4};
    if (!info.causal && info.queries % 192 == 0)
      tile = {192, 16, 64, 1, /*stages=*/5};
    else if ((isLong ||
              (!info.causal && info.queries > 192 &&
               roundUp(info.queries, 256) == roundUp(info.queries, 64))) &&
             four.hasRegisters(info, 1, arch))
      tile = four;
    // Padding keys of the last tile cost as much as others.
    for (int64_t n : {80, 96}) {
      AttentionTile wider = tile;
      wider.n = n;
      int64_t occupancy = tile.withOccupancy(info, arch).occupancy;
      if (wider.withOccupancy(info, arch).occupancy == occupancy &&
          wider.hasRegisters(info, occupancy, arch) &&
          paddedKeys(info, n) <= paddedKeys(info, tile.n))
        tile = wider;
    }
    return tile;
  }
  // Two warpgroups share the tiles of keys.
  auto time = [&](int64_t n) { return roundUp(ceilDiv(info.keys, n), 2) * n; };
  tile.n = time(96) < time(128) ? 96 : 128;
  tile.splits = info.keys > tile.n ? 2 : 1;
  // Each stage belongs to one warpgroup.
  tile.stages = roundUp(std::clamp<int64_t>(ceilDiv(info.keys, tile.n), 2, 4),
                        tile.splits);
  return tile;
}

SmallVector<AttentionTile>
frit::cuda::allWgmmaTiles(const nn::AttentionInfo &info, const GpuArch &arch) {
  SmallVector<AttentionTile> tiles;
  for (int64_t m : {64, 128, 192, 256})
    for (int64_t n : {64, 80, 96, 128})
      for (int64_t splits : {1, 2, 3})
        for (int64_t stages : {2, 3, 4, 5}) {
          AttentionTile tile =
              AttentionTile{m, /*rowsPerWarp=*/16, n, splits, stages}
                  .withOccupancy(info, arch);
          bool small = m == 64 || m < info.queries + 64;
          bool few = tile.tiles(info) <= 2 * arch.sms;
          bool shares =
              splits == 1 || (m == 64 && info.keys > n * (splits - 1) && few &&
                              stages % splits == 0);
          // Extra stages that a tile's keys do not fill pay only if the block
          // has another tile whose keys can fill them.
          bool filled =
              stages == 2 || (stages - 1) * n < info.keys || tile.blocks != 0;
          if (small && shares && filled &&
              tile.sharedBytes(info) <= arch.sharedPerBlock)
            tiles.push_back(tile);
        }
  return tiles;
}

SmallVector<AttentionTile>
frit::cuda::allPlainTiles(const nn::AttentionInfo &info, const GpuArch &arch) {
  SmallVector<AttentionTile> tiles;
  bool isWide = std::max(info.size, info.valueSize) > 64;
  for (auto [m, rowsPerWarp] :
       {std::pair<int64_t, int64_t>{64, 16}, {128, 32}, {32, 16}, {64, 32}})
    for (int64_t n : {32, 48, 64, 96})
      for (int64_t splits : {1, 2, 4}) {
        AttentionTile tile = {m, rowsPerWarp, n, splits};
        bool small = m == 32 || m < info.queries + 32;
        bool shares = splits == 1 || info.keys > n * (splits - 1);
        // Two parts of wide rows do not fit a thread's registers.
        if (small && shares && !(isWide && rowsPerWarp == 32) &&
            tile.threads() <= 512 &&
            tile.sharedBytes(info) <= arch.sharedPerBlock)
          tiles.push_back(tile);
      }
  return tiles;
}
