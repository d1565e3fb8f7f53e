//===- EmitAttention.h - Own attention ------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_EMITATTENTION_H
#define FRIT_CODEGEN_CUDA_EMITATTENTION_H

#include "codegen/cuda/Emit.h"

namespace frit::cuda {

/// Whether attention.cuh computes `op`, its operands lying as it wants them.
bool takesAttention(nn::AttentionOp op, const CudaOptions &options);

/// Whether it reads an operand, or writes its result, at these places.
bool takesAttentionView(mlir::Type element, const nn::StridedPlaces &places);

/// The schedule of a fusion of an attention; the emitter reports what has no
/// kernel all the same.
nn::ScheduleAttr scheduleAttention(nn::FusionOp fusion,
                                   const CudaOptions &options);

llvm::FailureOr<KernelText>
emitAttention(nn::FusionOp fusion, const Lowered &lowered, llvm::StringRef name,
              nn::ScheduleAttr schedule, std::string &failure);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_EMITATTENTION_H
