//===- ConvB2b.cpp - Back-to-back convolutions ----------------------------===//
//
// The skeleton conv_b2b: a convolution and the pointwise one that reads its
// result, in one kernel (conv_b2b.cuh).
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/contraction/ProblemText.h"
#include "codegen/cuda/contraction/Wgmma.h"
#include "codegen/cuda/target/Skeleton.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Channels per swizzled line, and pixels per tile.
static constexpr int64_t kLineChannels = kWgmmaDepth,
                         kTile = ConvB2bLayout::tile;
/// Minimum tiles per block, to amortize loading the filters, and minimum
/// fraction of a tile that must be pixels.
static constexpr int64_t kLeastTiles = 8;
static constexpr double kLeastFill = 0.75;

namespace {

ConvB2bLayout layoutOf(const nn::ConvB2bInfo &info, int64_t warpgroups,
                       int64_t stages, int64_t slots) {
  const nn::ConvInfo &first = info.first;
  return {first.k,     first.r,    first.s, first.q,
          info.last.k, warpgroups, stages,  slots};
}

ConvB2bLayout layoutOf(const nn::ConvB2bInfo &info, ConvB2bAttr schedule) {
  return layoutOf(info, schedule.getWarpgroups(), schedule.getStages(),
                  schedule.getSlots());
}

int64_t tilesOf(const nn::ConvInfo &conv) {
  return conv.n * conv.p * ceilDiv(conv.q, kTile);
}

/// Chooses as many rows of pixels as fit, up to those of two tiles. Null if
/// none fit.
ConvB2bAttr chooseStages(const nn::ConvB2bInfo &info, const GpuArch &arch) {
  constexpr int64_t warpgroups = 2;
  for (int64_t slots = 4; slots > 0; slots /= 2) {
    ConvB2bLayout empty = layoutOf(info, warpgroups, /*stages=*/0, slots);
    int64_t room = arch.sharedPerBlock - empty.sharedBytes();
    int64_t stages = std::min(room / empty.stageBytes(), 2 * info.first.r);
    if (stages > info.first.r)
      return ConvB2bAttr::get(
          info.first.x.getContext(), warpgroups, stages, slots,
          info.last.k % 128 == 0 ? 128 : 64,
          arch.persistentBlocks(tilesOf(info.first), /*perSm=*/1));
  }
  return nullptr;
}

/// Returns whether the skeleton supports a convolution's epilogue.
bool takesEnd(const nn::ConvInfo &conv) {
  auto takesBias = [](Value bias) {
    Type type = nn::tensorType(bias).getElementType();
    return isHalf(type) || type.isF32();
  };
  const nn::Epilogue &epilogue = conv.epilogue;
  return !epilogue.addend && !epilogue.isExtended() &&
         epilogue.activation() != Activation::other &&
         (!epilogue.bias() || takesBias(epilogue.bias()));
}

} // namespace

/// Returns whether conv_b2b.cuh computes the two convolutions.
static bool canTakeConvB2b(const nn::ConvB2bInfo &info,
                           const Machine &machine) {
  const nn::ConvInfo &first = info.first, &last = info.last;
  if (machine.arch.mma != Mma::wgmma ||
      !isHalf(nn::tensorType(first.x).getElementType()) ||
      !first.channelsLast || first.groups != 1 || first.epilogue.residual() ||
      !takesEnd(first) || !takesEnd(last))
    return false;
  bool moves = first.strideH == 1 && first.strideW == 1 &&
               first.dilationH == 1 && first.dilationW == 1 &&
               first.r * first.s > 1;
  bool fits = first.c <= kLineChannels && first.c % 8 == 0 &&
              first.k == kLineChannels && last.k % kLineChannels == 0 &&
              first.q + first.s <= 256;
  return moves && fits;
}

/// Returns whether it does, faster than two kernels would.
static bool takesConvB2b(const nn::ConvB2bInfo &info, const Machine &machine) {
  const nn::ConvInfo &first = info.first;
  double fill = double(first.q) / double(ceilDiv(first.q, kTile) * kTile);
  return canTakeConvB2b(info, machine) && chooseStages(info, machine.arch) &&
         fill >= kLeastFill && tilesOf(first) >= kLeastTiles * machine.arch.sms;
}

LogicalResult
ConvB2bAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                    int64_t warpgroups, int64_t stages, int64_t slots,
                    int64_t columns, int64_t blocks) {
  if (failed(require(emitError, warpgroups == 2, "warpgroups", "2")) ||
      failed(requireRanges(emitError, {{"stages", stages, 2, kMostStages},
                                       {"blocks", blocks, 0, kMostBlocks}})) ||
      failed(
          require(emitError, isPowerOf2UpTo(slots, 4), "slots", "1, 2 or 4")))
    return failure();
  return require(emitError, columns == 64 || columns == 128, "columns",
                 "64 or 128");
}

/// Returns the map of a contiguous tensor, innermost dimension first.
static artifact::TensorMap tiledMap(unsigned argument, Type type,
                                    ArrayRef<int64_t> dims,
                                    ArrayRef<int64_t> box) {
  SmallVector<int64_t, 4> strides;
  int64_t stride = type.getIntOrFloatBitWidth() / 8;
  for (int64_t dim : dims.drop_back())
    strides.push_back(stride *= dim);
  artifact::TensorMap map = tensorMap(argument, type, dims, strides, box);
  map.swizzle = kLineBytes;
  return map;
}

namespace {
class ConvB2b : public TunedSkeletonOf<ConvB2bAttr, nn::ConvB2bInfo> {
  double compileMilliseconds() const override { return 400; }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::contraction || !problem.convB2b())
      return std::nullopt;
    if (!takesConvB2b(*problem.convB2b(), machine))
      return nn::Mismatch("two convolutions, one after the other, do not pay "
                          "or do not fit in one kernel");
    offers.add(chooseStages(*problem.convB2b(), machine.arch));
    return std::nullopt;
  }
  bool takesChain(const Chain &chain, const Machine &machine) const override {
    return chain.convB2b && takesConvB2b(*chain.convB2b, machine);
  }
  std::optional<nn::StepCost> costOf(Problem &problem, ConvB2bAttr schedule,
                                     const Machine &machine) const override {
    nn::StepCost cost =
        costOfMemory(problem.fusion(), /*perThread=*/1, machine.arch);
    return nn::StepCost{cost.microseconds, 1};
  }
  nn::Match<nn::ConvB2bInfo> fit(Problem &problem, ConvB2bAttr schedule,
                                 const Machine &machine) const override;
  KernelText print(nn::ConvB2bInfo &info, Problem &problem,
                   ConvB2bAttr schedule, StringRef name) const override;
};
} // namespace

nn::Match<nn::ConvB2bInfo> ConvB2b::fit(Problem &problem, ConvB2bAttr schedule,
                                        const Machine &machine) const {
  const nn::Match<nn::ConvB2bInfo> &info = problem.convB2b();
  if (!info)
    return info;
  if (!canTakeConvB2b(*info, machine))
    return nn::Mismatch("it is no two convolutions that WGMMA computes");
  const nn::ConvInfo &first = info->first, &last = info->last;
  if (!layoutOf(*info, schedule).fits() || schedule.getStages() <= first.r ||
      last.k % schedule.getColumns())
    return nn::Mismatch("it does not fit into shared memory");
  if (nn::Legality why = checkBlocks(schedule.getBlocks(), tilesOf(first)))
    return *why;
  for (const nn::ConvInfo *conv : {&first, &last})
    if (nn::Legality why = checkFunction(conv->epilogue, problem.lowered()))
      return *why;
  return info;
}

KernelText ConvB2b::print(nn::ConvB2bInfo &info, Problem &problem,
                          ConvB2bAttr schedule, StringRef name) const {
  const LinalgFusion &lowered = problem.lowered();
  const nn::ConvInfo &first = info.first, &last = info.last;
  int64_t warpgroups = schedule.getWarpgroups(), stages = schedule.getStages();
  int64_t slots = schedule.getSlots(), columns = schedule.getColumns();
  ConvB2bLayout layout = layoutOf(info, schedule);
  int64_t threads = layout.threads();
  ProblemText text(lowered, name);
  text.addConv(first);
  text.addType("LastBias", last.epilogue.bias());
  text.addFunction(first.epilogue);
  text.addFunction(last.epilogue, "Last");
  text.addConstants("int", {{"filters", last.k}});
  text.addConstants("int", {{"warpgroups", warpgroups},
                            {"stages", stages},
                            {"slots", slots},
                            {"columns", columns}});
  text.addConstants("bool", {{"constantB", text.isConstant(first.w) &&
                                               text.isConstant(last.w)}});

  KernelText kernel;
  Type type = nn::tensorType(first.x).getElementType();
  auto addMap = [&](unsigned argument, ArrayRef<int64_t> dims,
                    ArrayRef<int64_t> box) {
    kernel.tensorMaps.push_back(tiledMap(argument, type, dims, box));
  };
  addMap(text.argument(first.x), {first.c, first.width, first.h, first.n},
         {kLineChannels, layout.pixels(), 1, 1});
  addMap(text.argument(first.w), {first.c, first.r * first.s, first.k},
         {kLineChannels, 1, first.k});
  addMap(text.argument(last.w), {first.k, last.k, 1},
         {kLineChannels, kLineChannels, 1});
  auto addResult = [&](unsigned argument) {
    addMap(argument, {last.k, first.q, first.n * first.p},
           {kLineChannels, kBoxLines, 1});
  };
  addResult(lowered.inputElements().size());
  Value residual = last.epilogue.residual();
  if (residual)
    addResult(text.argument(residual));

  std::string parameters = "<" + text.problem() + ">(";
  std::string operands = text.optional(first.epilogue.bias()) + ", " +
                         text.optional(last.epilogue.bias()) + ", " +
                         text.optional(residual) + ", y0);\n";
  std::string call =
      "#ifdef FRIT_HAS_WGMMA\nfrit::convB2b" + parameters +
      "&m0, &m1, &m2, &m3, " + (residual ? "&m4, " : "nullptr, ") + operands +
      "#else\nfrit::convB2bFloor" + parameters + text.parameter(first.x) +
      ", " + text.parameter(first.w) + ", " + text.parameter(last.w) + ", " +
      operands + "#endif\n";
  kernel.header = "conv_b2b";
  kernel.block[0] = threads;
  kernel.grid[0] = launchBlocks(schedule.getBlocks(), tilesOf(first));
  kernel.sharedBytes = layout.sharedBytes();
  kernel.source = text.definition() +
                  kernelFunction(name, lowered,
                                 {.threads = threads,
                                  .tensorMaps = kernel.tensorMaps.size(),
                                  .wait = PdlWait::inSkeleton},
                                 call);
  return kernel;
}

template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<ConvB2bAttr>() {
  return std::make_unique<ConvB2b>();
}
