//===- Wgmma.h - WGMMA products and their tiles ---------------------------===//
//
// Legality of products and convolutions for wgmma_gemm.cuh and wgmma_conv.cuh
// on sm_90a, the launch that a tile implies, and the choice of the tile.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_H
#define FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_H

#include "codegen/cuda/device/wgmma_layout.cuh"
#include "codegen/cuda/epilogue/EndStages.h"
#include "codegen/cuda/target/Problem.h"

#include <utility>

namespace frit::cuda {

/// A product as its tiles see it. A product of bytes is one of half as many
/// 16-bit numbers along k: a step has as many bytes, and takes as long.
struct WgmmaWork {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  EndNeeds needs;
  int64_t resultBytes = 2; ///< of an element of the result
  /// Bytes of B, and of what else is read or stored.
  double weightBytes = 0, otherBytes = 0;
  /// Instructions per element of the result, if threads store them, and whether
  /// what they read comes through boxes, for tiles of few products.
  double endInstructions = 0;
  bool waitsForBoxes = false;
  /// Whether warpgroups may have tiles of their own.
  bool alternates = true;
};

/// Returns the columns of a product's sums: also those of its second matrix.
inline int64_t sumColumns(const nn::GemmInfo &product) {
  return product.pairedB ? 2 * product.n : product.n;
}
inline int64_t sumColumns(const WgmmaWork &work) { return work.n; }

/// A tile of the skeletons: P::tileM and so on.
struct WgmmaTile {
  int64_t m = 128, n = 128, stages = 4, cluster = 1, split = 1;
  /// Blocks per SM.
  int64_t occupancy = 1;
  /// Whether each consumer warpgroup has tiles of its own.
  bool pingPong = false;
  /// Rows of tiles that are traversed together.
  int64_t raster = 1;
  /// Blocks of the launch, which take tiles in turn; 0 if each has one tile.
  int64_t blocks = 0;

  /// Returns a block's layout of shared memory, for a product whose epilogue
  /// has these needs.
  WgmmaLayout layout(const EndNeeds &needs) const {
    bool passesBoxes = needs.boxedBytes && split == 1 &&
                       n * needs.boxedBytes % kLineBytes == 0;
    return {m,
            n,
            stages,
            cluster,
            split,
            occupancy,
            needs.exchangesColumns,
            !needs.storesRegisters,
            passesBoxes};
  }
  /// Returns this tile with the rest of its schedule for a product: two blocks
  /// per SM if they fit, ping-pong if it pays, the raster, and the blocks of
  /// the launch.
  WgmmaTile forProduct(const nn::GemmInfo &product, const GpuArch &arch) const;
  WgmmaTile forWork(const WgmmaWork &work, const GpuArch &arch) const;
  /// Returns whether `occupancy` blocks fit on an SM.
  bool fits(const EndNeeds &needs, const GpuArch &arch) const;
  /// Returns the number of tiles of a product, a GemmInfo or WgmmaWork; counts
  /// clusters if blocks share B.
  template <class Product> int64_t tiles(const Product &product) const {
    return grid().tilesOf(product.m, sumColumns(product), product.batch);
  }
  /// Returns the blocks that the tiles of a product need if each has its own.
  template <class Product> int64_t neededBlocks(const Product &product) const {
    return tiles(product) * grid().blocksPerCluster();
  }
  /// Returns whether ping-pong pays for a product.
  bool pingPongs(const WgmmaWork &work, const GpuArch &arch) const {
    return work.alternates &&
           layout(work.needs).pingPongs(work.m, work.n, work.batch, arch.sms);
  }
  /// Returns whether the result, with elements of `bytes` bytes, is stored by
  /// TMA.
  bool storesBoxes(const nn::GemmInfo &product, int64_t bytes) const;

private:
  /// What the launch depends on, without shared memory.
  WgmmaLayout grid() const { return layout({}); }
};

/// Returns the tile of a schedule, and whether its numbers are those of a tile.
template <class Attr> WgmmaTile wgmmaTileOf(Attr schedule) {
  return {schedule.getTileM(),    schedule.getTileN(),  schedule.getStages(),
          schedule.getCluster(),  schedule.getSplit(),  schedule.getOccupancy(),
          schedule.getPingpong(), schedule.getRaster(), schedule.getBlocks()};
}
llvm::LogicalResult
verifyWgmmaTile(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                const WgmmaTile &tile);

/// Returns the schedule of a tile.
template <class Attr>
Attr scheduleOf(mlir::MLIRContext *context, const WgmmaTile &tile) {
  return Attr::get(context, tile.m, tile.n, tile.stages, tile.cluster,
                   tile.split, tile.occupancy, tile.pingPong, tile.raster,
                   tile.blocks);
}

/// Returns a convolution as an implicit product of pixels and filters, over its
/// taps and those of its addend. The channels of a tap are padded to a stage's
/// depth.
nn::GemmInfo impliedGemm(const nn::ConvInfo &conv);

/// Returns the taps per step of k: several if they have few channels.
int64_t tapsOfStep(const nn::ConvInfo &conv);

/// Returns whether a step of k is a row of taps that never leaves x on the left
/// or the right. x is then read as if such rows, which overlap, were its
/// pixels.
bool readsRows(const nn::ConvInfo &conv);

/// Returns the lower and the upper corner of the bounding box of TMA's im2col
/// mode, for taps or rows of taps, width first.
std::pair<llvm::SmallVector<int64_t, 3>, llvm::SmallVector<int64_t, 3>>
im2colCorners(const nn::ConvInfo &conv);

/// Rows from which products are those of tiles; others read their weights, and
/// have kernels of their own.
inline constexpr int64_t kTileRows = 64;

/// Return why the skeletons do not compute the fusion that `info` describes,
/// with results of type `result`.
nn::Legality checkWgmma(const nn::GemmInfo &info, mlir::Type result);
nn::Legality checkWgmma(const nn::ConvInfo &info);
/// Likewise for two products and what combines them.
nn::Legality checkWgmmaPair(const nn::GemmInfo &info, const Machine &machine);

/// Describes a product whose result has elements of `resultBytes` bytes.
WgmmaWork workOf(const nn::GemmInfo &product, int64_t resultBytes);

/// Estimates the time of a product with a tile by the model in
/// ScheduleWgmma.cpp.
double wgmmaMicroseconds(const WgmmaWork &work, const WgmmaTile &tile,
                         const GpuArch &arch);

/// The `most` fastest tiles by that model, fastest first. Blocks divide k only
/// if they `maySplit`.
struct WgmmaPick {
  WgmmaTile tile;
  double microseconds = 0;
};
llvm::SmallVector<WgmmaPick> rankWgmmaTiles(const WgmmaWork &work,
                                            const GpuArch &arch, unsigned most,
                                            bool maySplit = true);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_H
