//===- AttentionTile.h - Tiles of frit's attention kernels ----------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_ATTENTIONTILE_H
#define FRIT_CODEGEN_CUDA_ATTENTION_ATTENTIONTILE_H

#include "codegen/cuda/device/wgmma_layout.cuh"
#include "codegen/cuda/target/Problem.h"
#include "dialects/nn/StridedView.h"
#include "dialects/nn/training/Gradient.h"

namespace frit::cuda {

inline int64_t roundUp(int64_t x, int64_t to) { return ceilDiv(x, to) * to; }

/// Returns the bytes of an element of Q: 2 or 4.
int64_t elementBytes(const nn::AttentionInfo &info);

/// A tile of attention.cuh or, if it has stages, of wgmma_attention.cuh.
struct AttentionTile {
  int64_t m = 64, rowsPerWarp = 16, n = 64, splits = 1, stages = 0;
  /// Blocks per SM, and of the launch or 0 (wgmma_attention.cuh only).
  int64_t occupancy = 1, blocks = 0;
  /// Blocks of a cluster, which divide the keys, and tiles of keys of all
  /// groups of warps that a block holds at once (attention.cuh only).
  int64_t cluster = 1, held = 2;

  bool usesWgmma() const { return stages != 0; }
  /// Whether queries are columns of products (attention_columns.cuh).
  bool hasColumns() const { return rowsPerWarp == 8; }
  int64_t threads() const;
  int64_t sharedBytes(const nn::AttentionInfo &info) const;
  /// Returns the tiles of keys that a block of attention.cuh reads, one after
  /// another.
  int64_t stagesOfBlock(const nn::AttentionInfo &info) const {
    return ceilDiv(info.keys, n * splits * cluster);
  }
  int64_t tiles(const nn::AttentionInfo &info) const;
  /// Returns the tile with as many blocks per SM as fit, and the blocks of the
  /// launch.
  AttentionTile withOccupancy(const nn::AttentionInfo &info,
                              const GpuArch &arch) const;

  /// Returns whether the threads of wgmma_attention.cuh have enough registers
  /// with `blocks` blocks per SM.
  bool hasRegisters(const nn::AttentionInfo &info, int64_t blocks,
                    const GpuArch &arch) const;

private:
  /// Returns the layout of a block's shared memory in wgmma_attention.cuh.
  WgmmaAttentionLayout layout(const nn::AttentionInfo &info) const {
    return {info.size, info.valueSize, m, n, splits, stages, occupancy};
  }
};

/// Returns whether frit's kernels compute `op`, provided that
/// takesAttentionView accepts its operands.
bool takesAttention(nn::AttentionOp op);

/// Returns whether these kernels read or write a tensor with this layout.
bool takesAttentionView(mlir::Type element, const nn::StridedPlaces &places);

/// Return whether the kernels of the gradient, frit's and cuDNN's, add the mask
/// of `op`, if it has one, and access a 16-bit tensor with this layout. They
/// have no repeated dimensions.
bool takesGradientMask(nn::AttentionGradOp op);
bool takesGradientView(mlir::Type element, const nn::StridedPlaces &places);

/// Returns the attention that a fusion computes, perhaps after it appended to
/// its keys and values, or why none of frit's kernels computes it. The heads
/// that share keys are the rows of one if they have a query each.
nn::Match<nn::AttentionInfo> describeKernelAttention(Problem &problem);

/// Returns whether its time is that of reading keys and values: for a few
/// queries of many keys.
bool readsManyKeys(const nn::AttentionInfo &info);

/// Returns whether its queries may be the columns of products.
bool takesColumns(const nn::AttentionInfo &info);

/// Returns whether the WGMMA kernel computes it.
bool usesWgmmaAttention(const nn::AttentionInfo &info, const Machine &machine);

/// Returns whether TMA can read the operands and write the result.
bool haveMaps(const nn::AttentionInfo &info);

/// Return the tile that is probably the fastest for a kernel, and all that may
/// be the fastest.
AttentionTile chooseWgmmaTile(const nn::AttentionInfo &info,
                              const GpuArch &arch);
AttentionTile choosePlainTile(const nn::AttentionInfo &info,
                              const Machine &machine);
llvm::SmallVector<AttentionTile> allWgmmaTiles(const nn::AttentionInfo &info,
                                               const GpuArch &arch);
llvm::SmallVector<AttentionTile> allPlainTiles(const nn::AttentionInfo &info,
                                               const GpuArch &arch);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_ATTENTION_ATTENTIONTILE_H
