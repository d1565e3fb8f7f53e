//===- Transpose.cpp - Tiled transposes -----------------------------------===//

#include "codegen/cuda/transpose/TransposeKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Returns `frit::function<NAME_body, arguments>({x0, ...}, values);`.
static std::string callText(StringRef function, StringRef name,
                            const Twine &arguments, const LinalgFusion &lowered,
                            ArrayRef<int64_t> values) {
  std::string text = ("frit::" + function + "<" + name + "_body" +
                      (arguments.isTriviallyEmpty() ? "" : ", ") + arguments +
                      ">({" + argumentList(lowered) + "}")
                         .str();
  for (int64_t value : values)
    text += ", " + std::to_string(value);
  return text + ");\n";
}

static KernelText finish(std::string body, StringRef header, StringRef name,
                         const LinalgFusion &lowered, const KernelFrame &frame,
                         StringRef call, int64_t tiles) {
  KernelText text;
  text.header = header;
  text.source = std::move(body) + kernelFunction(name, lowered, frame, call);
  text.grid[0] = std::min<int64_t>(INT32_MAX, tiles);
  text.block[0] = frame.threads;
  return text;
}

using BuiltTranspose = nn::Match<std::unique_ptr<TransposeKernel>>;

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Threads per block of the skeletons with a fixed block size.
static constexpr int64_t kTransposeThreads = 256;

LogicalResult
TransposeRunsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                          int64_t unit, int64_t tileRows, int64_t tileCols,
                          bool aligned) {
  if (failed(require(emitError, isPowerOf2UpTo(unit, 8), "unit",
                     "1, 2, 4 or 8 bytes")))
    return failure();
  constexpr StringLiteral side = "a power of two of at most 8192";
  if (failed(require(emitError, isPowerOf2UpTo(tileRows, 8192), "tile_rows",
                     side)))
    return failure();
  return require(emitError, isPowerOf2UpTo(tileCols, 8192), "tile_cols", side);
}

namespace {
class TransposeRuns : public TransposeFamily<TransposeRunsAttr> {
  BuiltTranspose fit(Problem &problem, TransposeRunsAttr schedule,
                     const Machine &machine) const override {
    auto built = buildTranspose(problem, 1, 1);
    if (!built)
      return built;
    const TransposeKernel &kernel = **built;
    int64_t unit = schedule.getUnit();
    int64_t tileRows = schedule.getTileRows();
    int64_t tileCols = schedule.getTileCols();
    if (!kernel.isRuns() || unit % kernel.movedBytes() ||
        kernel.run * kernel.movedBytes() % unit)
      return nn::Mismatch("it moves no runs of such units");
    int64_t bytes = tileRows * tileCols * kernel.run * kernel.movedBytes();
    if (bytes > GpuArch::staticShared)
      return nn::Mismatch("its tile does not fit into shared memory");
    if (schedule.getAligned() && !kernel.hasAlignedLines(tileRows, tileCols))
      return nn::Mismatch("its lines are no whole vectors");
    return built;
  }
  KernelText print(std::unique_ptr<TransposeKernel> &built, Problem &problem,
                   TransposeRunsAttr schedule, StringRef name) const override {
    TransposeKernel &kernel = *built;
    int64_t unit = schedule.getUnit();
    int64_t tileRows = schedule.getTileRows();
    int64_t tileCols = schedule.getTileCols();
    int64_t elements = unit / kernel.movedBytes();
    int64_t count = kernel.batch * kernel.rows * kernel.cols;
    const LinalgFusion &lowered = problem.lowered();
    return finish(
        kernel.printMoved(name, unit), "transpose_runs", name, lowered,
        {.threads = kTransposeThreads},
        callText("transposeRuns", name,
                 TransposeKernel::unitName(unit) + ", " +
                     Twine(kernel.run / elements) + ", " + Twine(tileRows) +
                     ", " + Twine(tileCols) +
                     (schedule.getAligned() ? ", true" : ""),
                 lowered,
                 {kernel.rows, kernel.cols, kernel.row.from / elements,
                  kernel.col.to / elements, count * kernel.run / elements}),
        kernel.batch * ceilDiv(kernel.rows, tileRows) *
            ceilDiv(kernel.cols, tileCols));
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Skewed tiles
//===----------------------------------------------------------------------===//

/// Elements per line of transpose_skewed.cuh that are not columns of its tile.
static constexpr int64_t kSkewPhases = 8;

/// Builds the kernel if it only moves matrices of 16-bit elements; otherwise
/// returns the mismatch.
static BuiltTranspose buildSkewed(Problem &problem) {
  auto kernel = buildTranspose(problem, 1, 1);
  if (kernel && ((*kernel)->isRuns() || !(*kernel)->isOnlyMoved() ||
                 (*kernel)->movedBytes() != 2))
    return nn::Mismatch("it does more than moving elements of 16 bits");
  return kernel;
}

LogicalResult TransposeSkewedFlatAttr::verify(
    llvm::function_ref<InFlightDiagnostic()> emitError, int64_t threads,
    int64_t occupancy) {
  if (failed(requireRanges(emitError, {{"occupancy", occupancy, 1, 32}})))
    return failure();
  return requireBlock(emitError, threads);
}

LogicalResult
TransposeSkewedAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                            int64_t rows, int64_t occupancy) {
  if (failed(requireRanges(emitError, {{"occupancy", occupancy, 1, 32}})))
    return failure();
  return require(emitError, rows == 80 || rows == 96 || rows == 112, "rows",
                 "80, 96 or 112");
}

namespace {

class TransposeSkewedFlat : public TransposeFamily<TransposeSkewedFlatAttr> {
  BuiltTranspose fit(Problem &problem, TransposeSkewedFlatAttr schedule,
                     const Machine &machine) const override {
    auto built = buildSkewed(problem);
    if (built && !(*built)->canHoldAllRows())
      return nn::Mismatch("a tile cannot have all rows");
    return built;
  }
  KernelText print(std::unique_ptr<TransposeKernel> &built, Problem &problem,
                   TransposeSkewedFlatAttr schedule,
                   StringRef name) const override {
    TransposeKernel &kernel = *built;
    constexpr int64_t line = TransposeKernel::kFlatLine;
    int64_t threads = schedule.getThreads();
    const LinalgFusion &lowered = problem.lowered();
    // A tile also reads the column before its first.
    KernelText text = finish(
        kernel.printMoved(name, /*unit=*/2), "transpose_skewed", name, lowered,
        {.threads = threads, .occupancy = schedule.getOccupancy()},
        callText("transposeSkewedFlat", name,
                 Twine(line) + ", " + Twine(kernel.rows) + ", " +
                     Twine(threads),
                 lowered,
                 {kernel.cols, kernel.row.from,
                  kernel.batch * kernel.rows * kernel.cols}),
        kernel.batch * ceilDiv(kernel.cols, line - kSkewPhases - 1));
    text.sharedBytes = llvm::alignTo(kernel.rows, 4) * (line + 2) * 2;
    return text;
  }
};

class TransposeSkewed : public TransposeFamily<TransposeSkewedAttr> {
  BuiltTranspose fit(Problem &problem, TransposeSkewedAttr schedule,
                     const Machine &machine) const override {
    return buildSkewed(problem);
  }
  KernelText print(std::unique_ptr<TransposeKernel> &built, Problem &problem,
                   TransposeSkewedAttr schedule,
                   StringRef name) const override {
    TransposeKernel &kernel = *built;
    constexpr int64_t line = TransposeKernel::kSkewLine;
    int64_t rows = schedule.getRows();
    const LinalgFusion &lowered = problem.lowered();
    // Skewed columns reach up to a sector beyond the matrix, hence the extra
    // rows.
    KernelText text = finish(
        kernel.printMoved(name, /*unit=*/2), "transpose_skewed", name, lowered,
        {.threads = 4 * rows, .occupancy = schedule.getOccupancy()},
        callText("transposeSkewed", name, Twine(line) + ", " + Twine(rows),
                 lowered,
                 {kernel.rows, kernel.cols, kernel.row.from, kernel.col.to,
                  kernel.batch * kernel.rows * kernel.cols}),
        kernel.batch * ceilDiv(kernel.rows + kSkew - 1, rows) *
            ceilDiv(kernel.cols, line - kSkewPhases));
    text.sharedBytes = (rows + kSkew) * (line + 2) * 2;
    return text;
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Other tiles
//===----------------------------------------------------------------------===//
/// Maximum elements of a tile.
static constexpr int64_t kTileElements = 64 * 64;

static LogicalResult
verifyVectors(llvm::function_ref<InFlightDiagnostic()> emitError,
              int64_t loadVector, int64_t storeVector) {
  if (failed(require(emitError, isPowerOf2UpTo(loadVector, 8), "load_vector",
                     "1, 2, 4 or 8")))
    return failure();
  return require(emitError, isPowerOf2UpTo(storeVector, 8), "store_vector",
                 "1, 2, 4 or 8");
}

/// Verifies the sides of a tile in shared memory.
static LogicalResult
verifySides(llvm::function_ref<InFlightDiagnostic()> emitError,
            NumberRange rows, NumberRange cols) {
  if (failed(requireRanges(emitError, {rows, cols})))
    return failure();
  return require(emitError, rows.value * cols.value <= kTileElements,
                 rows.field, "such that a tile has up to 4096 elements");
}

LogicalResult
TransposeFlatAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                          int64_t length, int64_t width, int64_t loadVector,
                          int64_t storeVector, bool tall) {
  if (failed(verifySides(emitError, {"length", length, 64, kTileElements},
                         {"width", width, 1, 64})) ||
      failed(
          require(emitError, length % 64 == 0, "length", "a multiple of 64")) ||
      failed(require(emitError, width % 8 != 0, "width", "no multiple of 8")))
    return failure();
  return verifyVectors(emitError, loadVector, storeVector);
}

LogicalResult
TransposeAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      int64_t tileRows, int64_t tileCols, int64_t loadVector,
                      int64_t storeVector, int64_t word, bool flatLoad,
                      bool flatStore) {
  if (failed(verifySides(emitError, {"tile_rows", tileRows, 1, kTileElements},
                         {"tile_cols", tileCols, 1, kTileElements})) ||
      failed(require(emitError, isPowerOf2UpTo(word, 4), "word", "1, 2 or 4")))
    return failure();
  return verifyVectors(emitError, loadVector, storeVector);
}

LogicalResult
TransposeBytesAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                           int64_t occupancy) {
  return requireRanges(emitError, {{"occupancy", occupancy, 1, 8}});
}

/// Returns the rows and columns of a tile.
static std::pair<int64_t, int64_t> sidesOf(TransposeFlatAttr schedule) {
  int64_t length = schedule.getLength(), width = schedule.getWidth();
  return schedule.getTall() ? std::pair(length, width)
                            : std::pair(width, length);
}

namespace {

class TransposeFlat : public TransposeFamily<TransposeFlatAttr> {
  BuiltTranspose fit(Problem &problem, TransposeFlatAttr schedule,
                     const Machine &machine) const override {
    int64_t loads = schedule.getLoadVector();
    int64_t stores = schedule.getStoreVector();
    auto built = buildTranspose(problem, loads, stores);
    if (!built)
      return built;
    const TransposeKernel &kernel = **built;
    bool tall = schedule.getTall();
    auto [tileRows, tileCols] = sidesOf(schedule);
    if (kernel.isRuns() || !kernel.isVectorised(tileRows, tileCols) ||
        !kernel.isFlat(tall, tall ? loads : stores, tileRows, tileCols))
      return nn::Mismatch("its tile is no run of whole vectors");
    return built;
  }
  KernelText print(std::unique_ptr<TransposeKernel> &built, Problem &problem,
                   TransposeFlatAttr schedule, StringRef name) const override {
    TransposeKernel &kernel = *built;
    bool tall = schedule.getTall();
    auto [tileRows, tileCols] = sidesOf(schedule);
    const LinalgFusion &lowered = problem.lowered();
    return finish(kernel.print(name), "transpose_flat", name, lowered,
                  {.threads = kTransposeThreads},
                  callText("transposeFlat", name,
                           Twine(schedule.getLength()) + ", " +
                               Twine(schedule.getWidth()) + ", " +
                               Twine(schedule.getLoadVector()) + ", " +
                               Twine(schedule.getStoreVector()) +
                               (tall ? ", true" : ", false"),
                           lowered,
                           {tall ? kernel.rows : kernel.cols,
                            tall ? kernel.col.to : kernel.row.from}),
                  kernel.batch * ceilDiv(kernel.rows, tileRows) *
                      ceilDiv(kernel.cols, tileCols));
  }
};

class TransposeBytes : public TransposeFamily<TransposeBytesAttr> {
  BuiltTranspose fit(Problem &problem, TransposeBytesAttr schedule,
                     const Machine &machine) const override {
    constexpr int64_t vector = TransposeKernel::kByteVector;
    auto built = buildTranspose(problem, vector, vector);
    if (built && !(*built)->takesBytes())
      return nn::Mismatch("it moves no bytes in whole vectors");
    return built;
  }
  KernelText print(std::unique_ptr<TransposeKernel> &built, Problem &problem,
                   TransposeBytesAttr schedule, StringRef name) const override {
    constexpr int64_t side = TransposeKernel::kByteTile;
    TransposeKernel &kernel = *built;
    const LinalgFusion &lowered = problem.lowered();
    return finish(
        kernel.print(name), "transpose_bytes", name, lowered,
        {.threads = kTransposeThreads, .occupancy = schedule.getOccupancy()},
        callText("transposeBytes", name, "", lowered,
                 {kernel.batch, kernel.rows, kernel.cols, kernel.row.from,
                  kernel.col.to}),
        kernel.batch * ceilDiv(kernel.rows, side) * ceilDiv(kernel.cols, side));
  }
};

class Transpose : public TransposeFamily<TransposeAttr> {
  BuiltTranspose fit(Problem &problem, TransposeAttr schedule,
                     const Machine &machine) const override {
    int64_t loads = schedule.getLoadVector();
    int64_t stores = schedule.getStoreVector();
    auto built = buildTranspose(problem, loads, stores);
    if (!built)
      return built;
    const TransposeKernel &kernel = **built;
    int64_t tileRows = schedule.getTileRows();
    int64_t tileCols = schedule.getTileCols();
    bool flatLoad = schedule.getFlatLoad(), flatStore = schedule.getFlatStore();
    if (kernel.isRuns() || !kernel.isVectorised(tileRows, tileCols) ||
        (flatLoad && !kernel.isFlat(true, loads, tileRows, tileCols)) ||
        (flatStore && !kernel.isFlat(false, stores, tileRows, tileCols)))
      return nn::Mismatch("its tile has no such vectors");
    if (!kernel.isWords(schedule.getWord(), tileCols) ||
        (schedule.getWord() > 1 && (flatLoad || flatStore)))
      return nn::Mismatch("its tile does not consist of such words");
    return built;
  }
  KernelText print(std::unique_ptr<TransposeKernel> &built, Problem &problem,
                   TransposeAttr schedule, StringRef name) const override {
    TransposeKernel &kernel = *built;
    int64_t tileRows = schedule.getTileRows();
    int64_t tileCols = schedule.getTileCols();
    bool flatLoad = schedule.getFlatLoad(), flatStore = schedule.getFlatStore();
    std::string flat;
    if (flatLoad || flatStore)
      flat = std::string(flatLoad ? ", true" : ", false") +
             (flatStore ? ", true" : "");
    const LinalgFusion &lowered = problem.lowered();
    return finish(kernel.print(name), "transpose", name, lowered,
                  {.threads = kTransposeThreads},
                  callText("transpose", name,
                           Twine(tileRows) + ", " + Twine(tileCols) + ", " +
                               Twine(schedule.getLoadVector()) + ", " +
                               Twine(schedule.getStoreVector()) + ", " +
                               Twine(schedule.getWord()) + flat,
                           lowered,
                           {kernel.batch, kernel.rows, kernel.cols,
                            kernel.row.from, kernel.col.to}),
                  kernel.batch * ceilDiv(kernel.rows, tileRows) *
                      ceilDiv(kernel.cols, tileCols));
  }
};

} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<TransposeRunsAttr>() {
  return std::make_unique<TransposeRuns>();
}
template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<TransposeSkewedFlatAttr>() {
  return std::make_unique<TransposeSkewedFlat>();
}
template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<TransposeSkewedAttr>() {
  return std::make_unique<TransposeSkewed>();
}
template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<TransposeFlatAttr>() {
  return std::make_unique<TransposeFlat>();
}
template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<TransposeBytesAttr>() {
  return std::make_unique<TransposeBytes>();
}
template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<TransposeAttr>() {
  return std::make_unique<Transpose>();
}
