//===- RowsSchedule.cpp - Schedules of products of a few rows -------------===//

#include "codegen/cuda/rows/RowsSchedule.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Rows of A of a block if there are more, of numbers.
static constexpr int64_t kMostBlockRows = 32;
/// Warps of a block that share k, and per SM whose copies hide the latency of
/// memory.
static constexpr int64_t kMostSplit = 16, kCopyingWarps = 28;
/// Parts of k of a warp in shared memory.
static constexpr int64_t kMostParts = 4;
/// Warps of a block that need not share k.
static constexpr int64_t kBlockWarps = 8;
/// Tiles of numbers that a warp multiplies by what it has read of A: up to this
/// many, if each SM has a group of warps.
static constexpr int64_t kMostTiles = 4, kMostPlainTiles = 2;
/// Schedules of codes: warps of an SM, and the most that share k. All warps of
/// an SM share it if SMs get at most one tile of columns each, and each warp
/// then has kDeepParts tiles along k or more.
static constexpr int64_t kCodeWarps = 16, kCodeSplit = 8, kDeepParts = 8;
/// Elements of a row of A from which on an SM has two blocks for few of them.
static constexpr int64_t kLongRows = 4096;
/// Tiles along k that a warp copies together, and how often it does ahead.
static constexpr int64_t kMostTogether = 4, kMostCodeStages = 8;
static constexpr int64_t kMostRounds = 1 << 16;
/// Rounds from which on a kernel is so long that it hides its ends, and the
/// stages that it has even if no other block fits beside it.
static constexpr int64_t kManyRounds = 16, kLongStages = 4;
/// Columns for which a row of A has one factor, of a warp, and the bytes up to
/// which all of them are in shared memory: as in scaled_rows.cuh.
static constexpr int64_t kSlab = 256, kMostWhole = 72 << 10;
/// Likewise of rows that are copied as they are.
static constexpr int64_t kMostCopied = 152 << 10;
/// KiB of these with which the head of a language model asks for no more of an
/// SM's memory than layers whose blocks are small.
static constexpr int64_t kFewSums = 28;
/// Blocks that share rows of A. All SMs have clusters of two; of four, some
/// cards run only 30 at a time.
static constexpr int64_t kSharing = 2;
/// KiB that a schedule may ask for so that an SM has one block.
static constexpr int64_t kMostSharedKiB = 256;
/// Elements of a row of numbers in a tile: kDepth of plain_tiles.cuh.
static constexpr int64_t kPlainDepth = 64;

std::optional<nn::QuantizedMatrix> cuda::codesOf(const nn::GemmInfo &info) {
  auto codes = info.b.getDefiningOp<nn::DequantizeOp>();
  if (!codes)
    return std::nullopt;
  return nn::describeQuantized(codes);
}

/// Returns the elements of a row of B in a tile.
static int64_t depthOf(const nn::GemmInfo &info) {
  auto codes = codesOf(info);
  return codes ? nn::kTileRowBytes * 8 / nn::bitsOf(codes->code) : kPlainDepth;
}

static int64_t countMatrices(const nn::GemmInfo &info) {
  return info.pairedB ? 2 : 1;
}

int64_t cuda::rowsOfBlock(const nn::GemmInfo &info, RowsGemmAttr schedule) {
  return std::min(info.m, schedule.getRows());
}

namespace {
/// How `split` warps share the codes of a product, in tiles along k: as
/// CodeShares of code_lanes.cuh.
struct CodeShares {
  int64_t depth;         ///< columns of a tile
  int64_t chunks, parts; ///< of the matrix and of a warp
  int64_t slab;          ///< for which a row of A has one factor

  CodeShares(const nn::GemmInfo &info, int64_t split)
      : depth(depthOf(info)), chunks(info.k / depth),
        parts(ceilDiv(chunks, split)), slab(std::min(parts, kSlab / depth)) {}

  /// Returns whether shares and slabs consist of so many tiles.
  bool consistOf(int64_t together) const {
    return chunks % together == 0 && parts % together == 0 &&
           slab % together == 0;
  }
};
} // namespace

bool cuda::fitsShares(const nn::GemmInfo &info, RowsGemmAttr schedule) {
  if (!codesOf(info))
    return schedule.getRounds() == 1 && schedule.getTogether() == 1;
  return CodeShares(info, schedule.getSplit())
      .consistOf(schedule.getTogether());
}

int64_t cuda::blocksOfRow(const nn::GemmInfo &info, RowsGemmAttr schedule) {
  int64_t groups = schedule.getThreads() / 32 / schedule.getSplit();
  return ceilDiv(info.n, nn::kTileRows * schedule.getTiles() * groups *
                             schedule.getRounds());
}

/// Returns whether rows of A are copied as they are if all of them fit.
static bool copiesRows(const nn::GemmInfo &info, RowsGemmAttr schedule) {
  return schedule.getWidens() && !info.norm &&
         nn::bitsOf(codesOf(info)->code) == 4;
}

bool cuda::canShareRows(const nn::GemmInfo &info, RowsGemmAttr schedule) {
  if (!codesOf(info) || !copiesRows(info, schedule))
    return false;
  const CodeShares shares(info, schedule.getSplit());
  int64_t width = shares.slab * shares.depth;
  return info.m <= schedule.getRows() &&
         shares.chunks == shares.parts * schedule.getSplit() &&
         shares.parts % shares.slab == 0 && llvm::isPowerOf2_64(width) &&
         info.m * info.k / width * 2 * (width + (width % 64 ? 0 : 32)) <=
             kMostCopied &&
         blocksOfRow(info, schedule) % schedule.getSharing() == 0;
}

/// Returns the bytes of shared memory of a block: what codeRowsShared returns,
/// or more.
static int64_t codeBytesOf(const nn::GemmInfo &info, RowsGemmAttr schedule) {
  const CodeShares shares(info, schedule.getSplit());
  nn::QuantizedMatrix matrix = *codesOf(info);
  int64_t warps = schedule.getThreads() / 32, m = rowsOfBlock(info, schedule);
  int64_t warpTiles = schedule.getTiles() * countMatrices(info);
  // A scale for each 16 columns or more, of 16 rows.
  int64_t scaled =
      std::min(shares.depth, matrix.block % 32             ? 16
                             : matrix.block % shares.depth ? 32
                                                           : shares.depth);
  int64_t scales = matrix.block == info.k
                       ? 0
                       : shares.depth / scaled * (matrix.offsets ? 2 : 1) *
                             nn::kTileRows *
                             storageBytes(elementType(matrix.scales));
  int64_t ring = warps * schedule.getStages() * warpTiles *
                 schedule.getTogether() * (nn::kTileBytes + scales);
  int64_t pieces = m * schedule.getSplit();
  int64_t width = shares.slab * shares.depth;
  int64_t slabs = ceilDiv(shares.parts, shares.slab);
  // Two bytes, or a number of 16 bits.
  int64_t slabBytes = pieces * 2 * (width + (width % 64 ? 0 : 32));
  bool copies = copiesRows(info, schedule);
  bool isWhole = slabs * slabBytes <= (copies ? kMostCopied : kMostWhole);
  int64_t buffers = isWhole ? slabs : 2 * slabBytes <= kMostWhole ? 2 : 1;
  int64_t squares = info.norm ? (isWhole ? slabs : 1) * pieces : 0;
  int64_t roundBytes = warps * m * (nn::kTileRows * warpTiles + 4) * 4;
  int64_t rounds = std::clamp<int64_t>((schedule.getSums() << 10) / roundBytes,
                                       1, schedule.getRounds());
  int64_t bytes =
      ring + buffers * slabBytes + rounds * roundBytes +
      ((schedule.getWidens() ? 0 : buffers * pieces) + squares) * 4 +
      (schedule.getSharing() > 1 ? schedule.getSplit() * 8 : 0);
  return std::max(bytes, schedule.getShared() << 10);
}

/// Returns the bytes of shared memory of a block, as rowsGemmShared does.
int64_t cuda::sharedBytesOf(const nn::GemmInfo &info, RowsGemmAttr schedule) {
  if (codesOf(info))
    return codeBytesOf(info, schedule);
  int64_t warps = schedule.getThreads() / 32;
  int64_t tiles = schedule.getTiles() * countMatrices(info);
  int64_t depth = depthOf(info), tile = nn::kTileRows * depth * 2;
  int64_t rows = rowsOfBlock(info, schedule);
  int64_t stage = tiles * tile + (rows + (info.norm ? 1 : 0)) * depth * 2;
  int64_t sums = ceilDiv(rows, 8) * 8 *
                 (nn::kTileRows * tiles + 4 + (info.norm ? 1 : 0)) *
                 sizeof(float);
  return warps * std::max(schedule.getStages() * stage, sums);
}

/// Returns whether rows are copied to shared memory as they are, and codes made
/// numbers: to convert several rows anew in each block, norms apart, takes
/// longer than the codes of one or two tiles.
static bool paysToWiden(const nn::GemmInfo &info) {
  return elementType(info.a).isBF16() && !info.norm &&
         codesOf(info)->code == nn::Code::int4;
}

/// Returns whether the function of a product by codes multiplies by codes of
/// int4, too, for few rows of which blocks are small.
static bool hasSmallBlocks(const nn::GemmInfo &info) {
  auto function =
      info.b.getDefiningOp()->getParentOfType<FunctionOpInterface>();
  bool found = false;
  if (function)
    function->walk([&](nn::DequantizeOp codes) {
      found |= nn::describeQuantized(codes).code == nn::Code::int4;
    });
  return found;
}

/// Chooses for code_rows.cuh.
static RowsGemmAttr chooseCodes(const nn::GemmInfo &info,
                                const Machine &machine) {
  int64_t sms = machine.arch.sms, chunks = info.k / depthOf(info);
  int64_t columnTiles = ceilDiv(info.n, nn::kTileRows);
  bool isWide = info.m > kFewCodeRows;
  // The order of sums, which `split` decides, is the same for any rows.
  bool isDeep = columnTiles <= sms && chunks >= kDeepParts * kCodeWarps;
  int64_t most = isDeep ? kCodeWarps : kCodeSplit, split = 1;
  while (split < most && 2 * split <= chunks)
    split *= 2;
  // Long kernels hide the latency of their ends if an SM has two blocks. Warps
  // of a block convert rows of A together, which many rows need.
  bool isLong = !isDeep && info.k >= kLongRows;
  bool isFloat4 = codesOf(info)->code == nn::Code::e2m1; // takes registers
  // Small blocks of short kernels find room beside those of the kernels before
  // on every SM, where larger ones share one.
  bool isSmall = !isWide && !isLong && codesOf(info)->code == nn::Code::int4;
  bool isDouble = isSmall ? !isDeep : isLong && !isWide && !isFloat4;
  int64_t blocks = isDouble ? 2 : 1;
  int64_t groups = std::max<int64_t>(1, kCodeWarps / blocks / split);
  while (groups > 1 && ceilDiv(columnTiles, groups) < (isWide ? sms / 3 : sms))
    groups /= 2;
  int64_t rounds = 1, together = kMostTogether, stages = 1;
  int64_t sums = kMostSums, sharing = 1, shared = 0;
  const bool widens = !machine.batchInvariant && isWide && paysToWiden(info);
  auto chosen = [&] {
    return RowsGemmAttr::get(info.a.getContext(), /*tiles=*/1, stages, split,
                             groups * split * 32, kMostTiledRows, rounds,
                             together, widens, sums, sharing, shared);
  };
  auto fitsIn = [&](int64_t room) {
    return sharedBytesOf(info, chosen()) <= room;
  };
  for (int64_t room = machine.arch.sharedPerBlock;;) {
    // All blocks run at the same time.
    rounds = ceilDiv(ceilDiv(columnTiles, groups), blocks * sms);
    together = info.m > 8 ? kMostTogether / 2 : kMostTogether; // registers
    if (isSmall)
      together = isDeep ? 1 : 2 / countMatrices(info);
    int64_t parts = CodeShares(info, split).parts;
    while (!CodeShares(info, split).consistOf(together) ||
           (!isWide && !isSmall && rounds * parts / together < kMostParts &&
            together > 1))
      together /= 2;
    while (together > 1 && !fitsIn(room))
      together /= 2;
    if (fitsIn(room) || groups * split == 1)
      break;
    (groups > 1 ? groups : split) /= 2;
  }
  // More stages than that would keep the next kernel's blocks away.
  int64_t all = rounds * CodeShares(info, split).parts / together;
  int64_t least = !isWide                 ? 1
                  : isLong                ? 2
                  : rounds >= kManyRounds ? kLongStages
                                          : 1;
  while (stages < kMostCodeStages && stages < all) {
    stages *= 2;
    if (fitsIn(stages <= least ? machine.arch.sharedPerBlock
                               : machine.arch.sharedFor(isSmall ? 4 : 2)))
      continue;
    stages /= 2;
    break;
  }
  // If a part is all that is on its way, products begin with its first tile.
  if (isWide && !widens && !isDeep && !isLong && stages == 1 &&
      together == kMostTogether && codesOf(info)->code == nn::Code::int4)
    std::swap(stages, together);
  // Long rows of A take longer to read for each block than its codes.
  if (widens && machine.arch.mma == Mma::wgmma) {
    sharing = kSharing;
    if (!canShareRows(info, chosen()) || !fitsIn(machine.arch.sharedPerBlock))
      sharing = 1;
  }
  if (!isWide && hasSmallBlocks(info)) {
    int64_t bytes = sharedBytesOf(info, chosen());
    sums = kFewSums;
    if (sharedBytesOf(info, chosen()) == bytes)
      sums = kMostSums;
  }
  // Two blocks on the SM that is idle first would leave another one idle.
  const int64_t half = machine.arch.sharedFor(2);
  if (isWide && groups * split == kCodeWarps && !machine.batchInvariant &&
      codesOf(info)->code == nn::Code::int4 && fitsIn(half))
    shared = (half >> 10) + 1;
  return chosen();
}

static RowsGemmAttr chooseForFew(const nn::GemmInfo &info,
                                 const Machine &machine) {
  int64_t sms = machine.arch.sms;
  if (codesOf(info))
    return chooseCodes(info, machine);
  int64_t matrices = countMatrices(info);
  int64_t columnTiles = matrices * ceilDiv(info.n, nn::kTileRows);
  int64_t chunks = ceilDiv(info.k, depthOf(info));
  // Neighbours share what a warp reads of A, but all SMs need blocks.
  int64_t tiles = matrices;
  while (tiles < kMostPlainTiles && columnTiles / (2 * tiles) >= sms)
    tiles *= 2;
  // The order of sums, which `split` decides, is the same for any rows.
  int64_t split = 1, groups = ceilDiv(columnTiles, tiles);
  while (split < kMostSplit && 2 * split <= chunks &&
         groups * split < kCopyingWarps * sms)
    split *= 2;
  int64_t parts = ceilDiv(chunks, split);
  // Copies of B begin before the kernel waits for A: as many as leave room for
  // another block, which may be one of the next kernel. A long kernel hides
  // the latency by itself.
  int64_t room = machine.arch.sharedPerBlock / (split > 1 ? 2 : 1);
  int64_t stages = llvm::bit_floor(uint64_t(std::min(parts, kMostParts)));
  while (true) {
    auto chosen = RowsGemmAttr::get(
        info.a.getContext(), tiles / matrices, stages, split,
        std::max(split, kBlockWarps) * 32, kMostTiledRows,
        /*rounds=*/1, /*together=*/1, /*widens=*/false, kMostSums,
        /*sharing=*/1, /*shared=*/0);
    if (sharedBytesOf(info, chosen) <= room ||
        split * stages * tiles == matrices)
      return chosen;
    int64_t &less = stages > 1 ? stages : split > 1 ? split : tiles;
    less /= 2;
  }
}

RowsGemmAttr cuda::chooseRows(const nn::GemmInfo &info,
                              const Machine &machine) {
  if (!machine.batchInvariant)
    return chooseForFew(info, machine);
  // The order of sums is that for 16 rows: only the stages and the rows of a
  // block differ.
  nn::GemmInfo few = info;
  few.m = kMostTiledRows;
  RowsGemmAttr same = chooseForFew(few, machine);
  if (codesOf(info))
    return same;
  if (info.m <= kMostTiledRows) {
    // Fewer rows in shared memory leave room for more stages.
    RowsGemmAttr own = chooseForFew(info, machine);
    bool hasShares = own.getTiles() == same.getTiles() &&
                     own.getSplit() == same.getSplit() &&
                     own.getThreads() == same.getThreads();
    return hasShares ? own : same;
  }
  for (int64_t stages = same.getStages(); stages > 0; stages /= 2) {
    auto wide = RowsGemmAttr::get(
        info.a.getContext(), same.getTiles(), stages, same.getSplit(),
        same.getThreads(), kMostBlockRows,
        /*rounds=*/1, /*together=*/1, /*widens=*/false, kMostSums,
        /*sharing=*/1, /*shared=*/0);
    if (sharedBytesOf(info, wide) <= machine.arch.sharedPerBlock)
      return wide;
  }
  return same;
}

LogicalResult
RowsGemmAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                     int64_t tiles, int64_t stages, int64_t split,
                     int64_t threads, int64_t rows, int64_t rounds,
                     int64_t together, bool widens, int64_t sums,
                     int64_t sharing, int64_t shared) {
  if (failed(requireBlock(emitError, threads)) ||
      failed(require(emitError,
                     isPowerOf2UpTo(split, threads / 32) &&
                         threads / 32 % split == 0,
                     "split", "a power of 2 that divides the warps")) ||
      failed(require(emitError, isPowerOf2UpTo(tiles, kMostTiles), "tiles",
                     "1, 2 or 4")) ||
      failed(require(emitError, rounds > 0 && rounds <= kMostRounds, "rounds",
                     "1 to 65536")) ||
      failed(require(emitError, isPowerOf2UpTo(together, kMostTogether),
                     "together", "1, 2 or 4")))
    return failure();
  if (failed(require(emitError, rows == 16 || rows == 32, "rows", "16 or 32")))
    return failure();
  if (failed(require(emitError, sums > 0 && sums <= kMostSums, "sums",
                     "1 to 32")) ||
      failed(require(emitError, isPowerOf2UpTo(sharing, 8), "sharing",
                     "1, 2, 4 or 8")) ||
      failed(require(emitError, shared >= 0 && shared <= kMostSharedKiB,
                     "shared", "0 to 256")))
    return failure();
  return require(emitError, isPowerOf2UpTo(stages, 16), "stages",
                 "a power of 2 up to 16");
}
