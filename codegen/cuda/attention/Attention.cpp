//===- Attention.cpp - Attention in one pass over the keys ----------------===//
//  The skeletons attention and wgmma_attention (attention.cuh,
// wgmma_attention.cuh). Operators that only move Q, K, V, the mask or the
// result become strides. The first may also compute queries and append rows to
// K and V (AttentionInputs.h).
//===----------------------------------------------------------------------===//

#include "codegen/cuda/attention/AttentionInputs.h"
#include "codegen/cuda/attention/AttentionText.h"
#include "codegen/cuda/attention/AttentionTile.h"
#include "codegen/cuda/target/Skeleton.h"
#include "dialects/nn/rewrites/JoinAppends.h"
#include "dialects/nn/training/Gradient.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

static std::string definition(StringRef name, const nn::AttentionInfo &info,
                              const AttentionTile &tile,
                              const LinalgFusion &lowered) {
  auto storage = [&](const nn::AttentionOperand &operand) {
    return storageName(
        lowered.inputElements()[operand.argument.getArgNumber()]);
  };
  std::string text = ("struct " + name + " {\n").str();
  nn::AttentionOp op = info.op;
  text += ("  using T = " + storage(info.k) + ";\n").str();
  if (nn::tensorType(op.getQ()).getElementType().isF32())
    text += "  static constexpr bool tf32 = " +
            std::string(op.getTf32() ? "true" : "false") + ";\n";
  text +=
      ("  using Mask = " + (info.mask ? storage(*info.mask) : "void") + ";\n")
          .str();
  text += constantsText(
      "int",
      {{"batch", info.batch}, {"heads", info.heads}, {"groups", info.groups}});
  text += constantsText("int", {{"queries", info.queries},
                                {"keys", info.keys},
                                {"size", info.size},
                                {"valueSize", info.valueSize}});
  text += "  static constexpr float scale = " +
          literal(op.getScaleAttr(), op.getScaleAttr().getType()) + ";\n";
  text += ("  static constexpr bool causal = " +
           StringRef(info.causal ? "true" : "false") + ";\n")
              .str();
  text += ("  static constexpr bool unguarded = " +
           StringRef(op.getUnguarded() ? "true" : "false") + ";\n")
              .str();
  text += constantsText("int", {{"causalOffset", 0}});
  std::pair<StringRef, const nn::AttentionOperand *> operands[] = {
      {"Q", &info.q}, {"K", &info.k}, {"V", &info.v}, {"O", &info.result}};
  for (auto [field, operand] : operands)
    text += stridesText(field, ArrayRef(operand->strides).drop_back());
  const int64_t none[4] = {0, 0, 0, 0};
  text += stridesText("M", info.mask ? info.mask->strides : none);
  text += constantsText(
      "int", {{"tileM", tile.m}, {"tileN", tile.n}, {"splits", tile.splits}});
  if (tile.usesWgmma())
    text += constantsText(
        "int", {{"stages", tile.stages}, {"blocks", tile.occupancy}});
  else
    text += constantsText("int", {{"rowsPerWarp", tile.rowsPerWarp}});
  if (tile.cluster > 1)
    text += constantsText("int", {{"cluster", tile.cluster}});
  if (tile.held != 2)
    text += constantsText("int", {{"stages", tile.held}});
  return text + "};\n";
}

/// Blocks of queries as columns that fit an SM's registers. Those of few
/// queries start while the kernel before them has most of these.
static constexpr int64_t kColumnOccupancy = 4;

/// Elements of a row up to which attention always appends to its keys and
/// values. Blocks of longer ones start only when the product before them ends
/// if they are many, or have the registers of queries as rows. A small kernel
/// between the two hides that.
static constexpr int64_t kMostJoined = 64;

/// Returns the attention of a problem that a kernel computes with this tile.
/// Attention that appends rows waits for few queries, whose block computes
/// them.
static nn::Match<nn::AttentionInfo> fitAttention(Problem &problem,
                                                 const AttentionTile &tile,
                                                 const Machine &machine) {
  const GpuArch &arch = machine.arch;
  auto info = describeKernelAttention(problem);
  if (!info)
    return info;
  if (tile.usesWgmma() && !usesWgmmaAttention(*info, machine))
    return nn::Mismatch("WGMMA does not compute it");
  if (tile.hasColumns() && !takesColumns(*info))
    return nn::Mismatch("its queries are no columns of products");
  if (tile.sharedBytes(*info) > arch.sharedPerBlock)
    return nn::Mismatch("its tile does not fit into shared memory");
  if (info->appends()) {
    if (tile.usesWgmma() || info->queries > tile.m)
      return nn::Mismatch("several blocks would compute its inputs");
    if (nn::Legality why = checkInputs(*info, problem.lowered()))
      return *why;
  }
  if (tile.cluster > 1 && arch.mma != Mma::wgmma)
    return nn::Mismatch("the target has no clusters");
  if (nn::Legality why = checkBlocks(tile.blocks, tile.tiles(*info)))
    return *why;
  return info;
}

static KernelText printAttention(const nn::AttentionInfo &info,
                                 const LinalgFusion &lowered, StringRef name,
                                 const AttentionTile &tile) {
  auto pointer = [](StringRef name, int64_t offset) {
    return name.str() + (offset ? " + " + std::to_string(offset) : "");
  };
  auto input = [&](const nn::AttentionOperand &operand) {
    return pointer("x" + std::to_string(operand.argument.getArgNumber()),
                   operand.offset);
  };
  KernelText kernel;
  std::string problem = (name + "_problem").str();
  // States are read where their rows are appended.
  auto state = [&](const nn::AttentionOperand &operand,
                   const std::optional<nn::AppendedRows> &rows) {
    return rows ? "y" + std::to_string(rows->resultIndex) : input(operand);
  };
  std::string tensors = (info.computesQueries ? "nullptr" : input(info.q)) +
                        ", " + state(info.k, info.newKeys) + ", " +
                        state(info.v, info.newValues) + ", ";
  std::string mask = info.mask ? input(*info.mask) : "nullptr";
  std::string result = "y" + std::to_string(info.resultIndex);
  std::string stats =
      info.statsIndex ? ", y" + std::to_string(*info.statsIndex) : "";
  std::string rest = mask + ", " + pointer(result, info.result.offset) + stats;
  if (info.appends()) {
    std::string inputs = (name + "_inputs").str();
    kernel.source = inputsText(inputs, info, lowered);
    rest += ", nullptr, " + inputs + "{" + argumentList(lowered) + "}";
  }
  rest += ");\n";
  std::string call = "frit::attention<" + problem + ">(" + tensors + rest;
  kernel.header = "attention";
  if (tile.usesWgmma()) {
    kernel.header = "wgmma_attention";
    Type element = elementType(lowered.outputs()[info.resultIndex]);
    auto add = [&](const nn::AttentionOperand &operand, int64_t size,
                   int64_t rows, int64_t heads, int64_t lines) {
      unsigned argument =
          operand.argument ? operand.argument.getArgNumber()
                           : lowered.inputElements().size() + info.resultIndex;
      kernel.tensorMaps.push_back(operandMap(
          operand, argument, element, {size, rows, heads, info.batch}, lines));
    };
    add(info.q, info.size, info.queries, info.heads, tile.m);
    add(info.k, info.size, info.keys, info.groups, tile.n);
    add(info.v, info.valueSize, info.keys, info.groups, tile.n);
    add(info.result, info.valueSize, info.queries, info.heads, kBoxLines);
    call = "#ifdef FRIT_HAS_WGMMA\nfrit::wgmmaAttention<" + problem +
           ">(&m0, &m1, &m2, &m3, " + mask + stats +
           ");\n#else\nfrit::attentionFloor<" + problem + ">(" + tensors +
           rest + "#endif\n";
  }
  kernel.grid[0] = launchBlocks(tile.blocks, tile.tiles(info));
  kernel.block[0] = tile.threads();
  kernel.sharedBytes = tile.sharedBytes(info);
  kernel.source +=
      definition(problem, info, tile, lowered) +
      kernelFunction(name, lowered,
                     {.threads = tile.threads(),
                      .tensorMaps = kernel.tensorMaps.size(),
                      .wait = PdlWait::inSkeleton,
                      .cluster = tile.cluster,
                      .occupancy = tile.usesWgmma()    ? tile.occupancy
                                   : tile.hasColumns() ? kColumnOccupancy
                                                       : 0},
                     call);
  return kernel;
}

//===----------------------------------------------------------------------===//
// Skeletons
//===----------------------------------------------------------------------===//

LogicalResult
WgmmaAttentionAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                           int64_t tileM, int64_t tileN, int64_t splits,
                           int64_t stages, int64_t occupancy, int64_t blocks) {
  if (failed(requireRanges(emitError, {{"splits", splits, 1, 3},
                                       {"stages", stages, 2, 6},
                                       {"occupancy", occupancy, 1, 3},
                                       {"blocks", blocks, 0, kMostBlocks}})) ||
      failed(require(emitError, tileM > 0 && tileM <= 256 && tileM % 64 == 0,
                     "tile_m", "a multiple of 64 of at most 256")) ||
      failed(require(emitError, tileN > 0 && tileN <= 256 && tileN % 16 == 0,
                     "tile_n", "a multiple of 16 of at most 256")) ||
      failed(require(emitError, splits == 1 || tileM == 64, "splits",
                     "1 unless `tile_m` is 64")))
    return failure();
  return require(emitError, stages % splits == 0, "stages",
                 "a multiple of `splits`");
}

LogicalResult
AttentionAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      int64_t tileM, int64_t tileN, int64_t splits,
                      int64_t rowsPerWarp, int64_t cluster, int64_t stages) {
  if (failed(requireRanges(emitError, {{"tile_m", tileM, 8, 512},
                                       {"tile_n", tileN, 16, 256},
                                       {"stages", stages, 1, 4}})) ||
      failed(require(emitError, isPowerOf2UpTo(cluster, 8), "cluster",
                     "1, 2, 4 or 8")) ||
      failed(require(emitError,
                     rowsPerWarp == 8 || rowsPerWarp == 16 || rowsPerWarp == 32,
                     "rows_per_warp", "8, 16 or 32")) ||
      failed(require(emitError, rowsPerWarp != 8 || tileM == 8, "tile_m",
                     "8 if `rows_per_warp` is")) ||
      failed(require(emitError, tileM % rowsPerWarp == 0, "tile_m",
                     "a multiple of `rows_per_warp`")) ||
      failed(require(emitError, tileN % 16 == 0, "tile_n", "a multiple of 16")))
    return failure();
  return require(emitError,
                 isPowerOf2UpTo(splits, 4) &&
                     32 * splits * tileM / rowsPerWarp <= 512,
                 "splits", "1, 2 or 4, with up to 512 threads in a block");
}

static AttentionTile tileOf(WgmmaAttentionAttr schedule) {
  return {schedule.getTileM(),  /*rowsPerWarp=*/16,   schedule.getTileN(),
          schedule.getSplits(), schedule.getStages(), schedule.getOccupancy(),
          schedule.getBlocks()};
}

static AttentionTile tileOf(AttentionAttr schedule) {
  AttentionTile tile = {schedule.getTileM(), schedule.getRowsPerWarp(),
                        schedule.getTileN(), schedule.getSplits()};
  tile.cluster = schedule.getCluster();
  tile.held = schedule.getStages();
  return tile;
}

/// Fitted to the kernels of notes/2026-11-30-attention-sizes.md: microseconds
/// of a kernel besides its arithmetic, and factors of the times of its
/// exponentials, 16 per cycle and SM, and of its products, which overlap.
static constexpr double kOtherTime = 3.5, kExpTime = 1.5, kProductTime = 0.5;
static constexpr double kExpsPerCycle = 16;

static nn::StepCost wgmmaCost(const nn::AttentionInfo &info,
                              const AttentionTile &tile, const GpuArch &arch) {
  double scores = double(info.batch * info.heads) * info.queries * info.keys;
  if (info.causal)
    scores /= 2;
  double exps = scores / (kExpsPerCycle * arch.sms * arch.clock);
  double products =
      2 * scores * (info.size + info.valueSize) / arch.productRate;
  double blocks = double(launchBlocks(tile.blocks, tile.tiles(info)));
  return {kOtherTime + kExpTime * exps + kProductTime * products,
          std::min(1.0, blocks / double(arch.sms * tile.occupancy))};
}

namespace {

/// The common part of both skeletons. The cost of attention.cuh beside other
/// kernels is unknown.
template <class Attr>
class AttentionSkeleton : public TunedSkeletonOf<Attr, nn::AttentionInfo> {
  double compileMilliseconds() const override { return 300; }
  std::optional<nn::StepCost> costOf(Problem &problem, Attr schedule,
                                     const Machine &machine) const override {
    AttentionTile tile = tileOf(schedule);
    auto info = describeKernelAttention(problem);
    if (!info || !tile.usesWgmma())
      return std::nullopt;
    return wgmmaCost(*info, tile, machine.arch);
  }
  nn::Match<nn::AttentionInfo> fit(Problem &problem, Attr schedule,
                                   const Machine &machine) const override {
    return fitAttention(problem, tileOf(schedule), machine);
  }
  KernelText print(nn::AttentionInfo &info, Problem &problem, Attr schedule,
                   StringRef name) const override {
    return printAttention(info, problem.lowered(), name, tileOf(schedule));
  }
};

class WgmmaAttention : public AttentionSkeleton<WgmmaAttentionAttr> {
  static WgmmaAttentionAttr attrOf(const AttentionTile &tile,
                                   MLIRContext *context) {
    return WgmmaAttentionAttr::get(context, tile.m, tile.n, tile.splits,
                                   tile.stages, tile.occupancy, tile.blocks);
  }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::attention)
      return std::nullopt;
    auto info = describeKernelAttention(problem);
    if (!info)
      return info.mismatch();
    if (!usesWgmmaAttention(*info, machine))
      return std::nullopt;
    offers.add(attrOf(
        chooseWgmmaTile(*info, machine.arch).withOccupancy(*info, machine.arch),
        problem.context()));
    if (offers.wantsSeveral())
      for (const AttentionTile &tile : allWgmmaTiles(*info, machine.arch))
        offers.addAlternative(attrOf(tile, problem.context()));
    return std::nullopt;
  }
};

class Attention : public AttentionSkeleton<AttentionAttr> {
  static AttentionAttr attrOf(const AttentionTile &tile, MLIRContext *context) {
    return AttentionAttr::get(context, tile.m, tile.n, tile.splits,
                              tile.rowsPerWarp, tile.cluster, tile.held);
  }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::attention)
      return std::nullopt;
    auto info = describeKernelAttention(problem);
    if (!info)
      return info.mismatch();
    AttentionAttr chosen =
        attrOf(choosePlainTile(*info, machine), problem.context());
    if (info->appends()) {
      offers.add(chosen);
      return std::nullopt;
    }
    if (usesWgmmaAttention(*info, machine)) {
      offers.addAlternative(chosen);
      return std::nullopt;
    }
    offers.add(chosen);
    if (offers.wantsSeveral())
      for (const AttentionTile &tile : allPlainTiles(*info, machine.arch))
        offers.addAlternative(attrOf(tile, problem.context()));
    return std::nullopt;
  }
  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(nn::JoinAppendsRewrite{[&machine](nn::FusionOp fusion) {
      Problem problem(fusion);
      auto info = describeKernelAttention(problem);
      auto isTaken = [](Operation &op) {
        return isa<nn::AttentionOp>(op) || computesElementsAlone(op);
      };
      if (!info || !readsManyKeys(*info) ||
          !llvm::all_of(fusion.getBody().front().without_terminator(), isTaken))
        return false;
      AttentionTile tile = choosePlainTile(*info, machine);
      bool startsEarly =
          tile.hasColumns() && tile.tiles(*info) <= machine.arch.sms;
      return (startsEarly ||
              std::max(info->size, info->valueSize) <= kMostJoined) &&
             bool(fitAttention(problem, tile, machine));
    }});
  }
  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    // The kernel of the attention computes its statistics too.
    if (auto stats = dyn_cast<nn::AttentionStatsOp>(*composite))
      return llvm::any_of(stats.getQ().getUsers(), [&](Operation *user) {
        auto attention = dyn_cast<nn::AttentionOp>(user);
        return attention && nn::isStatsOf(stats, attention) &&
               takesAttention(attention);
      });
    auto attention = dyn_cast<nn::AttentionOp>(*composite);
    return attention && takesAttention(attention);
  }
  bool canUseView(nn::CompositeOp composite, Type element,
                  const nn::StridedPlaces &places) const override {
    return isa<nn::AttentionOp>(*composite) &&
           takesAttentionView(element, places);
  }
};

} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<WgmmaAttentionAttr>() {
  return std::make_unique<WgmmaAttention>();
}
template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<AttentionAttr>() {
  return std::make_unique<Attention>();
}
