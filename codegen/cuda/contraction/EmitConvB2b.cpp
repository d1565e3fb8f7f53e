//===- EmitConvB2b.cpp - Two convolutions in one kernel -------------------===//
//
// Problems for conv_b2b.cuh, the tensor maps they read and write through,
// and their launches; the header says what each must be.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/contraction/EmitConvB2b.h"

#include "codegen/cuda/contraction/EmitContraction.h"
#include "codegen/cuda/contraction/Wgmma.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Channels of a swizzled line.
static constexpr int64_t kLine = kLineBytes / 2;
/// Pixels of a tile, and lines that a warp stores at a time.
static constexpr int64_t kTile = 64, kStoredLines = 16;
/// Tiles of a block that make up for its filters' coming before the first, and
/// how much of them has to be pixels.
static constexpr int64_t kLeastTiles = 8;
static constexpr double kLeastFill = 0.75;

namespace {

/// How a chain is cut up: the skeleton's P::warpgroups and so on.
struct ConvB2bTile {
  int64_t warpgroups = 2, stages = 0, slots = 4, columns = 64;
  int64_t pixels = 0, rowBytes = 0, restBytes = 0;

  int64_t threads() const { return 128 * warpgroups + 32; }
  int64_t sharedBytes() const { return stages * rowBytes + restBytes; }
};

int64_t tilesOf(const nn::ConvInfo &conv) {
  return conv.n * conv.p * ceilDiv(conv.q, kTile);
}

/// As many rows as fit, up to those of two tiles.
std::optional<ConvB2bTile> cutOf(const nn::ConvB2bInfo &chain) {
  const nn::ConvInfo &first = chain.first, &last = chain.last;
  ConvB2bTile cut;
  cut.columns = last.k % 128 == 0 ? 128 : 64;
  cut.pixels = std::min(first.q, kTile) + first.s - 1;
  cut.rowBytes = ceilDiv(cut.pixels * kLineBytes, 1024) * 1024;
  int64_t filters = first.k * first.r * first.s + first.k / kLine * last.k;
  for (; cut.slots > 0; cut.slots /= 2) {
    int64_t boxes = kTile * cut.warpgroups * cut.slots;
    cut.restBytes = (filters + boxes) * kLineBytes + kBarrierBytes;
    cut.stages =
        std::min((sharedOf(1) - cut.restBytes) / cut.rowBytes, 2 * first.r);
    if (cut.stages > first.r)
      return cut;
  }
  return std::nullopt;
}

/// Whether what follows a convolution is what the skeleton does after it.
bool takesEnd(const nn::ConvInfo &conv) {
  auto takesBias = [](Value bias) {
    Type type = nn::tensorType(bias).getElementType();
    return isHalf(type) || type.isF32();
  };
  return !conv.mixed && !conv.addend && !conv.hasMoments() &&
         conv.activation != nn::ActivationKind::other &&
         (!conv.bias || takesBias(conv.bias));
}

} // namespace

bool frit::cuda::takesConvB2b(const nn::ConvB2bInfo &chain,
                              const CudaOptions &options) {
  const nn::ConvInfo &first = chain.first, &last = chain.last;
  if (!hasWgmma(options) || !isHalf(nn::tensorType(first.x).getElementType()) ||
      !first.channelsLast || first.groups != 1 || first.residual ||
      !takesEnd(first) || !takesEnd(last))
    return false;
  bool moves = first.strideH == 1 && first.strideW == 1 &&
               first.dilationH == 1 && first.dilationW == 1 &&
               first.r * first.s > 1;
  bool fits = first.c <= kLine && first.c % 8 == 0 && first.k == kLine &&
              last.k % kLine == 0 && first.q + first.s <= 256 && cutOf(chain);
  double fill = double(first.q) / double(ceilDiv(first.q, kTile) * kTile);
  return moves && fits && fill >= kLeastFill &&
         tilesOf(first) >= kLeastTiles * kMultiprocessors;
}

nn::ScheduleAttr frit::cuda::scheduleConvB2b(const nn::ConvB2bInfo &chain) {
  ConvB2bTile cut = *cutOf(chain);
  return nn::ScheduleAttr::get(
      chain.first.x.getContext(), nn::Skeleton::conv_b2b, /*vector=*/1,
      cut.threads(), /*perThread=*/1, /*library=*/false, kTile, cut.columns,
      kLine, cut.stages, /*cluster=*/1, /*split=*/1, /*algorithm=*/0);
}

/// The map of a tensor without gaps, innermost dimension first.
static TensorMap tiledMap(unsigned argument, Type type, ArrayRef<int64_t> dims,
                          ArrayRef<int64_t> box) {
  TensorMap map;
  map.argument = argument;
  map.type = type;
  map.dims.assign(dims.begin(), dims.end());
  map.box.assign(box.begin(), box.end());
  int64_t stride = type.getIntOrFloatBitWidth() / 8;
  for (int64_t dim : dims.drop_back())
    map.strides.push_back(stride *= dim);
  map.swizzle = kLineBytes;
  return map;
}

FailureOr<KernelText> frit::cuda::emitConvB2b(nn::FusionOp fusion,
                                              const LinalgFusion &lowered,
                                              StringRef name,
                                              std::string &failure) {
  auto chain = nn::describeConvB2b(fusion);
  if (!chain) {
    failure = chain.reason();
    return llvm::failure();
  }
  const nn::ConvInfo &first = chain->first, &last = chain->last;
  auto cut = cutOf(*chain);
  if (!cut) {
    failure = "it does not fit into shared memory";
    return llvm::failure();
  }
  ProblemText text(lowered, name);
  text.addConv(first);
  text.addType("LastBias", last.bias);
  if (failed(text.addEpilogue(first, failure)) ||
      failed(text.addEpilogue(last, failure, "Last")))
    return llvm::failure();
  text.addConstants("int", {{"filters", last.k}});
  text.addConstants("int", {{"warpgroups", cut->warpgroups},
                            {"stages", cut->stages},
                            {"slots", cut->slots},
                            {"columns", cut->columns}});
  text.addConstants("bool", {{"constantB", text.isConstant(first.w) &&
                                               text.isConstant(last.w)}});

  KernelText kernel;
  Type type = nn::tensorType(first.x).getElementType();
  auto addMap = [&](unsigned argument, ArrayRef<int64_t> dims,
                    ArrayRef<int64_t> box) {
    kernel.tensorMaps.push_back(tiledMap(argument, type, dims, box));
  };
  addMap(text.argument(first.x), {first.c, first.width, first.h, first.n},
         {kLine, cut->pixels, 1, 1});
  addMap(text.argument(first.w), {first.c, first.r * first.s, first.k},
         {kLine, 1, first.k});
  addMap(text.argument(last.w), {first.k, last.k, 1}, {kLine, kLine, 1});
  auto addResult = [&](unsigned argument) {
    addMap(argument, {last.k, first.q, first.n * first.p},
           {kLine, kStoredLines, 1});
  };
  addResult(lowered.inputElements().size());
  if (last.residual)
    addResult(text.argument(last.residual));

  std::string problem = "<" + text.problem() + ">(";
  std::string operands = text.optional(first.bias) + ", " +
                         text.optional(last.bias) + ", " +
                         text.optional(last.residual) + ", y0);\n";
  std::string call =
      "#ifdef FRIT_HAS_WGMMA\nfrit::convB2b" + problem +
      "&m0, &m1, &m2, &m3, " + (last.residual ? "&m4, " : "nullptr, ") +
      operands + "#else\nfrit::convB2bFloor" + problem +
      text.parameter(first.x) + ", " + text.parameter(first.w) + ", " +
      text.parameter(last.w) + ", " + operands + "#endif\n";
  kernel.header = "conv_b2b";
  kernel.block[0] = cut->threads();
  kernel.grid[0] = std::min(tilesOf(first), kMultiprocessors);
  kernel.sharedBytes = cut->sharedBytes();
  kernel.source = text.definition() +
                  kernelFunction(name, lowered, cut->threads(), call,
                                 kernel.tensorMaps.size(), Waits::inSkeleton);
  return kernel;
}
