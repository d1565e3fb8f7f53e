//===- EmitWgmma.cpp - Products and convolutions of sm_90a ----------------===//
//
// Problems for wgmma_gemm.cuh and wgmma_conv.cuh, the tensor maps they read and
// write through, and their launches; the headers say what each must be. The
// same text also compiles for architectures without warpgroup products, where
// the kernels of gemm.cuh and conv.cuh take over: from PTX that a newer device
// translates, and in the emulator.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/contraction/EmitContraction.h"
#include "codegen/cuda/contraction/Wgmma.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// The lines of D that a warp stores at a time.
static constexpr int64_t kStoredLines = 16;

namespace {

/// The map of a batch of matrices as they are stored, of two-byte elements or
/// the result's.
TensorMap matrixMap(unsigned argument, Type type, int64_t rows, int64_t cols,
                    int64_t leading, int64_t batch, int64_t stride,
                    ArrayRef<int64_t> box) {
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  TensorMap map;
  map.argument = argument;
  map.type = type;
  map.dims = {cols, rows, stride ? batch : 1};
  map.strides = {leading * bytes, (stride ? stride : rows * leading) * bytes};
  map.box.assign(box.begin(), box.end());
  map.box.push_back(1);
  map.swizzle = kLineBytes;
  return map;
}

/// Emits one kernel of either skeleton.
class WgmmaKernel {
public:
  WgmmaKernel(const LinalgFusion &lowered, StringRef name,
              nn::ScheduleAttr schedule)
      : lowered(lowered), name(name), text(lowered, name),
        tile(wgmmaTileOf(schedule)) {}

  /// Adds the maps of A or x, and of B or w.
  void addMap(TensorMap map) { kernel.tensorMaps.push_back(std::move(map)); }
  void addConvMaps(const nn::ConvInfo &info);

  /// `m` rows of `n` results in `batch` matrices; `function` is the skeleton's,
  /// and `floor` the one that takes over elsewhere.
  FailureOr<KernelText> finish(const nn::GemmInfo &product, StringRef header,
                               StringRef function, StringRef floor,
                               std::string &failure) {
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
                       {kLineBytes / bytes, kStoredLines}));
    };
    if (boxes)
      addResult(lowered.inputElements().size(), maps[0]);
    if (boxes && product.residual)
      addResult(text.argument(product.residual), maps[1]);

    if (failed(text.addEpilogue(product, failure)))
      return llvm::failure();
    text.addNorm(product);
    text.addConstants("int", {{"tileM", tile.m}, {"tileN", tile.n}});
    text.addConstants("int", {{"stages", tile.stages},
                              {"cluster", tile.cluster},
                              {"split", tile.split},
                              {"blocks", tile.resident}});
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
    kernel.block[0] = tile.threads();
    kernel.grid[0] = tile.blocks(product);
    kernel.sharedBytes = tile.sharedBytes();
    // Accumulators per thread: those of 64 rows, or of a whole tile where
    // warpgroups work in ping-pong.
    kernel.sums = tile.n / (tile.movesRegisters() && tile.split == 1 ? 1 : 2);
    kernel.source = text.definition() +
                    kernelFunction(name, lowered, tile.threads(), call,
                                   kernel.tensorMaps.size(), Waits::inSkeleton,
                                   tile.cluster * tile.split, tile.resident);
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
  TensorMap pixels;
  pixels.argument = text.argument(info.x);
  pixels.type = type;
  pixels.im2col = true;
  bool rows = readsRows(info);
  pixels.dims = {rows ? info.s * info.c : info.c,
                 rows ? info.width - info.s + 1 : info.width, info.h, info.n};
  pixels.strides = {2 * info.c, 2 * info.c * info.width,
                    2 * info.c * info.width * info.h};
  pixels.elementStrides = {1, info.strideW, info.strideH, 1};
  int64_t taps = tapsOfStep(info);
  int64_t copies = rows ? 1 : taps;
  pixels.swizzle = kLineBytes / copies;
  std::tie(pixels.lower, pixels.upper) = im2colCorners(info);
  pixels.channels = tile.depth / copies;
  pixels.pixels = tile.m;
  addMap(std::move(pixels));

  TensorMap filters;
  filters.argument = text.argument(info.w);
  filters.type = type;
  // Those of few channels are one tap with all of them.
  int64_t depth = info.c * info.r * info.s;
  int64_t channels = taps > 1 ? depth : info.c;
  filters.dims = {channels, depth / channels, info.k};
  filters.strides = {2 * channels, 2 * depth};
  filters.box = {tile.depth, 1, tile.n / tile.cluster};
  filters.swizzle = kLineBytes;
  addMap(std::move(filters));
}

FailureOr<KernelText> frit::cuda::emitWgmmaGemm(const nn::GemmInfo &info,
                                                const LinalgFusion &lowered,
                                                StringRef name,
                                                nn::ScheduleAttr schedule,
                                                std::string &failure) {
  WgmmaKernel kernel(lowered, name, schedule);
  WgmmaTile tile = wgmmaTileOf(schedule);
  Type type = nn::tensorType(info.a).getElementType();
  ProblemText &text = kernel.problem();
  auto addOperand = [&](Value v, bool alongK, int64_t lines, int64_t leading,
                        int64_t stride, int64_t boxLines) {
    int64_t rows = alongK ? lines : info.k, cols = alongK ? info.k : lines;
    kernel.addMap(matrixMap(text.argument(v), type, rows, cols, leading,
                            info.batch, stride,
                            {tile.depth, alongK ? boxLines : tile.depth}));
  };
  addOperand(info.a, !info.transposeA, info.m, info.lda, info.strideA, tile.m);
  addOperand(info.b, info.transposeB, info.n, info.ldb, info.strideB,
             tile.n / tile.cluster);
  text.addGemm(info);
  return kernel.finish(info, "wgmma_gemm", "wgmmaGemm", "gemmFloor", failure);
}

FailureOr<KernelText> frit::cuda::emitWgmmaConv(const nn::ConvInfo &info,
                                                const LinalgFusion &lowered,
                                                StringRef name,
                                                nn::ScheduleAttr schedule,
                                                std::string &failure) {
  if (auto gemm = nn::pointwiseGemm(info))
    return emitWgmmaGemm(*gemm, lowered, name, schedule, failure);
  WgmmaKernel kernel(lowered, name, schedule);
  kernel.addConvMaps(info);
  kernel.problem().addConv(info);
  if (!info.addend)
    return kernel.finish(impliedGemm(info), "wgmma_conv", "wgmmaConv",
                         "convFloor", failure);
  nn::ConvInfo addend = nn::describeAddend(info);
  kernel.addConvMaps(addend);
  kernel.problem().addAddend(addend);
  return kernel.finish(impliedGemm(info), "wgmma_conv", "wgmmaConvSum",
                       "convSumFloor", failure);
}
