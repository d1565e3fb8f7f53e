//===- WgmmaSkeletons.cpp - wgmma_gemm and wgmma_conv ---------------------===//

#include "codegen/cuda/contraction/Contraction.h"
#include "codegen/cuda/contraction/WgmmaKernel.h"
#include "dialects/nn/rewrites/AlignColumns.h"
#include "dialects/nn/rewrites/ConvBatchNorms.h"
#include "dialects/nn/rewrites/FoldNorms.h"
#include "dialects/nn/rewrites/FoldProducts.h"
#include "dialects/nn/rewrites/FoldUpsampling.h"
#include "dialects/nn/rewrites/GateProducts.h"
#include "dialects/nn/rewrites/SideOutputs.h"
#include "dialects/nn/rewrites/SplitReductions.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

LogicalResult
WgmmaGemmAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      int64_t tileM, int64_t tileN, int64_t stages,
                      int64_t cluster, int64_t split, int64_t occupancy,
                      bool pingpong, int64_t raster, int64_t blocks) {
  return verifyWgmmaTile(emitError, {tileM, tileN, stages, cluster, split,
                                     occupancy, pingpong, raster, blocks});
}

LogicalResult
WgmmaConvAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      int64_t tileM, int64_t tileN, int64_t stages,
                      int64_t cluster, int64_t split, int64_t occupancy,
                      bool pingpong, int64_t raster, int64_t blocks) {
  return verifyWgmmaTile(emitError, {tileM, tileN, stages, cluster, split,
                                     occupancy, pingpong, raster, blocks});
}

namespace {

/// A product or convolution, and a tile that fits it.
template <class Info> struct WgmmaFit {
  Info info;
  WgmmaTile tile;
};

/// The common part of both skeletons.
template <class Attr, class Info>
class WgmmaSkeleton : public TunedSkeletonOf<Attr, WgmmaFit<Info>> {
protected:
  /// Returns the tile of a schedule if it fits the product of a problem.
  static nn::Match<WgmmaTile> fittingTile(Attr schedule, Problem &problem,
                                          const Machine &machine) {
    auto product = productOf(problem);
    WgmmaTile tile = wgmmaTileOf(schedule);
    if (!tile.fits(needsOf(*product), machine.arch))
      return nn::Mismatch("the tile does not fit into an SM");
    if (nn::Legality why =
            checkBlocks(tile.blocks, tile.neededBlocks(*product)))
      return *why;
    if (nn::Legality why = checkFunction(product->epilogue, problem.lowered()))
      return *why;
    return tile;
  }

  static void offerTiles(Problem &problem, const Machine &machine,
                         Offers &offers) {
    auto product = productOf(problem);
    for (const WgmmaPick &pick :
         rankWgmmaTiles(workOf(*product, resultBytes(problem)), machine.arch,
                        offers.most, !machine.batchInvariant)) {
      WgmmaTile tile = pick.tile.forProduct(*product, machine.arch);
      offers.add(scheduleOf<Attr>(problem.context(), tile));
    }
  }

  static int64_t resultBytes(Problem &problem) {
    return nn::tensorType(problem.fusion().getResult(0))
               .getElementTypeBitWidth() /
           8;
  }

private:
  std::optional<nn::StepCost> costOf(Problem &problem, Attr schedule,
                                     const Machine &machine) const override {
    auto product = productOf(problem);
    if (!product)
      return std::nullopt;
    WgmmaTile tile = wgmmaTileOf(schedule);
    double time = wgmmaMicroseconds(workOf(*product, resultBytes(problem)),
                                    tile, machine.arch);
    double blocks =
        double(launchBlocks(tile.blocks, tile.neededBlocks(*product)));
    return nn::StepCost{time, std::min(1.0, blocks / double(machine.arch.sms *
                                                            tile.occupancy))};
  }
};

/// Returns the multiple to which columns are padded: TMA requires rows of a
/// multiple of 16 bytes.
static int64_t columnMultiple(nn::MatmulOp product, const GpuArch &arch) {
  Type element = nn::tensorType(product.getY()).getElementType();
  return arch.mma == Mma::wgmma && isHalf(element) ? 8 : 1;
}

static int64_t momentWidth(nn::MatmulOp product, const Machine &machine) {
  auto info = nn::describeMatmul(product);
  // Products of a few rows, whose order of sums all have, take no moments.
  if (machine.arch.mma != Mma::wgmma || machine.batchInvariant || !info)
    return 0;
  using Reduce = nn::stage::Reduce;
  info->epilogue.stages = {Reduce{Reduce::Kind::moments, Reduce::Along::rows,
                                  kMomentWidth, product.getY()}};
  Type type = nn::tensorType(product.getY()).getElementType();
  return checkWgmma(*info, type) ? 0 : kMomentWidth;
}

/// Returns whether a product's kernel gates its columns.
static bool gatesColumns(nn::MatmulOp product, const Machine &machine) {
  auto info = nn::describeMatmul(product);
  if (machine.arch.mma != Mma::wgmma || machine.batchInvariant || !info ||
      info->m < kTileRows)
    return false;
  info->epilogue.stages = {nn::stage::Gate{Activation::gelu, product.getY()}};
  return !checkWgmma(*info, nn::tensorType(product.getY()).getElementType());
}

class WgmmaGemm : public WgmmaSkeleton<WgmmaGemmAttr, nn::GemmInfo> {
  double compileMilliseconds() const override { return 250; }
  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(nn::AlignColumnsRewrite{[&machine](nn::MatmulOp product) {
      return columnMultiple(product, machine.arch);
    }});
    rewrites.add(nn::GateProductsRewrite{[&machine](nn::MatmulOp product) {
      return gatesColumns(product, machine);
    }});
    // With several tiles per block, merging delays the next tile. With one, it
    // overlaps with the operands' first copies.
    rewrites.add(nn::FoldNormsRewrite{
        [&machine](nn::MatmulOp product) {
          return momentWidth(product, machine);
        },
        /*mergesMoments=*/[](int64_t rows) { return rows > 2048; }});
    rewrites.add(nn::SideOutputsRewrite{
        [&machine](nn::FusionOp fusion) {
          Problem problem(fusion);
          return !pairOf(problem) && usesWgmmaGemm(problem, machine);
        },
        kSumHeight});
  }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() == Problem::Kind::contraction &&
        usesWgmmaGemm(problem, machine))
      offerTiles(problem, machine, offers);
    return std::nullopt;
  }
  bool keepsWhole(nn::CompositeOp composite,
                  const Machine &machine) const override {
    return machine.arch.mma == Mma::wgmma &&
           isa<nn::MomentsOp, nn::NormalizeOp, nn::NormalizeProductOp,
               nn::GateColumnsOp>(*composite);
  }
  bool canFusePair(ArrayRef<Operation *> operators,
                   const Machine &machine) const override {
    auto info = nn::describePair(operators);
    return info && !checkWgmmaPair(*info, machine);
  }
  bool takesChain(const Chain &chain, const Machine &machine) const override {
    auto product = dyn_cast<nn::MatmulOp>(chain.contraction());
    if (!product || !chain.epilogue || machine.arch.mma != Mma::wgmma)
      return false;
    auto info = nn::describeMatmul(product);
    if (!info)
      return false;
    info->epilogue = *chain.epilogue;
    return !checkWgmma(
        *info, nn::tensorType(info->epilogue.result()).getElementType());
  }
  nn::Match<WgmmaFit<nn::GemmInfo>> fit(Problem &problem,
                                        WgmmaGemmAttr schedule,
                                        const Machine &machine) const override {
    if (nn::Legality why = checkWgmmaGemm(problem, machine))
      return *why;
    auto tile = fittingTile(schedule, problem, machine);
    if (!tile)
      return tile.mismatch();
    return WgmmaFit<nn::GemmInfo>{*productOf(problem), *tile};
  }
  KernelText print(WgmmaFit<nn::GemmInfo> &fitted, Problem &problem,
                   WgmmaGemmAttr, StringRef name) const override {
    return printWgmmaGemm(fitted.info, problem.lowered(), name, fitted.tile);
  }
};

/// Describes a convolution and the operators after it, if a kernel of WGMMA
/// computes all of them.
static std::optional<nn::ConvInfo> describeWgmmaConv(nn::ConvOp conv,
                                                     ArrayRef<Operation *> then,
                                                     const GpuArch &arch) {
  auto info = nn::describeConv(conv);
  auto epilogue = nn::describeEpilogue(conv, then);
  if (arch.mma != Mma::wgmma || !info || !epilogue)
    return std::nullopt;
  info->epilogue = *epilogue;
  return checkWgmma(*info) ? std::nullopt : std::optional(*info);
}

/// Returns the height of the column moments that a convolution's kernel takes
/// after `epilogue`; 0 if it takes none. A kernel that adds two convolutions
/// takes none.
static int64_t momentHeight(nn::ConvOp conv, ArrayRef<Operation *> epilogue,
                            const GpuArch &arch) {
  if (!epilogue.empty())
    if (auto added = nn::addedConvolutions(epilogue.front()))
      if (describeWgmmaConv(added->first, {added->second, epilogue.front()},
                            arch))
        return 0;
  auto info = describeWgmmaConv(conv, epilogue, arch);
  return info && info->n * info->p * info->q % kMomentHeight == 0
             ? kMomentHeight
             : 0;
}

/// Returns whether one kernel of tiles computes two pointwise convolutions and
/// their sum.
static bool addsProducts(nn::ConvOp conv, nn::ConvOp other, nn::AddOp sum,
                         const Machine &machine) {
  auto info = describeWgmmaConv(conv, {other, sum}, machine.arch);
  return info && !machine.batchInvariant &&
         info->n * info->p * info->q >= kTileRows;
}

/// Returns whether four planes of a doubled image, convolved as one image of
/// four times the filters, save more products than their filters and the kernel
/// that orders them read and write more. Without the doubled image, that kernel
/// moves more only of results with more channels than it has.
static bool foldsUpsampling(nn::ConvOp conv, nn::ConvOp planes,
                            const Machine &machine) {
  auto info = nn::describeConv(planes);
  if (!info || machine.batchInvariant ||
      !describeWgmmaConv(planes, {}, machine.arch) ||
      info->n * info->p * info->q < kTileRows)
    return false;
  const GpuArch &arch = machine.arch;
  auto bytes = [](Value value) {
    return 2.0 * nn::tensorType(value).getNumElements();
  };
  double saved = double(nn::countFlops(conv) - nn::countFlops(planes));
  double moved = bytes(planes.getW()) - bytes(conv.getW()) +
                 2 * std::max(bytes(conv.getY()) - bytes(conv.getX()), 0.0);
  return saved / arch.productRate > moved / arch.memoryRate;
}

/// Microseconds that the small kernels of a joint gradient take, those that
/// others wait for.
static constexpr double kJointKernels = 15;

/// Returns the parts of all positions in which products for the joint gradient
/// of a pointwise convolution and its batch norm keep all SMs busy; 0 if the
/// two are faster apart. Jointly, the result is not read twice, and its
/// gradient is neither written nor read, but the operand is read three times
/// more. In f16, squares of activations might overflow.
static int64_t jointNormParts(nn::ConvOp conv, const GpuArch &arch) {
  auto info = nn::describeConv(conv);
  if (arch.mma != Mma::wgmma ||
      !nn::tensorType(conv.getX()).getElementType().isBF16() || !info ||
      checkWgmma(*info))
    return 0;
  int64_t positions = info->n * info->p * info->q;
  double saved =
      2.0 * positions * (4 * info->k - 3 * info->c) / arch.memoryRate;
  double added = 4.0 * positions * info->c * info->c / (arch.productRate / 2) +
                 kJointKernels;
  if (saved < added || positions % kWgmmaDepth)
    return 0;
  int64_t steps = positions / kWgmmaDepth;
  // Tiles of 128 × 128 for a quarter of the SMs; split-K uses the others, so
  // that few parts are left to add.
  int64_t tiles = ceilDiv(info->k, 128) * ceilDiv(info->c, 128);
  int64_t parts = std::min(std::max<int64_t>(arch.sms / tiles / 4, 1), steps);
  while (steps % parts)
    --parts;
  return parts;
}

class WgmmaConv : public WgmmaSkeleton<WgmmaConvAttr, nn::ConvInfo> {
  double compileMilliseconds() const override { return 160; }
  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(nn::ColumnMomentsRewrite{
        [&machine](nn::ConvOp conv, ArrayRef<Operation *> epilogue) {
          return momentHeight(conv, epilogue, machine.arch);
        }});
    rewrites.add(nn::ConvBatchNormsRewrite{[&machine](nn::ConvOp conv) {
      return jointNormParts(conv, machine.arch);
    }});
    rewrites.add(nn::FoldProductsRewrite{
        [&machine](nn::ConvOp conv, nn::ConvOp other, nn::AddOp sum) {
          return addsProducts(conv, other, sum, machine);
        }});
    rewrites.add(nn::FoldUpsamplingRewrite{
        [&machine](nn::ConvOp conv, nn::ConvOp planes) {
          return foldsUpsampling(conv, planes, machine);
        }});
  }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() == Problem::Kind::contraction &&
        usesWgmmaConv(problem, machine))
      offerTiles(problem, machine, offers);
    return std::nullopt;
  }
  /// Pointwise convolutions use the kernel of products.
  bool takesChain(const Chain &chain, const Machine &machine) const override {
    auto conv = dyn_cast<nn::ConvOp>(chain.contraction());
    if (!conv || !chain.epilogue || machine.arch.mma != Mma::wgmma)
      return false;
    auto info = nn::describeConv(conv);
    if (!info)
      return false;
    info->epilogue = *chain.epilogue;
    return !checkWgmma(*info);
  }
  nn::Match<WgmmaFit<nn::ConvInfo>> fit(Problem &problem,
                                        WgmmaConvAttr schedule,
                                        const Machine &machine) const override {
    if (nn::Legality why = checkWgmmaConv(problem, machine))
      return *why;
    auto tile = fittingTile(schedule, problem, machine);
    if (!tile)
      return tile.mismatch();
    return WgmmaFit<nn::ConvInfo>{*problem.conv(), *tile};
  }
  KernelText print(WgmmaFit<nn::ConvInfo> &fitted, Problem &problem,
                   WgmmaConvAttr, StringRef name) const override {
    return printWgmmaConv(fitted.info, problem.lowered(), name, fitted.tile);
  }
};

} // namespace

template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<WgmmaGemmAttr>() {
  return std::make_unique<WgmmaGemm>();
}
template <>
std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<WgmmaConvAttr>() {
  return std::make_unique<WgmmaConv>();
}
