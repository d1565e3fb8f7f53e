//===- IntegerGemm.cpp - Products and convolutions of bytes ---------------===//
//
// The skeleton computes the sums of nn.quantized_conv, of bytes in i32 or of
// 8-bit floats in f32. Any elementwise
// operators after them are a part of the kernel: their text gets neighbouring
// sums of a row, and reads what depends on columns alone once for all rows of a
// thread.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/integer/ByteTiles.h"
#include "codegen/cuda/integer/IntegerText.h"
#include "dialects/nn/rewrites/QuantizedConvs.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Bytes of the shortest asynchronous copies; channels from which on as many
/// are worth their memory; elements that one block reduces as fast as many do.
static constexpr int64_t kCopiedChannels = 4, kFewestChannels = 3,
                         kLongRange = 1 << 14;

LogicalResult IntegerGemmAttr::verify(
    llvm::function_ref<InFlightDiagnostic()> emitError, int64_t tileM,
    int64_t tileN, int64_t warpM, int64_t warpN, int64_t depth, int64_t stages,
    int64_t split, int64_t cluster, int64_t occupancy, bool wgmma) {
  auto isWarp = [](int64_t size) {
    return size % 16 == 0 && isPowerOf2UpTo(size, 64);
  };
  if (failed(require(emitError, isPowerOf2UpTo(cluster, 8), "cluster",
                     "1, 2, 4 or 8")))
    return failure();
  if (wgmma) {
    if (failed(require(emitError, isPowerOf2UpTo(tileM, 256) && tileM >= 64,
                       "tile_m", "64, 128 or 256 with `wgmma`")) ||
        failed(require(emitError, isPowerOf2UpTo(tileN, 256) && tileN >= 32,
                       "tile_n", "32, 64, 128 or 256 with `wgmma`")) ||
        failed(require(emitError, warpM == 16, "warp_m", "16 with `wgmma`")) ||
        failed(require(emitError, warpN == tileN, "warp_n",
                       "`tile_n` with `wgmma`")) ||
        failed(require(emitError, depth == 128, "depth", "128 with `wgmma`")) ||
        failed(require(emitError, split == 1, "split", "1 with `wgmma`")))
      return failure();
    return requireRanges(emitError, {{"stages", stages, 3, kMostStages},
                                     {"occupancy", occupancy, 1, 8}});
  }
  if (failed(require(emitError, isPowerOf2UpTo(tileM, 256), "tile_m",
                     "a power of 2 up to 256")) ||
      failed(require(emitError, isPowerOf2UpTo(tileN, 256), "tile_n",
                     "a power of 2 up to 256")) ||
      failed(require(emitError, isWarp(warpM) && warpM <= tileM, "warp_m",
                     "16, 32 or 64, at most `tile_m`")) ||
      failed(require(emitError, isWarp(warpN) && warpN <= tileN, "warp_n",
                     "16, 32 or 64, at most `tile_n`")) ||
      failed(require(emitError, depth == 64 || depth == 128, "depth",
                     "64 or 128")) ||
      failed(requireRanges(emitError, {{"stages", stages, 2, kMostStages},
                                       {"occupancy", occupancy, 1, 8}})))
    return failure();
  if (failed(require(emitError, isPowerOf2UpTo(split, depth / 32), "split",
                     "a power of 2 up to `depth` / 32")))
    return failure();
  return requireBlock(emitError, tileM / warpM * (tileN / warpN) * split * 32);
}

/// Returns a thread's neighbouring columns (integer_tile.cuh).
static int64_t neighboursOf(IntegerGemmAttr schedule) {
  return schedule.getWarpN() % 32 == 0 ? 8 : 4;
}

static std::string printTile(IntegerGemmAttr schedule) {
  auto ints = [](ArrayRef<std::pair<StringRef, int64_t>> constants) {
    return constantsText("int", constants);
  };
  return constantsText("bool", {{"wgmma", schedule.getWgmma()}}) +
         ints({{"tileM", schedule.getTileM()},
               {"tileN", schedule.getTileN()},
               {"warpM", schedule.getWarpM()},
               {"warpN", schedule.getWarpN()}}) +
         ints({{"depth", schedule.getDepth()},
               {"stages", schedule.getStages()},
               {"split", schedule.getSplit()},
               {"cluster", schedule.getCluster()}});
}

namespace {
/// What the kernel is printed from.
struct FittedProduct {
  IntegerProduct product;
  IntegerEnd end;
};

class IntegerGemm : public TunedSkeletonOf<IntegerGemmAttr, FittedProduct> {
  double compileMilliseconds() const override { return 200; }

  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() != Problem::Kind::quantized)
      return std::nullopt;
    if (nn::Legality why =
            offerChosen<IntegerGemmAttr>(problem, machine, offers))
      return why;
    auto product = describeFor(problem.fusion(), machine);
    if (offers.wantsSeveral() && !product->first)
      for (IntegerGemmAttr schedule :
           rankTiles(*product, machine.arch, offers.most))
        offers.add(schedule);
    return std::nullopt;
  }

  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    auto conv = dyn_cast<nn::QuantizedConvOp>(composite.getOperation());
    return conv && describeFor(conv, machine);
  }

  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    bool isStaged = machine.arch.mma == Mma::wgmma;
    rewrites.add(
        nn::QuantizedRewrite{kCopiedChannels, kFewestChannels, kLongRange,
                             /*narrowsFloats=*/machine.arch.capability >= 80,
                             /*movesZeros=*/isStaged,
                             /*pairedBytes=*/isStaged ? kUnit : 0,
                             /*pairedFilters=*/kDealt});
  }

  bool takesChain(const Chain &chain, const Machine &machine) const override {
    auto conv = dyn_cast<nn::QuantizedConvOp>(chain.contraction());
    return conv && describeFor(conv, machine) &&
           isa<nn::ElementwiseOp>(chain.operators.back());
  }

  std::optional<nn::StepCost> costOf(Problem &problem, IntegerGemmAttr schedule,
                                     const Machine &machine) const override {
    auto product = describeFor(problem.fusion(), machine);
    if (!product)
      return std::nullopt;
    double blocks = double(ceilDiv(product->pixels(), schedule.getTileM()) *
                           ceilDiv(product->k, schedule.getTileN()) *
                           schedule.getCluster());
    return nn::StepCost{estimateTime(*product, schedule, machine.arch),
                        std::min(1.0, blocks / double(machine.arch.sms))};
  }

  nn::Match<FittedProduct> fit(Problem &problem, IntegerGemmAttr schedule,
                               const Machine &machine) const override;
  KernelText print(FittedProduct &fitted, Problem &problem,
                   IntegerGemmAttr schedule, StringRef name) const override;
};
} // namespace

nn::Match<FittedProduct> IntegerGemm::fit(Problem &problem,
                                          IntegerGemmAttr schedule,
                                          const Machine &machine) const {
  auto product = describeFor(problem.fusion(), machine);
  if (!product)
    return product.mismatch();
  if (sharedBytesOf(schedule) > machine.arch.sharedPerBlock)
    return nn::Mismatch("its stages need more shared memory than a block has");
  if (schedule.getOccupancy() * threadsOf(schedule) > machine.arch.threadsPerSm)
    return nn::Mismatch("an SM has no threads for so many blocks");
  if (schedule.getWgmma() && machine.arch.mma != Mma::wgmma)
    return nn::Mismatch("the target has no WGMMA");
  if (schedule.getCluster() > 1 && machine.arch.mma != Mma::wgmma)
    return nn::Mismatch("the target has no clusters");
  if (product->first)
    return nn::Mismatch("it has two products");
  auto end = printEnd(*product, problem.lowered(), neighboursOf(schedule));
  if (!end)
    return end.mismatch();
  return FittedProduct{*product, *end};
}

KernelText IntegerGemm::print(FittedProduct &fitted, Problem &problem,
                              IntegerGemmAttr schedule, StringRef name) const {
  const IntegerProduct &product = fitted.product;
  const LinalgFusion &lowered = problem.lowered();
  nn::QuantizedConvOp conv = product.op;
  KernelText kernel;
  kernel.header = "integer_gemm";
  std::string tile = printTile(schedule);
  if (product.isCentered)
    tile += constantsText("bool", {{"centered", true}});
  printProduct(
      kernel, product, fitted.end, lowered, name, tile,
      {.threads = threadsOf(schedule),
       .cluster = schedule.getCluster(),
       .occupancy = schedule.getOccupancy() > 1 ? schedule.getOccupancy() : 0},
      "frit::integerGemm(" + name.str() + "_product{" + argumentList(lowered) +
          "}, " + parameterOf(conv.getX()) + ", " + parameterOf(conv.getW()) +
          zeroParameters(product) + ");\n");
  kernel.grid[0] = ceilDiv(product.pixels(), schedule.getTileM()) *
                   ceilDiv(product.k, schedule.getTileN()) *
                   schedule.getCluster();
  kernel.sharedBytes = sharedBytesOf(schedule);
  kernel.hasFloor = schedule.getWgmma();
  kernel.sums = schedule.getWarpM() * schedule.getWarpN() / 32;
  return kernel;
}

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<IntegerGemmAttr>() {
  return std::make_unique<IntegerGemm>();
}
