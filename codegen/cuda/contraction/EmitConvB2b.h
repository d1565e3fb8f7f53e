//===- EmitConvB2b.h - Two convolutions in one kernel ---------------------===//
//
// Which convolutions, and pointwise ones behind them, conv_b2b.cuh computes
// together, and its kernels.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_EMITCONVB2B_H
#define FRIT_CODEGEN_CUDA_CONTRACTION_EMITCONVB2B_H

#include "codegen/cuda/target/Emit.h"
#include "dialects/nn/ContractionInfo.h"

namespace frit::cuda {

/// Whether the skeleton computes the chain, and faster than two kernels would.
bool takesConvB2b(const nn::ConvB2bInfo &chain, const CudaOptions &options);

nn::ScheduleAttr scheduleConvB2b(const nn::ConvB2bInfo &chain);

llvm::FailureOr<KernelText> emitConvB2b(nn::FusionOp fusion,
                                        const LinalgFusion &lowered,
                                        llvm::StringRef name,
                                        std::string &failure);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_EMITCONVB2B_H
