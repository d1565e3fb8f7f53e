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
/// Tiles that a warp multiplies by what it has read of A, of codes and of
/// numbers, which take more room: up to this many, if each SM has a group of
/// warps; of codes of 4 bits, whose parts of k are read sooner, so many.
static constexpr int64_t kMostTiles = 4, kMostPlainTiles = 2, kFineGroups = 4;
/// Warps per SM that read codes of 8 and of 4 bits. Of more than kManyWarps,
/// each has fewer tiles in registers.
static constexpr int64_t kReadingWarps = 14, kFineReadingWarps = 28;
static constexpr int64_t kManyWarps = 16;
/// Columns of A that are in shared memory at a time, of a warp, and the bytes
/// up to which there are two such parts: as in code_rows.cuh.
static constexpr int64_t kSlab = 256, kMostBuffers = 100 << 10;
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

/// Returns the tiles along k of a warp, by codes.
static int64_t partsOf(const nn::GemmInfo &info, int64_t split) {
  return ceilDiv(info.k / depthOf(info), split);
}

/// Returns those for which A is in shared memory at a time.
static int64_t slabOf(const nn::GemmInfo &info, int64_t split) {
  return std::min(partsOf(info, split), kSlab / depthOf(info));
}

bool cuda::fitsSlabs(const nn::GemmInfo &info, RowsGemmAttr schedule) {
  if (!codesOf(info))
    return true;
  int64_t split = schedule.getSplit(), slab = slabOf(info, split);
  int64_t stages = std::min(schedule.getStages(), partsOf(info, split));
  return partsOf(info, split) == slab || slab % stages == 0;
}

static int64_t codeBytesOf(const nn::GemmInfo &info, RowsGemmAttr schedule) {
  int64_t split = schedule.getSplit(), slab = slabOf(info, split);
  int64_t width = slab * depthOf(info), m = rowsOfBlock(info, schedule);
  int64_t pieces = m * split;
  // Two bytes, or a number of 16 bits.
  int64_t rows = pieces * 2 * (width + (width % 64 ? 0 : 32));
  bool hasSlabs = partsOf(info, split) > slab;
  int64_t buffers = hasSlabs && 2 * rows <= kMostBuffers ? 2 : 1;
  int64_t rowsOfTile = nn::isInteger(codesOf(info)->code) ? 4 : 8;
  int64_t sums =
      schedule.getThreads() / 32 * ceilDiv(m, rowsOfTile) * rowsOfTile *
      (nn::kTileRows * schedule.getTiles() * countMatrices(info) + 4) *
      sizeof(float);
  return std::max(buffers * rows, sums) +
         (buffers + (info.norm ? 1 : 0)) * pieces * int64_t(sizeof(float));
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

/// Chooses for code_rows.cuh.
static RowsGemmAttr chooseCodes(const nn::GemmInfo &info, bool isFine,
                                int64_t sms) {
  int64_t matrices = countMatrices(info), tiles = matrices;
  int64_t columnTiles = matrices * ceilDiv(info.n, nn::kTileRows);
  int64_t chunks = info.k / depthOf(info);
  while (tiles < kMostTiles &&
         columnTiles / (2 * tiles) >= (isFine ? kFineGroups : 1) * sms)
    tiles *= 2;
  int64_t groups = ceilDiv(columnTiles, tiles), split = 1;
  int64_t reading = isFine ? kFineReadingWarps : kReadingWarps;
  while (split < kMostSplit && 2 * split <= chunks &&
         groups * split < reading * sms)
    split *= 2;
  // Warps of a block convert rows of A together.
  int64_t warps = split;
  while (warps < kMostSplit && groups * split >= 2 * warps * sms)
    warps *= 2;
  // Codes are read ahead into registers, of which all warps together have as
  // many as let them run at the same time.
  int64_t ahead = groups * split > kManyWarps * sms ? 4 : 16;
  int64_t stages = llvm::bit_floor(
      uint64_t(std::min({ceilDiv(chunks, split), kMostParts,
                         std::max<int64_t>(ahead / tiles, 1)})));
  // Sums of more than 8 rows take twice the registers.
  if (info.m > 8 && tiles > matrices)
    tiles /= 2;
  return RowsGemmAttr::get(info.a.getContext(), tiles / matrices, stages, split,
                           warps * 32, kMostTiledRows);
}

static RowsGemmAttr chooseForFew(const nn::GemmInfo &info,
                                 const Machine &machine) {
  int64_t sms = machine.arch.sms;
  if (auto codes = codesOf(info))
    return chooseCodes(info, nn::bitsOf(codes->code) < 8, sms);
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
    auto chosen =
        RowsGemmAttr::get(info.a.getContext(), tiles / matrices, stages, split,
                          std::max(split, kBlockWarps) * 32, kMostTiledRows);
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
  if (info.m <= kMostTiledRows || codesOf(info))
    return same;
  for (int64_t stages = same.getStages(); stages > 0; stages /= 2) {
    auto wide =
        RowsGemmAttr::get(info.a.getContext(), same.getTiles(), stages,
                          same.getSplit(), same.getThreads(), kMostBlockRows);
    if (sharedBytesOf(info, wide) <= machine.arch.sharedPerBlock)
      return wide;
  }
  return same;
}

LogicalResult
RowsGemmAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                     int64_t tiles, int64_t stages, int64_t split,
                     int64_t threads, int64_t rows) {
  if (failed(requireBlock(emitError, threads)) ||
      failed(require(emitError,
                     isPowerOf2UpTo(split, threads / 32) &&
                         threads / 32 % split == 0,
                     "split", "a power of 2 that divides the warps")) ||
      failed(require(emitError, isPowerOf2UpTo(tiles, kMostTiles), "tiles",
                     "1, 2 or 4")))
    return failure();
  if (failed(require(emitError, rows == 16 || rows == 32, "rows", "16 or 32")))
    return failure();
  return require(emitError, isPowerOf2UpTo(stages, 16), "stages",
                 "a power of 2 up to 16");
}
