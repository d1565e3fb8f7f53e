//===- WgmmaKernel.h - Products and convolutions of sm_90a ----------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_WGMMAKERNEL_H
#define FRIT_CODEGEN_CUDA_CONTRACTION_WGMMAKERNEL_H

#include "codegen/cuda/contraction/Wgmma.h"
#include "codegen/cuda/scalar/KernelText.h"
#include "codegen/cuda/scalar/LinalgFusion.h"

namespace frit::cuda {

/// Prints the kernel `name`, which computes a product by wgmma_gemm.cuh with a
/// tile that fits.
KernelText printWgmmaGemm(const nn::GemmInfo &info, const LinalgFusion &lowered,
                          llvm::StringRef name, const WgmmaTile &tile);

/// Prints the kernel `name`, which computes a convolution and its addend by
/// wgmma_conv.cuh with a tile that fits.
KernelText printWgmmaConv(const nn::ConvInfo &info, const LinalgFusion &lowered,
                          llvm::StringRef name, const WgmmaTile &tile);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_WGMMAKERNEL_H
