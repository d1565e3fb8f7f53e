//===- Wgmma.cpp - WGMMA products and their tiles -------------------------===//

#include "codegen/cuda/contraction/Wgmma.h"

#include "codegen/cuda/scalar/LinalgFusion.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Maximum registers per thread; registers of a consumer after setmaxnreg; and
/// registers that a thread needs besides its accumulators.
static constexpr int64_t kThreadRegisters = 255, kMovedRegisters = 240,
                         kOtherRegisters = 48;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

bool WgmmaTile::fits(const EndNeeds &needs, const GpuArch &arch) const {
  WgmmaLayout layout = this->layout(needs);
  int64_t registers = layout.movesRegisters()
                          ? kMovedRegisters
                          : arch.registersFor(occupancy * layout.threads());
  return layout.fits() && layout.slots() >= needs.boxesStored &&
         std::min(registers, kThreadRegisters) >= n / 2 + kOtherRegisters;
}

WgmmaTile WgmmaTile::forProduct(const nn::GemmInfo &product,
                                const GpuArch &arch) const {
  WgmmaTile tile = *this;
  tile.occupancy = 2;
  if (!tile.fits(needsOf(product.epilogue), arch))
    tile.occupancy = 1;
  tile.pingPong = tile.pingPongs(product, arch);
  tile.raster = tile.grid().rasterRows(arch.sms);
  int64_t blocks =
      tile.grid().gridOf(product.m, product.n, product.batch, arch.sms);
  tile.blocks = blocks < tile.neededBlocks(product) ? blocks : 0;
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

bool frit::cuda::takesWgmma(const nn::GemmInfo &info, Type result) {
  Type type = elementType(info.a);
  auto aligned = [](int64_t elements) { return elements % 8 == 0; };
  constexpr int64_t limit = int64_t(1) << 31;
  if (checkStages(info, result))
    return false;
  return isHalf(type) && elementType(info.b) == type &&
         (result == type || result.isF32()) && aligned(info.lda) &&
         aligned(info.ldb) && aligned(info.strideA) && aligned(info.strideB) &&
         info.m < limit && info.n < limit && info.k < limit &&
         info.batch < limit;
}

bool frit::cuda::takesWgmma(const nn::ConvInfo &info) {
  if (!info.channelsLast || info.groups != 1 || info.c % 8 != 0 ||
      info.epilogue.secondStore())
    return false;
  // Of statistics, convSumFloor and convFloor compute moments of columns only.
  if (info.epilogue.find<nn::stage::Reduce>() &&
      !needsOf(info.epilogue).exchangesColumns)
    return false;
  if (info.epilogue.addend) {
    nn::ConvInfo addend = nn::describeAddend(info);
    // The addend's steps share the pipeline. Steps of several taps have another
    // line width.
    if (tapsOfStep(info) > 1 || tapsOfStep(addend) > 1 || !takesWgmma(addend))
      return false;
  }
  auto isByte = [](int64_t at) { return at >= -128 && at <= 127; };
  auto [lower, upper] = im2colCorners(info);
  return llvm::all_of(lower, isByte) && llvm::all_of(upper, isByte) &&
         info.strideH <= 8 && info.strideW <= 8 &&
         takesWgmma(impliedGemm(info), elementType(info.x));
}
