//===- WgmmaKernel.cpp - Products and convolutions of sm_90a --------------===//
//
// The skeletons wgmma_gemm and wgmma_conv: their tensor maps and launches, as
// wgmma_gemm.cuh and wgmma_conv.cuh ask for them. The same text also compiles
// for architectures without WGMMA, where the kernels of gemm.cuh and conv.cuh
// take over: from PTX that a newer device translates, and in the emulator.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/contraction/WgmmaKernel.h"

#include "codegen/cuda/contraction/ProblemText.h"
#include "codegen/cuda/target/Skeleton.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

namespace {

/// Returns the map of a batch of matrices as stored.
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

/// Builds a kernel of either skeleton.
class WgmmaKernel {
public:
  WgmmaKernel(const LinalgFusion &lowered, StringRef name,
              const WgmmaTile &tile)
      : lowered(lowered), name(name), text(lowered, name), tile(tile) {}

  /// Adds the map of A or x, or of B or w.
  void addMap(const artifact::TensorMap &map) {
    kernel.tensorMaps.push_back(map);
  }
  void addConvMaps(const nn::ConvInfo &info);

  /// Adds the maps of the result and of the residual or factor, the constants
  /// and the call of `function`, or of `floor` on architectures without WGMMA.
  KernelText finish(const nn::GemmInfo &product, StringRef header,
                    StringRef function, StringRef floor) {
    Type type = elementType(lowered.outputs()[0]);
    int64_t bytes = type.getIntOrFloatBitWidth() / 8;
    bool boxes = tile.storesBoxes(product, bytes);
    std::string maps[2] = {"nullptr", "nullptr"};
    std::string sources = "&m0, &m1, ";
    if (product.epilogue.addend)
      sources += "&m2, &m3, ";
    if (product.pairedB)
      sources += "&m2, ";
    // A second product takes the place of the residual.
    Value wide = product.pairedB ? Value() : product.epilogue.wideOperand();
    int64_t per = product.epilogue.sumsPerResult();
    auto addResult = [&](unsigned argument, std::string &name) {
      name = "&m" + std::to_string(kernel.tensorMaps.size());
      addMap(matrixMap(argument, type, product.m, product.n / per,
                       product.ldd / per, product.batch, product.strideD,
                       {kLineBytes / bytes, kBoxLines}));
    };
    if (boxes)
      addResult(lowered.inputElements().size(), maps[0]);
    if (boxes && wide)
      addResult(text.argument(wide), maps[1]);
    if (product.epilogue.secondStore())
      addResult(lowered.inputElements().size() + 1, maps[1]);

    text.addStages(product.epilogue);
    text.addConstants("int", {{"tileM", tile.m}, {"tileN", tile.n}});
    text.addConstants("int", {{"stages", tile.stages},
                              {"cluster", tile.cluster},
                              {"split", tile.split},
                              {"blocks", tile.occupancy},
                              {"raster", tile.raster}});
    text.addConstants("bool", {{"pingPong", tile.pingPong}});
    nn::ConvOp addend = product.epilogue.addend;
    bool constant = text.isConstant(product.b) &&
                    (!addend || text.isConstant(addend.getW())) &&
                    (!product.pairedB || text.isConstant(product.pairedB));
    text.addConstants("bool", {{"constantB", constant}});

    std::string problem = "<" + text.problem();
    std::string read =
        text.parameter(product.a) + ", " + text.parameter(product.b) + ", ";
    if (product.pairedB) {
      text.addConstants("bool", {{"isPair", 1}});
      read += text.parameter(product.pairedB) + ", ";
    }
    if (addend) {
      problem += ", " + text.addend();
      read += text.parameter(addend.getX()) + ", " +
              text.parameter(addend.getW()) + ", ";
    }
    problem += ">(";
    std::string operands = text.optional(product.epilogue.bias()) + ", " +
                           text.optional(wide) + ", y0" +
                           text.endOperands(product.epilogue) + ");\n";
    std::string call =
        ("#ifdef FRIT_HAS_WGMMA\nfrit::" + function + problem + sources +
         maps[0] + ", " + maps[1] + ", " + operands + "#else\nfrit::" + floor +
         problem + read + operands + "#endif\n")
            .str();
    WgmmaLayout layout = tile.layout(needsOf(product));
    kernel.header = header;
    kernel.block[0] = layout.threads();
    kernel.grid[0] = launchBlocks(tile.blocks, tile.neededBlocks(product));
    kernel.sharedBytes = layout.sharedBytes();
    // Accumulators per thread: for 64 rows, or for a whole tile in ping-pong.
    kernel.sums = tile.n / (layout.movesRegisters() && tile.split == 1 ? 1 : 2);
    kernel.source = text.definition() +
                    kernelFunction(name, lowered,
                                   {.threads = layout.threads(),
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

  // Filters with few channels are stored as one tap with all of them.
  int64_t depth = info.c * info.r * info.s;
  int64_t channels = taps > 1 ? depth : info.c;
  artifact::TensorMap filters = tensorMap(
      text.argument(info.w), type, {channels, depth / channels, info.k},
      {2 * channels, 2 * depth}, {kWgmmaDepth, 1, tile.n / tile.cluster});
  filters.swizzle = kLineBytes;
  addMap(filters);
}

KernelText cuda::printWgmmaGemm(const nn::GemmInfo &info,
                                const LinalgFusion &lowered, StringRef name,
                                const WgmmaTile &tile) {
  WgmmaKernel kernel(lowered, name, tile);
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
  for (Value b : {info.b, info.pairedB})
    if (b)
      addOperand(b, info.transposeB, info.n, info.ldb, info.strideB,
                 info.pairedB ? kWgmmaDepth : tile.n / tile.cluster);
  text.addGemm(info);
  return info.pairedB
             ? kernel.finish(info, "wgmma_gemm", "wgmmaGemmPair",
                             "gemmPairFloor")
             : kernel.finish(info, "wgmma_gemm", "wgmmaGemm", "gemmFloor");
}

KernelText cuda::printWgmmaConv(const nn::ConvInfo &info,
                                const LinalgFusion &lowered, StringRef name,
                                const WgmmaTile &tile) {
  WgmmaKernel kernel(lowered, name, tile);
  kernel.addConvMaps(info);
  kernel.problem().addConv(info);
  if (!info.epilogue.addend)
    return kernel.finish(impliedGemm(info), "wgmma_conv", "wgmmaConv",
                         "convFloor");
  nn::ConvInfo addend = nn::describeAddend(info);
  kernel.addConvMaps(addend);
  kernel.problem().addAddend(addend);
  return kernel.finish(impliedGemm(info), "wgmma_conv", "wgmmaConvSum",
                       "convSumFloor");
}
