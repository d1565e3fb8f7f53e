//===- Gemv.cpp - Products of a few rows ----------------------------------===//

#include "codegen/cuda/contraction/Contraction.h"
#include "codegen/cuda/contraction/ProblemText.h"
#include "dialects/nn/operators/Quantized.h"
#include "dialects/nn/rewrites/RunBeside.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Maximum rows, of f32 with rows of B along k, and others: for more the tensor
/// cores or wider tiles are faster, since the multiply-adds of 16-bit elements,
/// which are widened first, keep a thread busier than the memory.
static constexpr int64_t kMostGemvRows = 8, kMostWidenedRows = 4;
static constexpr int64_t kGemvThreads = 256, kGemvWarps = kGemvThreads / 32;
/// Columns of a warp, if B is transposed: independent loads of a thread.
static constexpr int64_t kWarpColumns = 4;
/// Warps per SM whose loads hide the latency of memory.
static constexpr int64_t kBusyWarps = 16;
/// A tile of plain_tiles.cuh: elements of a row along k, and bytes.
static constexpr int64_t kTileDepth = 64,
                         kTileBytes = nn::kTileRows * kTileDepth * 2;
/// Beside other kernels, one in so many SMs has a block of so many threads. Of
/// f32, it has so many columns, and most of an SM's registers; of 16 bits, most
/// of its shared memory: up to so many stages. Bytes per microsecond that it
/// reads on an H200.
static constexpr int64_t kBesideThreads = 512, kBesideSms = 6,
                         kBesideColumns = 128, kTurnsSms = 11, kTurnsStages = 6;
static constexpr double kBesideRate = 38e3, kTurnsRate = 85e3;

/// Elements of B in a load of 16 bytes.
static int64_t widthOf(const nn::GemmInfo &info) {
  return 16 / storageBytes(elementType(info.b));
}

/// Returns why gemv.cuh does not compute a product.
static nn::Legality checkGemv(const nn::GemmInfo &info,
                              const Machine &machine) {
  if (machine.batchInvariant)
    return nn::Mismatch("the order of its sums depends on the rows");
  Type type = elementType(info.a);
  int64_t most =
      info.transposeB && type.isF32() ? kMostGemvRows : kMostWidenedRows;
  if (info.m > most || info.batch != 1)
    return nn::Mismatch("it has many rows or several matrices");
  if (info.transposeA)
    return nn::Mismatch("its rows are columns of the operand");
  if (nn::Legality why = checkPlainEpilogue(info.epilogue))
    return why;
  if (elementType(info.b) != type || !(isHalf(type) || type.isF32()))
    return nn::Mismatch("its elements are no floats of one type");
  int64_t width = widthOf(info);
  if (info.ldb % width || (info.transposeB ? info.k : info.n) % width ||
      (info.transposeB && info.lda % width))
    return nn::Mismatch("rows do not begin at multiples of 16 bytes");
  return std::nullopt;
}

static GemvAttr chooseGemv(const nn::GemmInfo &info, const Machine &machine) {
  MLIRContext *context = info.a.getContext();
  int64_t width = widthOf(info), sms = machine.arch.sms;
  if (!info.transposeB) {
    // Rows of at least a sector, and blocks for all SMs.
    int64_t columns = 32 * width;
    while (columns > 2 * width && ceilDiv(info.n, columns) < 2 * sms)
      columns /= 2;
    return GemvAttr::get(context, columns, /*split=*/1, kGemvThreads,
                         /*blocks=*/0, /*stages=*/0);
  }
  int64_t mine = kWarpColumns, steps = ceilDiv(info.k, 32 * width), split = 1;
  while (split < kGemvWarps && 2 * split <= steps &&
         ceilDiv(info.n, mine) * split < kBusyWarps * sms)
    split *= 2;
  return GemvAttr::get(context, mine * kGemvWarps / split, split, kGemvThreads,
                       /*blocks=*/0, /*stages=*/0);
}

LogicalResult
GemvAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 int64_t columns, int64_t split, int64_t threads,
                 int64_t blocks, int64_t stages) {
  if (failed(requireBlock(emitError, threads)) ||
      failed(requireRanges(emitError, {{"blocks", blocks, 0, kMostBlocks},
                                       {"stages", stages, 0, kMostStages}})) ||
      failed(require(emitError, isPowerOf2UpTo(split, threads / 32), "split",
                     "a power of 2 up to the number of warps")))
    return failure();
  return require(emitError, isPowerOf2UpTo(columns, 256), "columns",
                 "a power of 2 up to 256");
}

/// Returns the shared memory that a block needs: of its stages, and of the rows
/// of A.
static int64_t sharedBytesOf(const nn::GemmInfo &info, GemvAttr schedule) {
  if (!schedule.getStages())
    return 0;
  return schedule.getThreads() / 32 * schedule.getStages() * kTileBytes +
         ceilDiv(info.k, kTileDepth) * info.m * kTileDepth * 2;
}

/// Returns why a schedule with stages does not fit.
static nn::Legality checkStages(const nn::GemmInfo &info, GemvAttr schedule,
                                const Machine &machine) {
  if (!schedule.getBlocks() || schedule.getStages() < 2)
    return nn::Mismatch("only blocks that take turns have stages, two or more");
  if (!isHalf(elementType(info.b)) || machine.arch.capability < 80)
    return nn::Mismatch("the tensor cores do not multiply its elements");
  if (schedule.getColumns() != schedule.getThreads() / 32 * nn::kTileRows)
    return nn::Mismatch("a warp with stages has 16 columns");
  if (sharedBytesOf(info, schedule) > machine.arch.sharedPerBlock)
    return nn::Mismatch("its stages do not fit into shared memory");
  return std::nullopt;
}

/// Returns why a schedule, which may be a user's, does not fit.
static nn::Legality checkSchedule(const nn::GemmInfo &info, GemvAttr schedule,
                                  const Machine &machine) {
  int64_t warps = schedule.getThreads() / 32, width = widthOf(info);
  int64_t columns = schedule.getColumns(), split = schedule.getSplit();
  if (!info.transposeB) {
    if (columns < width || columns > 32 * width || split != 1)
      return nn::Mismatch("a row of a block is no part of a warp's loads");
    if (schedule.getBlocks())
      return nn::Mismatch("only columns of a transposed matrix take turns");
    return std::nullopt;
  }
  if (schedule.getBlocks() && split != 1)
    return nn::Mismatch("warps that share k take no turns");
  if (nn::Legality why =
          checkBlocks(schedule.getBlocks(), ceilDiv(info.n, columns)))
    return why;
  if (schedule.getStages())
    return checkStages(info, schedule, machine);
  int64_t groups = warps / split;
  if (warps % split || columns % groups ||
      columns / groups * int64_t(llvm::PowerOf2Ceil(info.m)) > 32)
    return nn::Mismatch("a warp has no lane for each of its results");
  return std::nullopt;
}

/// Returns the schedule of a product of as few blocks as leave other kernels
/// most SMs; null if it has none, or is so small that it would take one turn.
static GemvAttr chooseBeside(const nn::GemmInfo &info, const Machine &machine) {
  bool isShort = isHalf(elementType(info.b));
  int64_t blocks = machine.arch.sms / (isShort ? kTurnsSms : kBesideSms);
  int64_t columns =
      isShort ? kBesideThreads / 32 * nn::kTileRows : kBesideColumns;
  if (!machine.arch.hasPdl || info.n < 2 * blocks * columns)
    return {};
  int64_t stages = isShort ? kTurnsStages : 0;
  do {
    auto schedule = GemvAttr::get(info.a.getContext(), columns, /*split=*/1,
                                  kBesideThreads, blocks, stages);
    if (!checkSchedule(info, schedule, machine))
      return schedule;
  } while (--stages > 1);
  return {};
}

namespace {
/// A product and the shared memory of a block.
struct GemvFit {
  nn::GemmInfo info;
  int64_t sharedBytes = 0;
};

class Gemv : public SkeletonOf<GemvAttr, GemvFit> {
  double compileMilliseconds() const override { return 60; }

  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::contraction || !problem.gemm() ||
        !haveElements(problem.fusion().getInputs()))
      return std::nullopt;
    if (checkGemv(*problem.gemm(), machine))
      return std::nullopt;
    offers.add(chooseGemv(*problem.gemm(), machine));
    return std::nullopt;
  }

  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(
        nn::RunBesideRewrite{[&machine](nn::FusionOp fusion) -> nn::Schedule {
          Problem problem(fusion);
          if (!isa_and_nonnull<GemvAttr>(fusion.getScheduleAttr()))
            return {};
          return chooseBeside(*problem.gemm(), machine);
        }});
  }

  bool takesChain(const Chain &chain, const Machine &machine) const override {
    auto matmul = dyn_cast<nn::MatmulOp>(chain.contraction());
    if (!matmul || !chain.epilogue)
      return false;
    auto info = nn::describeMatmul(matmul);
    if (!info)
      return false;
    info->epilogue = *chain.epilogue;
    return !checkGemv(*info, machine);
  }

  /// The time to read the matrix.
  std::optional<nn::StepCost> costOf(Problem &problem, GemvAttr schedule,
                                     const Machine &machine) const override {
    nn::StepCost cost =
        costOfMemory(problem.fusion(), /*perThread=*/1, machine.arch);
    if (int64_t blocks = schedule.getBlocks()) {
      const nn::Match<nn::GemmInfo> &info = problem.gemm();
      double bytes =
          double(info->n * info->k * storageBytes(elementType(info->b)));
      double rate = schedule.getStages() ? kTurnsRate : kBesideRate;
      cost.microseconds =
          std::max(cost.microseconds, bytes / (double(blocks) * rate));
      cost.occupancy = double(blocks) / double(machine.arch.sms);
    }
    return cost;
  }

  nn::Match<GemvFit> fit(Problem &problem, GemvAttr schedule,
                         const Machine &machine) const override {
    const nn::Match<nn::GemmInfo> &info = problem.gemm();
    if (!info)
      return info.mismatch();
    if (nn::Legality why = checkGemv(*info, machine))
      return *why;
    if (nn::Legality why = checkSchedule(*info, schedule, machine))
      return *why;
    if (nn::Legality why = checkFunction(info->epilogue, problem.lowered()))
      return *why;
    // A block with stages takes all shared memory of its SM: the loads of
    // another block there would wait for all of its copies.
    return GemvFit{*info,
                   schedule.getStages() ? machine.arch.sharedPerBlock : 0};
  }
  KernelText print(GemvFit &fitted, Problem &problem, GemvAttr schedule,
                   StringRef name) const override {
    const nn::GemmInfo &info = fitted.info;
    const LinalgFusion &lowered = problem.lowered();
    ProblemText text(lowered, name);
    text.addGemm(info);
    text.addFunction(info.epilogue);
    text.addConstants("int", {{"columns", schedule.getColumns()},
                              {"split", schedule.getSplit()},
                              {"threads", schedule.getThreads()}});
    text.addConstants("bool", {{"early", text.isConstant(info.b)}});
    int64_t blocks = schedule.getBlocks(), stages = schedule.getStages();
    KernelText kernel;
    kernel.header = stages ? "gemv_turns" : "gemv";
    kernel.sharedBytes = fitted.sharedBytes;
    if (stages)
      text.addConstants(
          "int", {{"stages", stages}, {"sharedBytes", kernel.sharedBytes}});
    else if (blocks)
      text.addConstants("bool", {{"inTurns", true}});
    std::string call =
        std::string(stages ? "frit::gemvTurns<" : "frit::gemv<") +
        text.problem() + ">(" + text.parameter(info.a) + ", " +
        text.parameter(info.b) + ", " + text.parameter(info.epilogue.bias()) +
        ", " + text.parameter(info.epilogue.residual()) + ", y0);\n";
    KernelFrame frame = {.threads = schedule.getThreads(),
                         .wait = PdlWait::inSkeleton};
    // Kernels after this one start when it ends: until then they would occupy
    // the SMs of those that run beside it.
    std::string start = blocks ? "" : startText(lowered);
    kernel.source =
        text.definition() + kernelFunction(name, lowered, frame, start + call);
    kernel.grid[0] =
        launchBlocks(blocks, ceilDiv(info.n, schedule.getColumns()));
    kernel.block[0] = schedule.getThreads();
    return kernel;
  }
};
} // namespace

template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<GemvAttr>() {
  return std::make_unique<Gemv>();
}
