//===- EmitChain.h - Two convolutions in one kernel -----------------------===//
//
// Which convolutions, and pointwise ones behind them, wgmma_chain.cuh computes
// together, and its kernels.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_EMITCHAIN_H
#define FRIT_CODEGEN_CUDA_EMITCHAIN_H

#include "codegen/cuda/Emit.h"
#include "dialects/nn/ContractionInfo.h"

namespace frit::cuda {

/// Whether the skeleton computes the chain, and faster than two kernels would.
bool takesChain(const nn::ChainInfo &chain, const CudaOptions &options);

nn::ScheduleAttr scheduleChain(const nn::ChainInfo &chain);

llvm::FailureOr<KernelText> emitChain(nn::FusionOp fusion,
                                      const Lowered &lowered,
                                      llvm::StringRef name,
                                      std::string &failure);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_EMITCHAIN_H
