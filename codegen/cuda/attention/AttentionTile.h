//===- AttentionTile.h - Tiles of our own attention kernels ---------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_ATTENTIONTILE_H
#define FRIT_CODEGEN_CUDA_ATTENTION_ATTENTIONTILE_H

#include "codegen/cuda/device/wgmma_layout.cuh"
#include "codegen/cuda/target/Problem.h"
#include "dialects/nn/StridedView.h"

namespace frit::cuda {

inline int64_t roundUp(int64_t x, int64_t to) { return ceilDiv(x, to) * to; }

/// Bytes of an element of Q: 2 or 4.
int64_t elementBytes(const nn::AttentionInfo &info);

/// A tile of attention.cuh, or with stages of wgmma_attention.cuh.
struct AttentionTile {
  int64_t m = 64, rowsPerWarp = 16, n = 64, splits = 1, stages = 0;
  /// Blocks that share an SM; of wgmma_attention.cuh.
  int64_t occupancy = 1;

  bool usesWgmma() const { return stages != 0; }
  int64_t threads() const;
  int64_t sharedBytes(const nn::AttentionInfo &info) const;
  int64_t tiles(const nn::AttentionInfo &info) const;
  int64_t blocks(const nn::AttentionInfo &info, const GpuArch &arch) const;
  /// The same tile with as many blocks to an SM as fit.
  AttentionTile withOccupancy(const nn::AttentionInfo &info,
                              const GpuArch &arch) const;

  /// Whether a thread of wgmma_attention.cuh has registers for what it keeps
  /// where so many blocks share an SM.
  bool hasRegisters(const nn::AttentionInfo &info, int64_t blocks,
                    const GpuArch &arch) const;

private:
  /// How a block of wgmma_attention.cuh divides its shared memory.
  WgmmaAttentionLayout layout(const nn::AttentionInfo &info) const {
    return {info.size, info.valueSize, m, n, splits, stages, occupancy};
  }
};

/// Whether our kernels compute `op`, given operands that lie as they want them.
bool takesAttention(nn::AttentionOp op, const GpuArch &arch);

/// Whether they read an operand, or write a result, at these places.
bool takesAttentionView(mlir::Type element, const nn::StridedPlaces &places);

/// What a fusion computes, or why no kernel of ours does.
nn::Match<nn::AttentionInfo> describeKernelAttention(Problem &problem);

/// Whether the WGMMA kernel computes it.
bool usesWgmmaAttention(const nn::AttentionInfo &info, const GpuArch &arch);

/// Whether TMA can read the operands and write the result.
bool haveMaps(const nn::AttentionInfo &info);

/// The tiles of each of the kernels, which should be fastest, and all that may
/// be.
AttentionTile chooseWgmmaTile(const nn::AttentionInfo &info,
                              const GpuArch &arch);
AttentionTile choosePlainTile(const nn::AttentionInfo &info,
                              const GpuArch &arch);
llvm::SmallVector<AttentionTile> allWgmmaTiles(const nn::AttentionInfo &info,
                                               const GpuArch &arch);
llvm::SmallVector<AttentionTile> allPlainTiles(const nn::AttentionInfo &info,
                                               const GpuArch &arch);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_ATTENTION_ATTENTIONTILE_H
