//===- ScheduleRow.cpp - Choice of row and column schedules ---------------===//
//
// Chooses the row or column skeleton of a reduction, its block size, and how
// much of a row each thread keeps.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/reduction/RowKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Maximum values of a row per thread in registers.
static constexpr int64_t kKeptValues = 32;
/// Threads per SM that suffice to hide latency.
static constexpr int64_t kBusyThreads = 1024;
/// Vector width for rows of 16-bit elements whose length is not a multiple of
/// it.
static constexpr int64_t kSkewed = 2;
/// Threads per block if a block has several rows.
static constexpr int64_t kTeamBlockThreads = 128;
/// Maximum column sums in a thread's registers, with 384 threads per SM.
static constexpr int64_t kMostColumnSums = 96;
/// Below this many columns, a warp's shuffles would take longer than the
/// elements of a row.
static constexpr int64_t kFewColumns = 256;
/// Elements whose reduction takes about as long as a launch.
static constexpr int64_t kLaunchElements = 1 << 20;

/// Return the bytes of shared memory for a block's rows or columns if two
/// blocks share an SM, and if one block has the SM. The rest is for the
/// skeletons' own variables.
static int64_t sharedHalf(const GpuArch &arch) {
  return arch.sharedFor(2) - (1 << 10);
}
static int64_t sharedWhole(const GpuArch &arch) {
  return arch.sharedPerBlock - (7 << 10);
}

namespace {

/// How threads divide rows.
struct Sharing {
  int64_t threads, perThread;
  /// Staged rows per team; 0 if rows are not staged.
  int64_t stagedRows = 0;
};

/// Chooses the schedule for one fusion and vector width.
class RowScheduler {
public:
  /// Schedules as for `rows` rows.
  RowScheduler(const RowKernel &kernel, int64_t rows, const RowBuild &built,
               const GpuArch &arch)
      : kernel(kernel), rows(rows), built(built), arch(arch),
        vector(built.vector) {}

  /// Returns how threads share staged rows, or nothing if staging does not pay.
  std::optional<Sharing> stageRows() const;
  nn::Schedule scheduleRows() const;
  nn::Schedule scheduleColumns() const;
  /// Returns whether blocks keep columns, a cache line wide, in shared memory:
  /// they are too long for registers, and there are enough of them for all SMs.
  bool holdsColumns() const;

private:
  bool paysStaging(int64_t team, int64_t held) const;
  int64_t heldRows(int64_t team, int64_t threads, int64_t perThread) const;
  Sharing shareRows() const;
  Sharing shareColumns() const;
  int64_t maxKeptColumns() const;
  MLIRContext *context() const { return kernel.reductions[0]->getContext(); }

  const RowKernel &kernel;
  const int64_t rows;
  const RowBuild &built;
  const GpuArch &arch;
  int64_t vector;
};

} // namespace

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Returns whether staging pays: some rows begin inside a sector or are shorter
/// than a cache line, and there are blocks for all SMs.
bool RowScheduler::paysStaging(int64_t team, int64_t held) const {
  int64_t bytes = kernel.cols * kernel.narrowestStaged();
  return kernel.canStage(team, held) &&
         (bytes % kSectorBytes != 0 || bytes <= kCacheLineBytes) &&
         rows >= held * 4 * arch.sms;
}

/// Returns the rows per team: two if a thread can keep both.
int64_t RowScheduler::heldRows(int64_t team, int64_t threads,
                               int64_t perThread) const {
  int64_t teams = threads / team;
  bool two = 2 * perThread * kernel.elementValues() <= kKeptValues &&
             teams * kernel.cols % vector == 0 && paysStaging(team, 2 * teams);
  return two ? 2 : 1;
}

/// Uses enough rows per block that they are whole vectors.
std::optional<Sharing> RowScheduler::stageRows() const {
  int64_t most =
      std::max<int64_t>(kKeptValues / kernel.elementValues(), vector);
  int64_t vectors = ceilDiv(kernel.covered(), vector);
  for (int64_t rows : {2, 1}) {
    int64_t team = llvm::PowerOf2Ceil(ceilDiv(kernel.cols, most));
    // Scalar 16-bit elements are read by twice as many threads, if these span
    // several banks.
    if (rows * ceilDiv(vectors, team) * vector > most) {
      bool pays = team >= 8 && vector == 1 && kernel.narrowestLoad() <= 2;
      if (team * rows > 32 || (rows > 1 && !pays))
        continue;
      team *= rows;
    }
    int64_t perThread = ceilDiv(vectors, team) * vector;
    int64_t held = kTeamBlockThreads / team * rows;
    while (held * kernel.cols * kernel.narrowestStaged() % 16)
      held *= 2;
    int64_t threads = held / rows * team;
    if (!paysStaging(team, held))
      continue;
    if (heldRows(team, threads, perThread) == rows)
      return Sharing{threads, perThread, rows};
  }
  return std::nullopt;
}

/// Chooses the fewest threads per row that can keep it in registers, since
/// barriers and shuffles cost time, but more if there are few rows.
Sharing RowScheduler::shareRows() const {
  if (auto staged = stageRows())
    return *staged;
  int64_t cols = kernel.cols, vectors = ceilDiv(cols, vector);
  int64_t most =
      std::max<int64_t>(kKeptValues / kernel.elementValues() / vector, 1);
  // Scalar elements are read by more threads, so that a warp covers whole cache
  // lines.
  if (vector == 1)
    most = std::min<int64_t>(most, 16);
  auto teamFor = [&](int64_t count) -> int64_t {
    int64_t team = ceilDiv(vectors, count);
    return team <= 32 ? llvm::PowerOf2Ceil(team) : llvm::alignTo(team, 32);
  };
  int64_t count = most;
  while (count > 1 && rows * teamFor(count) < arch.threadsOf(kBusyThreads))
    --count;
  int64_t team = teamFor(count), stored = kernel.sharedRowBytes();
  if (team > 512 && stored && stored <= sharedWhole(arch))
    return {stored <= sharedHalf(arch) ? 512 : 1024, vector};
  if (team > 1024)
    return {1024, vector};
  return {team <= 32 ? 128 : team, ceilDiv(vectors, team) * vector};
}

nn::Schedule RowScheduler::scheduleRows() const {
  auto [threads, perThread, stagedRows] = shareRows();
  int64_t team = ceilDiv(kernel.covered(), perThread);
  team = team <= 32 ? std::min(int64_t(llvm::PowerOf2Ceil(team)), threads)
                    : threads;
  bool keeps = team * perThread >= kernel.covered();
  if (keeps && !stagedRows) {
    // Rows kept in registers may still gain from staging through shared memory.
    int64_t rows = heldRows(team, threads, perThread);
    if (paysStaging(team, threads / team * rows))
      stagedRows = rows;
  }
  if (stagedRows)
    return RowStagedAttr::get(context(), team, stagedRows, perThread, vector,
                              built.skewed, threads, built.preload);
  if (keeps)
    return RowAttr::get(context(), team, perThread, vector, threads,
                        built.preload);
  int64_t stored = kernel.sharedRowBytes();
  if (stored && stored <= sharedWhole(arch))
    return RowSharedAttr::get(context(), vector, threads, built.preload);
  return RowStreamedAttr::get(context(), perThread, vector, threads,
                              built.preload);
}

//===----------------------------------------------------------------------===//
// Rows with column sums
//===----------------------------------------------------------------------===//

/// Chooses the widest vectors with which a row keeps at least three quarters of
/// a warp's lanes busy. Chooses as many warps as fit two rows each in shared
/// memory and the column sums in registers.
static nn::Match<nn::Schedule> scheduleSums(Problem &problem,
                                            const GpuArch &arch) {
  for (int64_t vector : {8, 4, 2}) {
    auto built = buildRowKernel(problem, {.vector = vector});
    if (!built)
      continue;
    const RowKernel &kernel = **built;
    int64_t perThread = ceilDiv(kernel.cols, 32 * vector) * vector;
    if (!kernel.canSumColumns() || kernel.widestAccess() * vector > 16 ||
        4 * kernel.cols < 3 * 32 * perThread)
      continue;
    if (kernel.cols < kFewColumns)
      return nn::Mismatch("rows are too short for a warp each");
    if (perThread * int64_t(kernel.columnSums.size()) > kMostColumnSums)
      return nn::Mismatch("a thread has too many sums");
    if (4 * kernel.parts < 3 * arch.sms)
      return nn::Mismatch("the parts are too few for all SMs");
    for (int64_t threads = 384; threads >= 128; threads -= 128)
      if (kernel.sharedForSums(threads) <= arch.sharedPerBlock)
        return nn::Schedule(
            RowColumnsAttr::get(problem.context(), perThread, vector, threads));
    return nn::Mismatch("rows are too long for shared memory");
  }
  return nn::Mismatch("rows are no whole vectors of a warp");
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Returns the maximum column elements per thread in registers; 0 if each
/// element is read only once.
int64_t RowScheduler::maxKeptColumns() const {
  if (kernel.readsOnce())
    return 0;
  return std::max<int64_t>(kKeptValues / kernel.elementValues() / vector, 1);
}

bool RowScheduler::holdsColumns() const {
  int64_t stored = kernel.storedBytes();
  return kernel.canShareColumns() && kernel.isVectorised() &&
         kernel.cols * kCacheLineBytes > 256 * kKeptValues * stored &&
         kernel.cols * kCacheLineBytes <= sharedHalf(arch) &&
         rows * stored >= 2 * arch.sms * kCacheLineBytes;
}

Sharing RowScheduler::shareColumns() const {
  if (holdsColumns()) {
    // Keeps up to four blocks on an SM.
    int64_t threads =
        kernel.cols * kCacheLineBytes <= sharedHalf(arch) / 2 ? 256 : 512;
    return {threads, ceilDiv(kernel.cols, threads / (kCacheLineBytes / 16))};
  }
  int64_t most = maxKeptColumns();
  int64_t bytes = std::min<int64_t>(kernel.narrowestLoad(), 4) * vector;
  int64_t groups = rows / vector;
  // Blocks are 64 bytes wide if there are few columns, else wider.
  int64_t across = ceilDiv(64, bytes);
  while (across < 32 && groups / (2 * across) >= 2 * arch.sms)
    across *= 2;
  if (most == 0) {
    // Use the fewest threads per column that still fill the GPU.
    int64_t team = 1;
    while (team < 1024 / across && 8 * team <= kernel.cols &&
           groups * team < arch.threadsOf(kBusyThreads))
      team *= 2;
    int64_t threads = std::max<int64_t>(across * team, 128);
    return {threads, ceilDiv(kernel.cols, team)};
  }
  int64_t team = llvm::PowerOf2Ceil(ceilDiv(kernel.cols, most));
  // Prefer several small blocks per SM, so that some load while others reduce.
  while (across * team > 256 && across * bytes > 64)
    across /= 2;
  int64_t threads = std::clamp<int64_t>(across * team, 128, 512);
  // Few long columns gain more from threads per block than from blocks.
  if (groups / across < 2 * arch.sms && kernel.cols >= 16 * team)
    threads = 1024;
  return {threads, ceilDiv(kernel.cols, threads / across)};
}

nn::Schedule RowScheduler::scheduleColumns() const {
  auto [threads, perThread, unused] = shareColumns();
  // Threads along the column; neighbouring lanes of a warp have neighbouring
  // columns.
  int64_t team = std::min<int64_t>(
      threads, llvm::PowerOf2Ceil(ceilDiv(kernel.cols, perThread)));
  // This occupancy allows 64 registers per thread; without it NVRTC settles for
  // 48.
  if (holdsColumns())
    return ColumnSharedAttr::get(context(), team, vector, threads,
                                 /*occupancy=*/1024 / threads);
  bool keeps = perThread <= maxKeptColumns();
  return ColumnAttr::get(context(), team, keeps ? perThread : 0, vector,
                         threads, kernel.isJoint());
}

//===----------------------------------------------------------------------===//
// The vector's width
//===----------------------------------------------------------------------===//

nn::Match<nn::Schedule> frit::cuda::chooseRow(Problem &problem,
                                              const Machine &machine) {
  auto scalar = buildRowKernel(problem, {});
  if (!scalar)
    return scalar.mismatch();
  const RowKernel &matched = **scalar;
  const GpuArch &arch = machine.arch;
  if (matched.parts)
    return scheduleSums(problem, arch);
  bool columns = matched.isColumns();
  int64_t along = columns ? matched.inner : matched.cols;
  // The threads of a row decide the order of its sum: the same for any number
  // of rows, or of sets of columns.
  int64_t rows = !machine.batchInvariant ? matched.rows
                 : columns               ? matched.inner
                                         : 1;
  // Load weights with the row if waiting for them would be a large part of the
  // run time.
  bool preload = !columns && rows >= 3 * arch.sms &&
                 rows * matched.cols <= kLaunchElements;
  // Spread few neighbouring columns over all SMs first. With columns in
  // registers, more threads do better than wider vectors.
  int64_t widest = columns || machine.batchInvariant ? 4 : 8;
  while (columns && widest > 2 && rows / widest < 16 * arch.sms)
    widest /= 2;
  for (int64_t vector = 8;; vector /= 2) {
    bool skewed = along % vector != 0;
    if (skewed && (columns || vector != kSkewed))
      continue;
    RowBuild how = {vector, skewed, preload};
    auto built = buildRowKernel(problem, how);
    if (!built)
      return built.mismatch();
    const RowKernel &kernel = **built;
    RowScheduler scheduler(kernel, rows, how, arch);
    if (skewed && (kernel.narrowestStaged() > 2 || !scheduler.stageRows()))
      continue;
    if (vector > 1 &&
        (kernel.narrowestLoad() * vector > 16 || !kernel.isVectorised()))
      continue;
    if (vector > widest && !scheduler.holdsColumns())
      continue;
    // Accesses of more than 16 bytes leave gaps between threads, which doubles
    // the time in L1. That is too much if the rows keep all SMs busy.
    if (!columns && vector > 4 && kernel.widestAccess() * vector > 16 &&
        rows * 32 >= arch.threadsOf(kBusyThreads))
      continue;
    return columns ? scheduler.scheduleColumns() : scheduler.scheduleRows();
  }
}
