//===- ScheduleTranspose.cpp - Choice of transpose schedules --------------===//

#include "codegen/cuda/transpose/TransposeKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Maximum rows for which blocks of skewed tiles with all rows have 256
/// threads.
static constexpr int64_t kFlatFewRows = 224;
/// In transpose_flat.cuh, the long side of a tile is a multiple of this.
static constexpr int64_t kFlatLong = 64;
/// Minimum side of a matrix for which skewed tiles pay.
static constexpr int64_t kSkewSide = 128;
/// Elements moved in the time of a launch.
static constexpr int64_t kLaunchMoves = 1 << 18;
/// Maximum bytes of a tile of runs, so that many blocks share an SM.
static constexpr int64_t kMaxRunTileBytes = 13 << 10;

namespace {
struct Tile {
  int64_t rows, cols;
};
} // namespace

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Returns the bytes of the largest unit, at most 8 bytes, that divides a run.
static int64_t unitOf(const TransposeKernel &kernel) {
  int64_t bytes = kernel.movedBytes();
  for (int64_t left = kernel.run; left % 2 == 0 && bytes < 8; left /= 2)
    bytes *= 2;
  return bytes;
}

/// Returns whether runs pay. Runs of whole vectors and of single four-byte
/// elements are as fast without shared memory.
static bool paysRuns(const TransposeKernel &kernel) {
  int64_t element = kernel.movedBytes(), bytes = kernel.run * element;
  return bytes % kVectorBytes != 0 && (kernel.run % 2 == 0 || element < 4) &&
         bytes <= kMaxRunTileBytes &&
         kernel.batch * kernel.rows * kernel.cols * kernel.run >= kLaunchMoves;
}

static nn::Schedule scheduleRuns(const TransposeKernel &kernel,
                                 MLIRContext *context) {
  int64_t unit = unitOf(kernel), bytes = kernel.run * kernel.movedBytes();
  auto fits = [&](int64_t count) { return count * bytes <= kMaxRunTileBytes; };
  int64_t tileRows = 1, tileCols = 1;
  // Write whole sectors; prefer long writes over long reads.
  while (tileRows * unit < kSectorBytes && tileRows < kernel.rows &&
         fits(2 * tileRows))
    tileRows *= 2;
  while (fits(2 * tileRows * tileCols) &&
         (tileRows < kernel.rows || tileCols < kernel.cols)) {
    bool across = tileCols < kernel.cols && 2 * tileCols <= tileRows;
    (across || tileRows >= kernel.rows ? tileCols : tileRows) *= 2;
  }
  return TransposeRunsAttr::get(context, unit, tileRows, tileCols,
                                kernel.hasAlignedLines(tileRows, tileCols));
}

//===----------------------------------------------------------------------===//
// Skewed tiles
//===----------------------------------------------------------------------===//

/// Returns whether a large matrix of 16-bit elements is only moved and cannot
/// use vectors on both sides.
static bool paysSkew(const TransposeKernel &kernel, Tile tile) {
  return std::min(kernel.load.vector, kernel.store.vector) == 1 &&
         std::min(kernel.rows, kernel.cols) >= kSkewSide &&
         tile.rows * tile.cols == 64 * 64 && kernel.isOnlyMoved() &&
         kernel.movedBytes() == 2;
}

static nn::Schedule scheduleSkewed(const TransposeKernel &kernel,
                                   MLIRContext *context) {
  int64_t rows = kernel.rows;
  // Blocks per SM such that registers hold everything they read.
  if (kernel.canHoldAllRows()) {
    int64_t occupancy = rows <= 144            ? 6
                        : rows <= 176          ? 5
                        : rows <= kFlatFewRows ? 4
                                               : 3;
    return TransposeSkewedFlatAttr::get(
        context, rows <= kFlatFewRows ? 256 : 384, occupancy);
  }
  // Choose the tile height with the least total rows read.
  int64_t best = 0, least = INT64_MAX;
  for (int64_t length : {80, 96, 112}) {
    int64_t lines = ceilDiv(rows + kSkew - 1, length) * (length + kSkew);
    if (lines < least) {
      best = length;
      least = lines;
    }
  }
  return TransposeSkewedAttr::get(context, best, best > 96 ? 3 : 4);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Chooses a small tile for a small tensor, to occupy all SMs. A tile that is
/// short in one dimension is long in the other, in a multiple of eight so that
/// vectors stay inside the tile.
static Tile chooseTile(const TransposeKernel &kernel, const GpuArch &arch) {
  int64_t rows = kernel.rows, cols = kernel.cols;
  int64_t elements = kernel.batch * rows * cols;
  int64_t side = elements >= 2 * arch.threadsOf(4096) ? 64 : 32;
  Tile tile = {std::min(rows, side), std::min(cols, side)};
  auto stretch = [&](int64_t other, int64_t all) {
    int64_t length = side * side / other;
    // transpose_flat.cuh needs such lengths.
    if (other % 8 && length >= kFlatLong && all >= kFlatLong)
      return std::min(llvm::alignTo(all, kFlatLong),
                      uint64_t(length / kFlatLong * kFlatLong));
    return uint64_t(std::min(all, std::max<int64_t>(length / 8 * 8, 8)));
  };
  if (tile.rows < side && rows <= cols)
    tile.cols = stretch(tile.rows, cols);
  else if (tile.cols < side)
    tile.rows = stretch(tile.cols, rows);
  return tile;
}

/// Returns the elements per word of the tile: as many as fit four bytes, or
/// one.
static int64_t wordOf(const TransposeKernel &kernel, Tile tile, bool flat) {
  int64_t bytes = kernel.moved->kind == Node::Kind::load
                      ? kernel.movedBytes()
                      : storageBytes(kernel.moved->type);
  int64_t word = std::max<int64_t>(4 / bytes, 1);
  return kernel.isWords(word, tile.cols) && !flat ? word : 1;
}

/// Blocks of transpose_bytes.cuh that share an SM.
static constexpr int64_t kByteOccupancy = 4;

/// Returns whether a matrix of bytes has tiles for all SMs.
static bool paysBytes(Problem &problem, const TransposeKernel &scalar,
                      const GpuArch &arch) {
  constexpr int64_t side = TransposeKernel::kByteTile;
  if (scalar.batch * ceilDiv(scalar.rows, side) * ceilDiv(scalar.cols, side) <
      arch.sms)
    return false;
  constexpr int64_t vector = TransposeKernel::kByteVector;
  auto built = buildTranspose(problem, vector, vector);
  return built && (*built)->takesBytes();
}

nn::Match<nn::Schedule> frit::cuda::chooseTranspose(Problem &problem,
                                                    const Machine &machine) {
  MLIRContext *context = problem.context();
  auto plain = buildTranspose(problem, 1, 1);
  if (!plain)
    return plain.mismatch();
  const TransposeKernel &scalar = **plain;
  if (scalar.isRuns() && !paysRuns(scalar))
    return nn::Mismatch("the transpose keeps the innermost dimension");
  // For a small tensor, going through shared memory takes longer than
  // uncoalesced reads.
  if (std::min(scalar.rows, scalar.cols) < 8 &&
      scalar.batch * scalar.rows * scalar.cols < kLaunchMoves)
    return nn::Mismatch("the tensor is small");
  if (scalar.isRuns())
    return scheduleRuns(scalar, context);
  if (paysBytes(problem, scalar, machine.arch))
    return nn::Schedule(TransposeBytesAttr::get(context, kByteOccupancy));

  Tile tile = chooseTile(scalar, machine.arch);
  auto fits = [&](int64_t loads, int64_t stores) {
    auto kernel = buildTranspose(problem, loads, stores);
    return kernel && (*kernel)->isVectorised(tile.rows, tile.cols);
  };
  int64_t loads = 8, stores = 8;
  while (loads > 1 && !fits(loads, 1))
    loads /= 2;
  while (stores > 1 && !fits(1, stores))
    stores /= 2;
  auto built = buildTranspose(problem, loads, stores);
  if (!built)
    return built.mismatch();
  const TransposeKernel &kernel = **built;
  if (paysSkew(kernel, tile))
    return scheduleSkewed(kernel, context);
  bool flatLoad = kernel.isFlat(true, loads, tile.rows, tile.cols);
  bool flatStore = kernel.isFlat(false, stores, tile.rows, tile.cols);
  if (flatLoad != flatStore && loads > 1 && stores > 1) {
    int64_t width = flatLoad ? tile.cols : tile.rows;
    int64_t length = flatLoad ? tile.rows : tile.cols;
    if (width % 8 && length % kFlatLong == 0)
      return nn::Schedule(TransposeFlatAttr::get(context, length, width, loads,
                                                 stores, flatLoad));
  }
  return nn::Schedule(TransposeAttr::get(
      context, tile.rows, tile.cols, loads, stores,
      wordOf(kernel, tile, flatLoad || flatStore), flatLoad, flatStore));
}
