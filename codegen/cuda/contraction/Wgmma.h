//===- Wgmma.h - Warpgroup products and their tiles -----------------------===//
//
// Which products and convolutions wgmma_gemm.cuh and wgmma_conv.cuh compute on
// sm_90a, what a tile means for a launch, and which tile is fastest.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_H
#define FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_H

#include "codegen/cuda/device/wgmma_layout.cuh"
#include "codegen/cuda/target/GpuArch.h"
#include "dialects/nn/ContractionInfo.h"

#include <utility>

namespace frit::cuda {

/// Elements of a row, and of a column, that moments are of; constants of
/// norm.cuh.
inline constexpr int64_t kMomentWidth = 64, kMomentHeight = 64;
/// Rows of a part whose columns are summed; kSumHeight of norm.cuh.
inline constexpr int64_t kSumHeight = 16;

/// Whether it is a type of warpgroup products.
bool isHalf(mlir::Type type);

/// Whether a contraction's moments are those of columns (nn.column_moments).
bool takesColumns(const nn::EpilogueInfo &info);
/// Whether a contraction sums columns of its result (nn.column_sums).
bool sumsColumns(const nn::EpilogueInfo &info);

/// A tile of the skeletons: P::tileM and so on.
struct WgmmaTile {
  int64_t m = 128, n = 128, stages = 4, cluster = 1, split = 1;
  /// Blocks that share an SM.
  int64_t occupancy = 1;
  /// Whether each consumer warpgroup has tiles of its own.
  bool pingPong = false;
  /// Rows of tiles that are visited together.
  int64_t raster = 1;
  /// Whether the moments of the product's columns are taken; no part of the
  /// schedule.
  bool columnMoments = false;

  /// How a block of it divides its shared memory.
  WgmmaLayout layout() const {
    return {m, n, stages, cluster, split, occupancy, columnMoments};
  }
  /// Returns this tile with the rest of its schedule for a product: two blocks
  /// to an SM where they fit, ping-pong where it pays, and the raster.
  WgmmaTile forProduct(const nn::GemmInfo &product, const GpuArch &arch) const;
  /// Whether as many blocks as `occupancy` fit on an SM.
  bool fits(const GpuArch &arch) const;
  /// Tiles of a product, in clusters where operands are shared, and blocks.
  int64_t tiles(const nn::GemmInfo &product) const {
    return layout().tilesOf(product.m, product.n, product.batch);
  }
  int64_t blocks(const nn::GemmInfo &product, const GpuArch &arch) const {
    return layout().gridOf(product.m, product.n, product.batch, arch.sms);
  }
  bool pingPongs(const nn::GemmInfo &product, const GpuArch &arch) const {
    return layout().pingPongs(product.m, product.n, product.batch, arch.sms);
  }
  /// Whether the result, of elements of `bytes` bytes, is stored by TMA.
  bool storesBoxes(const nn::GemmInfo &product, int64_t bytes) const;
};

/// A convolution as an implicit product: its pixels by its filters, over taps
/// whose channels are padded to what a stage holds, and those of its addend.
nn::GemmInfo impliedGemm(const nn::ConvInfo &conv);

/// Taps of a step of k: several where they have few channels.
int64_t tapsOfStep(const nn::ConvInfo &conv);

/// Whether a step of k is a row of taps that never leaves x on the left or the
/// right. x is then read as if such rows, which overlap, were its pixels.
bool readsRows(const nn::ConvInfo &conv);

/// The lower and the upper corner of the box of first taps, or rows of taps,
/// width first.
std::pair<llvm::SmallVector<int64_t, 3>, llvm::SmallVector<int64_t, 3>>
im2colCorners(const nn::ConvInfo &conv);

/// Whether the skeletons compute the fusion that `info` describes, whose result
/// has elements of `result`.
bool takesWgmma(const nn::GemmInfo &info, mlir::Type result);
bool takesWgmma(const nn::ConvInfo &info);

/// How long a product takes with a tile, by a model (ScheduleWgmma.cpp).
double wgmmaMicroseconds(const nn::GemmInfo &product, const WgmmaTile &tile,
                         int64_t resultBytes, const GpuArch &arch);

/// The `most` fastest tiles by that model, fastest first.
struct WgmmaPick {
  WgmmaTile tile;
  double microseconds = 0;
};
llvm::SmallVector<WgmmaPick> rankWgmmaTiles(const nn::GemmInfo &product,
                                            int64_t resultBytes,
                                            const GpuArch &arch, unsigned most);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_H
