//===- Wgmma.h - What warpgroup products take, and in which tiles ---------===//
//
// Which products and convolutions wgmma_gemm.cuh and wgmma_conv.cuh compute on
// sm_90a, what a choice of tile means for a launch, and which tile is fastest.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_H
#define FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_H

#include "dialects/nn/ContractionInfo.h"

#include <utility>

namespace frit::cuda {

/// Elements of a row that moments are of; kMomentWidth of norm.cuh.
inline constexpr int64_t kMomentWidth = 64;

/// Multiprocessors of the devices that sm_90a is, mostly; any number works.
inline constexpr int64_t kMultiprocessors = 132;

/// What a swizzled line of shared memory holds, and what barriers take.
inline constexpr int64_t kLineBytes = 128, kBarrierBytes = 512;

/// Shared memory that each of so many blocks has on a multiprocessor.
int64_t sharedOf(int64_t blocks);

/// Whether it is a type of warpgroup products.
bool isHalf(mlir::Type type);

/// A tile of the skeletons: their P::tileM and so on.
struct WgmmaTile {
  int64_t m = 128, n = 128, stages = 4, cluster = 1, split = 1;
  /// Blocks that a multiprocessor runs at a time.
  int64_t resident = 1;
  /// Steps of k in a stage.
  static constexpr int64_t depth = 64;

  /// Whether warpgroups take over registers of the one that loads.
  bool movesRegisters() const { return m == 128 && resident == 1; }
  int64_t threads() const { return movesRegisters() ? 384 : 2 * m + 32; }
  int64_t stageBytes() const { return (m + n) * depth * 2; }
  /// Of shared memory besides those boxes.
  int64_t fixedBytes() const;
  int64_t boxBytes() const;
  /// Boxes of the result, of a warp each, that stand in shared memory at a
  /// time.
  int64_t slots() const;
  int64_t sharedBytes() const;
  /// Whether as many blocks as `resident` fit.
  bool fits() const;
  /// Tiles of a product, in clusters where operands are shared.
  int64_t tiles(const nn::GemmInfo &product) const;
  int64_t blocks(const nn::GemmInfo &product) const;
  /// Whether the result, of elements of `bytes` bytes, is stored by tensor
  /// copies.
  bool storesBoxes(const nn::GemmInfo &product, int64_t bytes) const;
};

WgmmaTile wgmmaTileOf(nn::ScheduleAttr schedule);

/// The product that a convolution is: its pixels by its filters, over the taps
/// with channels filled up to what a stage holds, and those of its addend.
nn::GemmInfo impliedGemm(const nn::ConvInfo &conv);

/// Taps that a step of k takes together: several where they have few channels.
int64_t tapsOfStep(const nn::ConvInfo &conv);

/// Whether a step is a row of taps that never leaves x on the left or the
/// right, so that x is read as if such rows, which overlap, were its pixels.
bool readsRows(const nn::ConvInfo &conv);

/// The lower and the upper corner of the box of first taps, or rows of taps,
/// width first.
std::pair<llvm::SmallVector<int64_t, 3>, llvm::SmallVector<int64_t, 3>>
im2colCorners(const nn::ConvInfo &conv);

/// Whether the skeletons compute the fusion that `info` describes, whose result
/// has elements of `result`.
bool takesWgmma(const nn::GemmInfo &info, mlir::Type result);
bool takesWgmma(const nn::ConvInfo &info);

/// How long a tile takes, by a model.
double wgmmaMicroseconds(const nn::GemmInfo &product, const WgmmaTile &tile,
                         int64_t resultBytes);

/// The `most` fastest tiles by that model, fastest first.
struct WgmmaPick {
  WgmmaTile tile;
  double microseconds = 0;
};
llvm::SmallVector<WgmmaPick> rankWgmmaTiles(const nn::GemmInfo &product,
                                            int64_t resultBytes, unsigned most);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_WGMMA_H
