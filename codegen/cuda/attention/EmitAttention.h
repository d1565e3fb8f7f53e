//===- EmitAttention.h - Own attention ------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_EMITATTENTION_H
#define FRIT_CODEGEN_CUDA_ATTENTION_EMITATTENTION_H

#include "codegen/cuda/target/Emit.h"

namespace frit::cuda {

/// The tiles of attention.cuh, or with stages those of wgmma_attention.cuh.
struct AttentionTile {
  int64_t m = 64, rowsPerWarp = 16, n = 64, splits = 1, stages = 0;

  bool usesWgmma() const { return stages != 0; }
  int64_t threads() const;
  int64_t sharedBytes(const nn::AttentionInfo &info) const;
  int64_t tiles(const nn::AttentionInfo &info) const;
  /// Blocks that a multiprocessor runs at a time; of wgmma_attention.cuh.
  int64_t resident(const nn::AttentionInfo &info) const;
  int64_t blocks(const nn::AttentionInfo &info) const;

  /// Whether a thread of wgmma_attention.cuh has room for what it keeps where
  /// so many blocks share a multiprocessor.
  bool hasRegisters(const nn::AttentionInfo &info, int64_t blocks) const;

private:
  /// Without room for the next tile's queries; of wgmma_attention.cuh.
  int64_t leastShared(const nn::AttentionInfo &info) const;
};

AttentionTile attentionTileOf(nn::ScheduleAttr schedule);

/// Whether the kernels compute `op`, its operands lying as they want them.
bool takesAttention(nn::AttentionOp op, const CudaOptions &options);

/// Whether they read an operand, or write a result, at these places.
bool takesAttentionView(mlir::Type element, const nn::StridedPlaces &places);

/// What a fusion computes, or why no kernel does.
nn::Match<nn::AttentionInfo> describeAttention(nn::FusionOp fusion);

/// Schedules for a fusion of an attention, the one that should be fastest
/// first; `all` of them, or that one only.
llvm::SmallVector<nn::ScheduleAttr>
attentionSchedules(nn::FusionOp fusion, const CudaOptions &options, bool all);

/// The schedule of a fusion of an attention; the emitter reports what has no
/// kernel all the same.
nn::ScheduleAttr scheduleAttention(nn::FusionOp fusion,
                                   const CudaOptions &options);

llvm::FailureOr<KernelText> emitAttention(nn::FusionOp fusion,
                                          const LinalgFusion &lowered,
                                          llvm::StringRef name,
                                          nn::ScheduleAttr schedule,
                                          std::string &failure);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_ATTENTION_EMITATTENTION_H
