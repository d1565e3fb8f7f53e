//===- Wgmma.cpp - WGMMA products and their tiles -------------------------===//

#include "codegen/cuda/contraction/Wgmma.h"

#include "codegen/cuda/scalar/LinalgFusion.h"
#include "dialects/nn/operators/Statistics.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Maximum registers per thread; registers of a consumer after setmaxnreg; and
/// registers that a thread needs besides its accumulators.
static constexpr int64_t kThreadRegisters = 255, kMovedRegisters = 240,
                         kOtherRegisters = 48;
/// Lanes that merge the moments of a row, in equal parts.
static constexpr int64_t kMomentLanes = 4;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

bool WgmmaTile::fits(const GpuArch &arch) const {
  int64_t registers = layout().movesRegisters()
                          ? kMovedRegisters
                          : arch.registersFor(occupancy * layout().threads());
  return layout().fits() && layout().slots() >= boxes &&
         std::min(registers, kThreadRegisters) >= n / 2 + kOtherRegisters;
}

WgmmaTile WgmmaTile::forProduct(const nn::GemmInfo &product,
                                const GpuArch &arch) const {
  WgmmaTile tile = *this;
  tile.occupancy = 2;
  if (!tile.fits(arch))
    tile.occupancy = 1;
  tile.pingPong = tile.pingPongs(product, arch);
  tile.raster = tile.layout().rasterRows(arch.sms);
  int64_t blocks =
      tile.layout().gridOf(product.m, product.n, product.batch, arch.sms);
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
  static_cast<nn::EpilogueInfo &>(info) = conv;
  info.a = conv.x;
  info.b = conv.w;
  info.m = conv.n * conv.p * conv.q;
  info.n = info.ldd = conv.k;
  info.k = info.ldb = conv.r * conv.s / tapsOfStep(conv) *
                      ceilDiv(conv.c, kWgmmaDepth) * kWgmmaDepth;
  info.lda = conv.c;
  info.transposeB = true;
  info.tf32 = conv.tf32;
  if (conv.addend)
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

bool frit::cuda::takesColumns(const nn::EpilogueInfo &info) {
  return info.resultMoments &&
         info.resultMoments.getDefiningOp<nn::ColumnMomentsOp>();
}

bool frit::cuda::sumsColumns(const nn::EpilogueInfo &info) {
  return info.resultMoments &&
         info.resultMoments.getDefiningOp<nn::ColumnSumsOp>();
}

/// Returns whether norm.cuh supports the product's norm, moments, column sums,
/// dot products and second result.
static bool takesNorm(const nn::GemmInfo &info, Type result) {
  if (info.batch != 1 || info.ldd != info.n)
    return false;
  bool sums = sumsColumns(info);
  int64_t parted = sums || takesColumns(info) ? info.m : info.n;
  int64_t width = sums                 ? kSumHeight
                  : takesColumns(info) ? kMomentHeight
                                       : kMomentWidth;
  if (info.resultMoments && (info.resultWidth != width || parted % width != 0 ||
                             !isHalf(result) || info.addend))
    return false;
  // TMA stores the second result by the map that the residual would use.
  if (info.second && (info.residual || info.addend || info.n % 8 != 0 ||
                      elementType(info.second) != result || !isHalf(result)))
    return false;
  // The factor of dot products is read as a residual would be.
  if (info.factor && info.residual)
    return false;
  // Sums of two columns are stored by one access.
  if (sums && info.n % 2 != 0)
    return false;
  return info.norm == nn::NormKind::none ||
         (elementType(info.column).isF32() &&
          elementType(info.moments).isF32() &&
          (info.parts() == 1 || info.parts() % kMomentLanes == 0));
}

bool frit::cuda::takesWgmma(const nn::GemmInfo &info, Type result) {
  Type type = elementType(info.a);
  auto aligned = [](int64_t elements) { return elements % 8 == 0; };
  constexpr int64_t limit = int64_t(1) << 31;
  if (info.isExtended() && !takesNorm(info, result))
    return false;
  return isHalf(type) && elementType(info.b) == type &&
         (result == type || result.isF32()) &&
         (!info.bias || isHalf(elementType(info.bias)) ||
          elementType(info.bias).isF32()) &&
         aligned(info.lda) && aligned(info.ldb) && aligned(info.strideA) &&
         aligned(info.strideB) && info.m < limit && info.n < limit &&
         info.k < limit && info.batch < limit;
}

bool frit::cuda::takesWgmma(const nn::ConvInfo &info) {
  if (!info.channelsLast || info.groups != 1 || info.c % 8 != 0 ||
      sumsColumns(info) || info.factor || info.second)
    return false;
  if (info.addend) {
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
