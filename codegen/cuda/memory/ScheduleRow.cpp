//===- ScheduleRow.cpp - How threads share rows ---------------------------===//
//
// Sizes of blocks and of what their threads keep, for reductions along rows and
// along columns, and the call of the skeleton that follows from them.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/memory/RowKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Values of a row that a thread keeps in registers, and threads that keep the
/// multiprocessors of a large GPU busy.
static constexpr int64_t kKept = 32, kBusy = 132 * 1024;
/// Shared memory of a block that leaves room for another one, and of one alone.
static constexpr int64_t kSharedHalf = 112 << 10, kSharedWhole = 220 << 10;

/// Bytes of a row that a block reads at once, for whole lines of the cache.
static constexpr int64_t kPiece = 128;

/// Elements of a vector where rows of 16-bit elements are no whole ones.
static constexpr int64_t kSkewed = 2;

/// Threads of a block with several rows.
static constexpr int64_t kTeams = 128;

/// How threads share rows.
struct Sharing {
  int64_t threads, perThread;
};

/// Threads that share a row, given how many of its elements each keeps.
static int64_t teamSize(int64_t cols, int64_t perThread, int64_t threads) {
  int64_t team = ceilDiv(cols, perThread);
  return team <= 32 ? int64_t(llvm::PowerOf2Ceil(team)) : threads;
}

/// Sharing of rows that are in shared memory for a while, as many to a block as
/// make whole vectors, or none where they are not to be.
static std::optional<Sharing> stageRows(const RowKernel &kernel,
                                        int64_t vector) {
  int64_t most = std::max<int64_t>(kKept / kernel.elementValues(), vector);
  int64_t vectors = ceilDiv(kernel.covered(), vector);
  for (int64_t rows : {2, 1}) {
    int64_t team = llvm::PowerOf2Ceil(ceilDiv(kernel.cols, most));
    // Single elements of 16 bits are read by twice as many threads, where these
    // are enough to reach over several banks.
    if (rows * ceilDiv(vectors, team) * vector > most) {
      bool pays = team >= 8 && vector == 1 && kernel.narrowestLoad() <= 2;
      if (team * rows > 32 || (rows > 1 && !pays))
        continue;
      team *= rows;
    }
    int64_t perThread = ceilDiv(vectors, team) * vector;
    int64_t held = kTeams / team * rows;
    while (held * kernel.cols * kernel.narrowestStaged() % 16)
      held *= 2;
    int64_t threads = held / rows * team;
    if (kernel.isStaged(team, held) &&
        kernel.heldRows(team, threads, perThread) == rows)
      return Sharing{threads, perThread};
  }
  return std::nullopt;
}

/// As few threads to a row as keep it in registers, for barriers and shuffles
/// cost time, but more where there are few rows.
static Sharing shareRows(const RowKernel &kernel, int64_t vector) {
  if (auto staged = stageRows(kernel, vector))
    return *staged;
  int64_t cols = kernel.cols, vectors = ceilDiv(cols, vector);
  int64_t most = std::max<int64_t>(kKept / kernel.elementValues() / vector, 1);
  // Single elements are read by more threads, for a warp to reach over lines.
  if (vector == 1)
    most = std::min<int64_t>(most, 16);
  auto teamFor = [&](int64_t count) {
    int64_t team = ceilDiv(vectors, count);
    return team <= 32 ? int64_t(llvm::PowerOf2Ceil(team))
                      : llvm::alignTo(team, 32);
  };
  int64_t count = most;
  while (count > 1 && kernel.rows * teamFor(count) < kBusy)
    --count;
  int64_t team = teamFor(count), stored = kernel.storedBytes() * cols;
  if (team > 512 && stored && stored <= kSharedWhole && !kernel.readsOnce())
    return {stored <= kSharedHalf ? 512 : 1024, vector};
  if (team > 1024)
    return {1024, vector};
  return {team <= 32 ? 128 : team, ceilDiv(vectors, team) * vector};
}

/// Elements that a thread of a column kernel keeps: none that nobody needs
/// again.
static int64_t mostColumns(const RowKernel &kernel, int64_t vector) {
  if (kernel.readsOnce())
    return 0;
  return std::max<int64_t>(kKept / kernel.elementValues() / vector, 1);
}

/// Threads along the row, where neighbours in a warp are neighbouring rows.
static int64_t columnTeam(int64_t cols, int64_t perThread, int64_t threads) {
  return std::min<int64_t>(threads,
                           llvm::PowerOf2Ceil(ceilDiv(cols, perThread)));
}

/// Whether a block has pieces of its rows in shared memory: registers would
/// hold shorter ones, and there are enough for all multiprocessors.
static bool holdsPieces(const RowKernel &kernel, int64_t vector) {
  int64_t stored = kernel.storedBytes();
  return vector * stored == 16 && kernel.isCopied() && kernel.isVectorised() &&
         !kernel.readsOnce() && kernel.cols * kPiece > 256 * kKept * stored &&
         kernel.cols * kPiece <= kSharedHalf &&
         kernel.rows * stored >= 2 * 132 * kPiece;
}

static Sharing shareColumns(const RowKernel &kernel, int64_t vector) {
  if (holdsPieces(kernel, vector)) {
    // Of up to four blocks beside each other.
    int64_t threads = kernel.cols * kPiece <= kSharedHalf / 2 ? 256 : 512;
    return {threads, ceilDiv(kernel.cols, threads / (kPiece / 16))};
  }
  int64_t most = mostColumns(kernel, vector);
  int64_t bytes = std::min<int64_t>(kernel.narrowestLoad(), 4) * vector;
  int64_t groups = kernel.rows / vector;
  // Blocks reach over 64 bytes of a row where rows are few, else over more.
  int64_t across = ceilDiv(64, bytes);
  while (across < 32 && groups / (2 * across) >= 2 * 132)
    across *= 2;
  if (most == 0) {
    // As few threads to a row as leave enough of them.
    int64_t team = 1;
    while (team < 1024 / across && 8 * team <= kernel.cols &&
           groups * team < kBusy)
      team *= 2;
    int64_t threads = std::max<int64_t>(across * team, 128);
    return {threads, ceilDiv(kernel.cols, team)};
  }
  int64_t team = llvm::PowerOf2Ceil(ceilDiv(kernel.cols, most));
  // Several small blocks to a multiprocessor: some load while others combine.
  while (across * team > 256 && across * bytes > 64)
    across /= 2;
  int64_t threads = std::clamp<int64_t>(across * team, 128, 512);
  // Long rows of few columns want threads more than they want blocks.
  if (groups / across < 2 * 132 && kernel.cols >= 16 * team)
    threads = 1024;
  return {threads, ceilDiv(kernel.cols, threads / across)};
}

nn::ScheduleAttr frit::cuda::scheduleRow(nn::FusionOp fusion,
                                         const LinalgFusion &lowered,
                                         std::string &reason) {
  RowKernel matched(fusion, lowered);
  if (!matched.match(reason))
    return nullptr;
  {
    RowKernel scalar(fusion, lowered);
    scalar.match(reason);
    if (!scalar.build(1, reason))
      return nullptr;
  }
  bool columns = matched.inner > 1;
  int64_t along = columns ? matched.inner : matched.cols;
  // Few neighbouring rows are spread over the multiprocessors first, and down
  // columns in registers more threads do better than more lanes.
  int64_t widest = columns ? 4 : 8;
  while (columns && widest > 2 && matched.rows / widest < 16 * 132)
    widest /= 2;
  for (int64_t vector = 8;; vector /= 2) {
    bool skewed = along % vector != 0;
    if (skewed && (columns || vector != kSkewed))
      continue;
    RowKernel kernel(fusion, lowered);
    kernel.match(reason);
    if (!kernel.build(vector, reason))
      return nullptr;
    if (skewed && (kernel.narrowestStaged() > 2 || !stageRows(kernel, vector)))
      continue;
    if (vector > 1 &&
        (kernel.narrowestLoad() * vector > 16 || !kernel.isVectorised()))
      continue;
    if (vector > widest && !holdsPieces(kernel, vector))
      continue;
    // Accesses of more than 16 bytes leave gaps between threads, which cost the
    // first-level cache twice the time: too much where rows keep all busy.
    if (!columns && vector > 4 && kernel.widestAccess() * vector > 16 &&
        matched.rows * 32 >= kBusy)
      continue;
    auto [threads, perThread] =
        columns ? shareColumns(kernel, vector) : shareRows(kernel, vector);
    return nn::ScheduleAttr::get(lowered.context(), nn::Skeleton::row, vector,
                                 threads, perThread, false);
  }
}

static KernelText emitColumns(RowKernel &kernel, const LinalgFusion &lowered,
                              StringRef name, nn::ScheduleAttr schedule) {
  int64_t vector = schedule.getVector(), threads = schedule.getThreads();
  int64_t perThread = schedule.getPerThread();
  int64_t team = columnTeam(kernel.cols, perThread, threads);
  bool shares = holdsPieces(kernel, vector);
  bool keeps = !shares && perThread <= mostColumns(kernel, vector);
  KernelText text;
  text.header = "column";
  std::string call =
      ("frit::column" + StringRef(shares ? "Shared<" : "<") + name + "_body, " +
       Twine(team) + ", " + Twine(threads / team) + ", " +
       (shares ? "" : Twine(keeps ? perThread : 0) + ", ") + Twine(vector) +
       ">({" + argumentList(lowered) + "}, " + Twine(kernel.rows) + ", " +
       Twine(kernel.cols) + ");\n")
          .str();
  // 64 registers for a thread, where compilers would be content with 48.
  text.source =
      kernel.print(name, keeps) + kernelFunction(name, lowered, threads, call,
                                                 0, Waits::inFunction, 1,
                                                 shares ? 1024 / threads : 0);
  text.grid[0] = ceilDiv(kernel.rows / vector, threads / team);
  text.block[0] = threads;
  text.sharedBytes = shares ? kernel.cols * kPiece : 0;
  return text;
}

FailureOr<KernelText> frit::cuda::emitRow(nn::FusionOp fusion,
                                          const LinalgFusion &lowered,
                                          StringRef name,
                                          nn::ScheduleAttr schedule,
                                          std::string &failure) {
  RowKernel kernel(fusion, lowered);
  int64_t vector = schedule.getVector(), threads = schedule.getThreads();
  int64_t perThread = schedule.getPerThread();
  if (!kernel.match(failure) || !kernel.build(vector, failure))
    return llvm::failure();
  if (kernel.inner > 1)
    return emitColumns(kernel, lowered, name, schedule);
  int64_t team =
      std::min(teamSize(kernel.covered(), perThread, threads), threads);
  bool keeps = team * perThread >= kernel.covered();
  int64_t stored = kernel.storedBytes() * kernel.cols;
  bool shares =
      !keeps && stored && stored <= kSharedWhole && !kernel.readsOnce();
  KernelText text;
  text.grid[0] = ceilDiv(kernel.rows, team <= 32 ? threads / team : 1);
  text.block[0] = threads;
  int64_t held = kernel.heldRows(team, threads, perThread);
  if (keeps && kernel.isStaged(team, threads / team * held)) {
    text.header = "row_staged";
    std::string call =
        ("frit::rowStaged<" + name + "_body, " + Twine(team) + ", " +
         Twine(perThread) + ", " + Twine(vector) + ", " + Twine(threads) +
         ", " + Twine(kernel.cols) + (held > 1 ? ", " + Twine(held) : Twine()) +
         ">({" + argumentList(lowered) + "}, " + Twine(kernel.rows) + ");\n")
            .str();
    text.grid[0] = ceilDiv(kernel.rows, threads / team * held);
    text.source = kernel.print(name, keeps, /*staged=*/true) +
                  kernelFunction(name, lowered, threads, call);
    text.sharedBytes = kernel.stagedBytes(threads / team * held);
    return text;
  }
  if (kernel.isSkewed()) {
    failure = "its rows are no whole vectors";
    return llvm::failure();
  }
  text.header = "row";
  std::string call =
      ("frit::row" + StringRef(shares ? "Shared<" : "<") + name + "_body, " +
       Twine(team) + ", " + (shares ? "" : Twine(perThread) + ", ") +
       Twine(vector) + (team < threads ? ", " + Twine(threads) : Twine()) +
       ">({" + argumentList(lowered) + "}, " + Twine(kernel.rows) + ", " +
       Twine(kernel.cols) + ");\n")
          .str();
  text.source =
      kernel.print(name, keeps) + kernelFunction(name, lowered, threads, call);
  text.sharedBytes = shares ? llvm::alignTo(stored, 16) : 0;
  return text;
}
