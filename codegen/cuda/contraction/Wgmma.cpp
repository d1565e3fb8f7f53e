//===- Wgmma.cpp - WGMMA products and their tiles -------------------------===//

#include "codegen/cuda/contraction/Wgmma.h"

#include "codegen/cuda/scalar/LinalgFusion.h"
#include "codegen/cuda/target/CudaDialect.h"
#include "dialects/nn/operators/Quantized.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Maximum registers per thread; registers of a consumer after setmaxnreg; and
/// registers that a thread needs besides its accumulators, and those if it
/// stores the result from registers: also one for each eight columns, whose
/// elements are loaded ahead.
static constexpr int64_t kThreadRegisters = 255, kMovedRegisters = 240,
                         kOtherRegisters = 48, kEndRegisters = 56;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

bool WgmmaTile::fits(const EndNeeds &needs, const GpuArch &arch) const {
  WgmmaLayout layout = this->layout(needs);
  int64_t registers = layout.movesRegisters()
                          ? kMovedRegisters
                          : arch.registersFor(occupancy * layout.threads());
  int64_t others =
      needs.storesRegisters ? kEndRegisters + n / 8 : kOtherRegisters;
  // In ping-pong, a warp takes boxes of two blocks of rows together.
  int64_t slots = layout.passesBoxes && layout.canPingPong() ? 2 : 0;
  // A box of the result takes whole boxes of sums.
  return layout.fits() &&
         layout.unitN() % (needs.sumsPerResult * kWgmmaDepth) == 0 &&
         layout.slots() >= std::max(slots, needs.boxesStored) &&
         std::min(registers, kThreadRegisters) >= n / 2 + others;
}

LogicalResult
frit::cuda::verifyWgmmaTile(llvm::function_ref<InFlightDiagnostic()> emitError,
                            const WgmmaTile &tile) {
  int64_t m = tile.m, n = tile.n;
  if (failed(requireRanges(emitError,
                           {{"stages", tile.stages, 2, kMostStages},
                            {"cluster", tile.cluster, 1, 2},
                            {"occupancy", tile.occupancy, 1, 2},
                            {"raster", tile.raster, 1, 1024},
                            {"blocks", tile.blocks, 0, kMostBlocks}})) ||
      failed(require(emitError, m == 64 || m == 128 || m == 192, "tile_m",
                     "64, 128 or 192")) ||
      failed(require(emitError, n > 0 && n <= 256 && n % 64 == 0, "tile_n",
                     "a multiple of 64 of at most 256")) ||
      failed(require(emitError, isPowerOf2UpTo(tile.split, 8), "split",
                     "1, 2, 4 or 8")) ||
      failed(require(emitError, tile.cluster * tile.split <= 8, "cluster",
                     "1 if `split` is 8")) ||
      failed(require(emitError, tile.blocks == 0 || tile.split == 1, "blocks",
                     "0 unless `split` is 1")) ||
      failed(require(emitError, tile.blocks % tile.cluster == 0, "blocks",
                     "a multiple of `cluster`")))
    return failure();
  return require(emitError, !tile.pingPong || tile.layout({}).canPingPong(),
                 "pingpong",
                 "false, but for an SM's only block with tiles of 128 rows "
                 "and up to 192 columns");
}

WgmmaTile WgmmaTile::forProduct(const nn::GemmInfo &product,
                                const GpuArch &arch) const {
  return forWork({.m = product.m,
                  .n = sumColumns(product),
                  .k = product.k,
                  .batch = product.batch,
                  .needs = needsOf(product)},
                 arch);
}

WgmmaTile WgmmaTile::forWork(const WgmmaWork &work, const GpuArch &arch) const {
  WgmmaTile tile = *this;
  tile.occupancy = 2;
  if (!tile.fits(work.needs, arch))
    tile.occupancy = 1;
  tile.pingPong = tile.pingPongs(work, arch);
  tile.raster = tile.grid().rasterRows(arch.sms);
  int64_t blocks = tile.grid().gridOf(work.m, work.n, work.batch, arch.sms);
  tile.blocks = blocks < tile.neededBlocks(work) ? blocks : 0;
  return tile;
}

bool WgmmaTile::storesBoxes(const nn::GemmInfo &product, int64_t bytes) const {
  return product.ldd * bytes % 16 == 0 && product.strideD * bytes % 16 == 0;
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

int64_t frit::cuda::tapsOfStep(const nn::ConvInfo &conv) {
  bool fills = conv.r * conv.s * conv.c % kWgmmaDepth == 0;
  return fills && (conv.c == 16 || conv.c == 32) ? kWgmmaDepth / conv.c : 1;
}

bool frit::cuda::readsRows(const nn::ConvInfo &conv) {
  return conv.s > 1 && conv.s * conv.c == kWgmmaDepth && conv.padLeft == 0 &&
         conv.strideW == 1 && conv.dilationW == 1 &&
         conv.q + conv.s - 1 <= conv.width;
}

nn::GemmInfo frit::cuda::impliedGemm(const nn::ConvInfo &conv) {
  nn::GemmInfo info;
  info.epilogue = conv.epilogue;
  info.a = conv.x;
  info.b = conv.w;
  info.m = conv.n * conv.p * conv.q;
  info.n = info.ldd = conv.k;
  info.k = info.ldb = conv.r * conv.s / tapsOfStep(conv) *
                      ceilDiv(conv.c, kWgmmaDepth) * kWgmmaDepth;
  info.lda = conv.c;
  info.transposeB = true;
  info.tf32 = conv.tf32;
  if (conv.epilogue.addend)
    info.k += impliedGemm(nn::describeAddend(conv)).k;
  return info;
}

std::pair<SmallVector<int64_t, 3>, SmallVector<int64_t, 3>>
frit::cuda::im2colCorners(const nn::ConvInfo &conv) {
  int64_t width = readsRows(conv) ? conv.width - conv.s + 1 : conv.width;
  return {{-conv.padLeft, -conv.padTop},
          {(conv.q - 1) * conv.strideW - conv.padLeft + 1 - width,
           (conv.p - 1) * conv.strideH - conv.padTop + 1 - conv.h}};
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

nn::Legality frit::cuda::checkWgmma(const nn::GemmInfo &info, Type result) {
  Type type = elementType(info.a);
  auto aligned = [](int64_t elements) { return elements % 8 == 0; };
  constexpr int64_t limit = int64_t(1) << 31;
  if (!isHalf(type) || elementType(info.b) != type)
    return nn::Mismatch("WGMMA multiplies 16-bit floats of one type");
  if (result != type && !result.isF32())
    return nn::Mismatch("its result is neither f32 nor of its operands' type");
  if (!aligned(info.lda) || !aligned(info.ldb) || !aligned(info.strideA) ||
      !aligned(info.strideB))
    return nn::Mismatch("rows of its operands do not begin at multiples of 16 "
                        "bytes");
  if (info.m >= limit || info.n >= limit || info.k >= limit ||
      info.batch >= limit)
    return nn::Mismatch("a dimension has 2^31 elements or more");
  return checkStages(info, result);
}

nn::Legality frit::cuda::checkWgmmaPair(const nn::GemmInfo &info,
                                        const Machine &machine) {
  if (machine.arch.mma != Mma::wgmma)
    return nn::Mismatch("the target has no WGMMA");
  if (machine.batchInvariant || info.m < kTileRows)
    return nn::Mismatch("products of a few rows have kernels of their own");
  if (info.norm || llvm::any_of(ArrayRef{info.b, info.pairedB}, [](Value b) {
        return isa_and_nonnull<nn::DequantizeOp, nn::DecompressOp>(
            b.getDefiningOp());
      }))
    return nn::Mismatch("WGMMA reads the operands of two products as they are");
  if (info.batch != 1 || info.ldd % 8)
    return nn::Mismatch("TMA stores one matrix of two products, whose rows "
                        "begin at multiples of 16 bytes");
  if (info.epilogue.bias() || info.epilogue.isExtended())
    return nn::Mismatch("two products have neither bias nor statistics");
  Type result = elementType(info.epilogue.result());
  if (!isHalf(result))
    return nn::Mismatch("two products give 16-bit floats");
  return checkWgmma(info, result);
}

/// Returns why the kernel of a convolution does not compute its epilogue.
static nn::Legality checkConvStages(const nn::ConvInfo &info) {
  if (info.epilogue.secondStore())
    return nn::Mismatch("a convolution has one result");
  // convFloor, which runs without WGMMA, computes no statistic but moments of
  // columns.
  if (info.epilogue.find<nn::stage::Reduce>() &&
      !needsOf(impliedGemm(info)).exchangesColumns)
    return nn::Mismatch("of a convolution only moments of columns are taken");
  if (!info.epilogue.addend)
    return std::nullopt;
  nn::ConvInfo addend = nn::describeAddend(info);
  // The addend's steps share the pipeline. Steps of several taps have another
  // line width.
  if (tapsOfStep(info) > 1 || tapsOfStep(addend) > 1)
    return nn::Mismatch("two convolutions of few channels are added");
  return checkWgmma(addend);
}

nn::Legality frit::cuda::checkWgmma(const nn::ConvInfo &info) {
  if (!info.channelsLast || info.groups != 1 || info.c % 8 != 0)
    return nn::Mismatch("TMA reads channels that are last, in one group and a "
                        "multiple of 8");
  if (nn::Legality why = checkConvStages(info))
    return why;
  auto isByte = [](int64_t at) { return at >= -128 && at <= 127; };
  auto [lower, upper] = im2colCorners(info);
  if (!llvm::all_of(lower, isByte) || !llvm::all_of(upper, isByte) ||
      info.strideH > 8 || info.strideW > 8)
    return nn::Mismatch("its windows or strides are too large for TMA");
  return checkWgmma(impliedGemm(info), elementType(info.x));
}
