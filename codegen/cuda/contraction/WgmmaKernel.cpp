//===- WgmmaKernel.cpp - Products and convolutions of sm_90a --------------===//
//
// The skeletons wgmma_gemm and wgmma_conv: their tensor maps and launches, as
// wgmma_gemm.cuh and wgmma_conv.cuh ask for them. The same text also compiles
// for architectures without WGMMA, where the kernels of gemm.cuh and conv.cuh
// take over: from PTX that a newer device translates, and in the emulator.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/contraction/Contraction.h"
#include "codegen/cuda/contraction/ProblemText.h"
#include "codegen/cuda/contraction/Wgmma.h"
#include "compiler/transform/FoldNorms.h"
#include "compiler/transform/SplitReductions.h"
#include "compiler/transform/training/AlignColumns.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

namespace {

/// The map of a batch of matrices as they are stored.
artifact::TensorMap matrixMap(unsigned argument, Type type, int64_t rows,
                              int64_t cols, int64_t leading, int64_t batch,
                              int64_t stride, ArrayRef<int64_t> box) {
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  SmallVector<int64_t, 3> boxes(box);
  boxes.push_back(1);
  artifact::TensorMap map = tensorMap(
      argument, type, {cols, rows, stride ? batch : 1},
      {leading * bytes, (stride ? stride : rows * leading) * bytes}, boxes);
  map.swizzle = kLineBytes;
  return map;
}

/// Puts a kernel of either skeleton together.
class WgmmaKernel {
public:
  WgmmaKernel(const LinalgFusion &lowered, StringRef name,
              const WgmmaTile &tile, const GpuArch &arch)
      : lowered(lowered), name(name), text(lowered, name), tile(tile),
        arch(arch) {}

  /// Adds the maps of A or x, and of B or w.
  void addMap(const artifact::TensorMap &map) {
    kernel.tensorMaps.push_back(map);
  }
  void addConvMaps(const nn::ConvInfo &info);

  /// Adds the maps of the result and residual, the constants and the call of
  /// `function`, or of `floor` on architectures without WGMMA.
  nn::Match<KernelText> finish(const nn::GemmInfo &product, StringRef header,
                               StringRef function, StringRef floor) {
    Type type = elementType(lowered.outputs()[0]);
    int64_t bytes = type.getIntOrFloatBitWidth() / 8;
    bool boxes = tile.storesBoxes(product, bytes);
    std::string maps[2] = {"nullptr", "nullptr"};
    std::string sources = "&m0, &m1, ";
    if (product.addend)
      sources += "&m2, &m3, ";
    auto addResult = [&](unsigned argument, std::string &name) {
      name = "&m" + std::to_string(kernel.tensorMaps.size());
      addMap(matrixMap(argument, type, product.m, product.n, product.ldd,
                       product.batch, product.strideD,
                       {kLineBytes / bytes, kBoxLines}));
    };
    if (boxes)
      addResult(lowered.inputElements().size(), maps[0]);
    if (boxes && product.residual)
      addResult(text.argument(product.residual), maps[1]);

    if (nn::Legality why = text.addEpilogue(product))
      return *why;
    text.addNorm(product);
    text.addConstants("int", {{"tileM", tile.m}, {"tileN", tile.n}});
    text.addConstants("int", {{"stages", tile.stages},
                              {"cluster", tile.cluster},
                              {"split", tile.split},
                              {"blocks", tile.occupancy},
                              {"raster", tile.raster}});
    text.addConstants("bool", {{"pingPong", tile.pingPong}});
    nn::ConvOp addend = product.addend;
    bool constant = text.isConstant(product.b) &&
                    (!addend || text.isConstant(addend.getW()));
    text.addConstants("bool", {{"constantB", constant}});

    std::string problem = "<" + text.problem();
    std::string read =
        text.parameter(product.a) + ", " + text.parameter(product.b) + ", ";
    if (addend) {
      problem += ", " + text.addend();
      read += text.parameter(addend.getX()) + ", " +
              text.parameter(addend.getW()) + ", ";
    }
    problem += ">(";
    std::string operands = text.optional(product.bias) + ", " +
                           text.optional(product.residual) + ", y0" +
                           text.normParameters(product) + ");\n";
    std::string call =
        ("#ifdef FRIT_HAS_WGMMA\nfrit::" + function + problem + sources +
         maps[0] + ", " + maps[1] + ", " + operands + "#else\nfrit::" + floor +
         problem + read + operands + "#endif\n")
            .str();
    kernel.header = header;
    kernel.block[0] = tile.layout().threads();
    kernel.grid[0] = tile.blocks(product, arch);
    kernel.sharedBytes = tile.layout().sharedBytes();
    // Accumulators per thread: those of 64 rows, or of a whole tile where
    // warpgroups work in ping-pong.
    kernel.sums =
        tile.n / (tile.layout().movesRegisters() && tile.split == 1 ? 1 : 2);
    kernel.source = text.definition() +
                    kernelFunction(name, lowered,
                                   {.threads = tile.layout().threads(),
                                    .tensorMaps = kernel.tensorMaps.size(),
                                    .wait = PdlWait::inSkeleton,
                                    .cluster = tile.cluster * tile.split,
                                    .occupancy = tile.occupancy},
                                   call);
    return std::move(kernel);
  }

  ProblemText &problem() { return text; }

private:
  const LinalgFusion &lowered;
  StringRef name;
  ProblemText text;
  WgmmaTile tile;
  const GpuArch &arch;
  KernelText kernel;
};

} // namespace

void WgmmaKernel::addConvMaps(const nn::ConvInfo &info) {
  Type type = nn::tensorType(info.x).getElementType();
  bool rows = readsRows(info);
  artifact::TensorMap pixels = tensorMap(
      text.argument(info.x), type,
      {rows ? info.s * info.c : info.c,
       rows ? info.width - info.s + 1 : info.width, info.h, info.n},
      {2 * info.c, 2 * info.c * info.width, 2 * info.c * info.width * info.h});
  pixels.kind = artifact::MapKind::im2col;
  pixels.elementStrides[1] = info.strideW;
  pixels.elementStrides[2] = info.strideH;
  int64_t taps = tapsOfStep(info);
  int64_t copies = rows ? 1 : taps;
  pixels.swizzle = kLineBytes / copies;
  auto [lower, upper] = im2colCorners(info);
  llvm::copy(lower, pixels.lower);
  llvm::copy(upper, pixels.upper);
  pixels.channels = kWgmmaDepth / copies;
  pixels.pixels = tile.m;
  addMap(pixels);

  // Filters of few channels are one tap with all of them.
  int64_t depth = info.c * info.r * info.s;
  int64_t channels = taps > 1 ? depth : info.c;
  artifact::TensorMap filters = tensorMap(
      text.argument(info.w), type, {channels, depth / channels, info.k},
      {2 * channels, 2 * depth}, {kWgmmaDepth, 1, tile.n / tile.cluster});
  filters.swizzle = kLineBytes;
  addMap(filters);
}

static nn::Match<KernelText> emitGemm(const nn::GemmInfo &info,
                                      const LinalgFusion &lowered,
                                      StringRef name, const WgmmaTile &tile,
                                      const GpuArch &arch) {
  WgmmaKernel kernel(lowered, name, tile, arch);
  Type type = nn::tensorType(info.a).getElementType();
  ProblemText &text = kernel.problem();
  auto addOperand = [&](Value v, bool alongK, int64_t lines, int64_t leading,
                        int64_t stride, int64_t boxLines) {
    int64_t rows = alongK ? lines : info.k, cols = alongK ? info.k : lines;
    kernel.addMap(matrixMap(text.argument(v), type, rows, cols, leading,
                            info.batch, stride,
                            {kWgmmaDepth, alongK ? boxLines : kWgmmaDepth}));
  };
  addOperand(info.a, !info.transposeA, info.m, info.lda, info.strideA, tile.m);
  addOperand(info.b, info.transposeB, info.n, info.ldb, info.strideB,
             tile.n / tile.cluster);
  text.addGemm(info);
  return kernel.finish(info, "wgmma_gemm", "wgmmaGemm", "gemmFloor");
}

static nn::Match<KernelText> emitConv(const nn::ConvInfo &info,
                                      const LinalgFusion &lowered,
                                      StringRef name, const WgmmaTile &tile,
                                      const GpuArch &arch) {
  WgmmaKernel kernel(lowered, name, tile, arch);
  kernel.addConvMaps(info);
  kernel.problem().addConv(info);
  if (!info.addend)
    return kernel.finish(impliedGemm(info), "wgmma_conv", "wgmmaConv",
                         "convFloor");
  nn::ConvInfo addend = nn::describeAddend(info);
  kernel.addConvMaps(addend);
  kernel.problem().addAddend(addend);
  return kernel.finish(impliedGemm(info), "wgmma_conv", "wgmmaConvSum",
                       "convSumFloor");
}

//===----------------------------------------------------------------------===//
// Skeletons
//===----------------------------------------------------------------------===//

static LogicalResult
verifyTile(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t m,
           int64_t n, int64_t stages, int64_t cluster, int64_t split,
           int64_t occupancy, bool pingpong, int64_t raster) {
  WgmmaLayout layout = {m, n, stages, cluster, split, occupancy};
  if (failed(require(emitError, m == 64 || m == 128 || m == 192, "tile_m",
                     "64, 128 or 192")) ||
      failed(require(emitError, n > 0 && n <= 256 && n % 64 == 0, "tile_n",
                     "a multiple of 64 of at most 256")) ||
      failed(require(emitError, stages >= 2, "stages", "2 or more")) ||
      failed(require(emitError, cluster == 1 || (cluster == 2 && split == 1),
                     "cluster", "1, or 2 where `split` is 1")) ||
      failed(require(emitError, isPowerOf2UpTo(split, 8), "split",
                     "1, 2, 4 or 8")))
    return failure();
  if (failed(require(emitError, occupancy == 1 || occupancy == 2, "occupancy",
                     "1 or 2")) ||
      failed(require(emitError, !pingpong || layout.canPingPong(), "pingpong",
                     "false, but for an SM's only block with tiles of 128 rows "
                     "and up to 192 columns")))
    return failure();
  return require(emitError, raster > 0 && raster <= 1024, "raster",
                 "from 1 to 1024");
}

LogicalResult
WgmmaGemmAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      int64_t tileM, int64_t tileN, int64_t stages,
                      int64_t cluster, int64_t split, int64_t occupancy,
                      bool pingpong, int64_t raster) {
  return verifyTile(emitError, tileM, tileN, stages, cluster, split, occupancy,
                    pingpong, raster);
}

LogicalResult
WgmmaConvAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      int64_t tileM, int64_t tileN, int64_t stages,
                      int64_t cluster, int64_t split, int64_t occupancy,
                      bool pingpong, int64_t raster) {
  return verifyTile(emitError, tileM, tileN, stages, cluster, split, occupancy,
                    pingpong, raster);
}

namespace {

/// The common part of both skeletons.
template <class Attr> class WgmmaSkeleton : public TunedSkeletonOf<Attr> {
protected:
  static WgmmaTile tileOf(Attr schedule, const nn::GemmInfo &product) {
    return {
        schedule.getTileM(),    schedule.getTileN(),  schedule.getStages(),
        schedule.getCluster(),  schedule.getSplit(),  schedule.getOccupancy(),
        schedule.getPingpong(), schedule.getRaster(), takesColumns(product)};
  }

  /// The tile, where an SM has room for it.
  static nn::Match<WgmmaTile> fittingTile(Attr schedule,
                                          const nn::GemmInfo &product,
                                          const Machine &machine) {
    WgmmaTile tile = tileOf(schedule, product);
    if (!machine.arch.hasWgmma)
      return nn::Mismatch("the target has no warpgroup products");
    if (!tile.fits(machine.arch))
      return nn::Mismatch("the tile does not fit into an SM");
    return tile;
  }

  static void offerTiles(Problem &problem, const Machine &machine,
                         Offers &offers) {
    auto product = productOf(problem);
    for (const WgmmaPick &pick : rankWgmmaTiles(*product, resultBytes(problem),
                                                machine.arch, offers.most)) {
      WgmmaTile tile = pick.tile.forProduct(*product, machine.arch);
      offers.add(Attr::get(problem.context(), tile.m, tile.n, tile.stages,
                           tile.cluster, tile.split, tile.occupancy,
                           tile.pingPong, tile.raster));
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
    WgmmaTile tile = tileOf(schedule, *product);
    double time =
        wgmmaMicroseconds(*product, tile, resultBytes(problem), machine.arch);
    double blocks = double(tile.blocks(*product, machine.arch));
    return nn::StepCost{time, std::min(1.0, blocks / double(machine.arch.sms *
                                                            tile.occupancy))};
  }
};

/// TMA reads rows of 16 bytes and a multiple.
static int64_t columnMultiple(nn::MatmulOp product, const GpuArch &arch) {
  Type element = nn::tensorType(product.getY()).getElementType();
  return arch.hasWgmma && isHalf(element) ? 8 : 1;
}

static int64_t momentWidth(nn::MatmulOp product, const GpuArch &arch) {
  auto info = nn::describeMatmul(product);
  if (!arch.hasWgmma || !info)
    return 0;
  info->resultMoments = product.getY();
  info->resultWidth = kMomentWidth;
  Type type = nn::tensorType(product.getY()).getElementType();
  return takesWgmma(*info, type) ? kMomentWidth : 0;
}

class WgmmaGemm : public WgmmaSkeleton<WgmmaGemmAttr> {
  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(AlignColumnsRewrite{[&machine](nn::MatmulOp product) {
      return columnMultiple(product, machine.arch);
    }});
    // With several tiles to a block, merging is in the way of the next one;
    // with one, it hides behind the operands' first copies.
    rewrites.add(FoldNormsRewrite{
        [&machine](nn::MatmulOp product) {
          return momentWidth(product, machine.arch);
        },
        /*mergesMoments=*/[](int64_t rows) { return rows > 2048; }});
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
    return machine.arch.hasWgmma &&
           isa<nn::MomentsOp, nn::NormalizeOp, nn::NormalizeProductOp>(
               *composite);
  }
  bool takesChain(const Chain &chain, const Machine &machine) const override {
    auto product = dyn_cast<nn::MatmulOp>(chain.contraction());
    if (!product || !chain.epilogue || !machine.arch.hasWgmma)
      return false;
    auto info = nn::describeMatmul(product);
    if (!info)
      return false;
    static_cast<nn::EpilogueInfo &>(*info) = *chain.epilogue;
    return takesWgmma(*info, nn::tensorType(info->result).getElementType());
  }
  nn::Match<KernelText> emitText(Problem &problem, WgmmaGemmAttr schedule,
                                 StringRef name,
                                 const Machine &machine) const override {
    if (!usesWgmmaGemm(problem, machine))
      return nn::Mismatch("it is no product that WGMMA computes");
    auto product = productOf(problem);
    auto tile = fittingTile(schedule, *product, machine);
    if (!tile)
      return tile.mismatch();
    return emitGemm(*product, problem.lowered(), name, *tile, machine.arch);
  }
};

/// Returns the rows of a part of which a convolution's kernel takes the moments
/// of columns; 0 if it takes none.
static int64_t momentHeight(nn::ConvOp conv, const GpuArch &arch) {
  auto info = nn::describeConv(conv);
  bool takes = arch.hasWgmma && info && takesWgmma(*info) &&
               info->n * info->p * info->q % kMomentHeight == 0;
  return takes ? kMomentHeight : 0;
}

class WgmmaConv : public WgmmaSkeleton<WgmmaConvAttr> {
  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(ColumnMomentsRewrite{[&machine](nn::ConvOp conv) {
      return momentHeight(conv, machine.arch);
    }});
  }
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const override {
    if (problem.kind() == Problem::Kind::contraction &&
        usesWgmmaConv(problem, machine))
      offerTiles(problem, machine, offers);
    return std::nullopt;
  }
  /// A pointwise convolution's kernel is that of a product.
  bool takesChain(const Chain &chain, const Machine &machine) const override {
    auto conv = dyn_cast<nn::ConvOp>(chain.contraction());
    if (!conv || !chain.epilogue || !machine.arch.hasWgmma)
      return false;
    auto info = nn::describeConv(conv);
    if (!info)
      return false;
    static_cast<nn::EpilogueInfo &>(*info) = *chain.epilogue;
    return takesWgmma(*info);
  }
  nn::Match<KernelText> emitText(Problem &problem, WgmmaConvAttr schedule,
                                 StringRef name,
                                 const Machine &machine) const override {
    if (!usesWgmmaConv(problem, machine))
      return nn::Mismatch("it is no convolution that WGMMA computes");
    auto tile = fittingTile(schedule, *productOf(problem), machine);
    if (!tile)
      return tile.mismatch();
    return emitConv(*problem.conv(), problem.lowered(), name, *tile,
                    machine.arch);
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
