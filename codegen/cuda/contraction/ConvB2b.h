//===- ConvB2b.h - Back-to-back convolutions ------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_CONVB2B_H
#define FRIT_CODEGEN_CUDA_CONTRACTION_CONVB2B_H

#include "codegen/cuda/target/GpuArch.h"
#include "dialects/nn/ContractionInfo.h"

namespace frit::cuda {

/// Whether conv_b2b.cuh computes the two convolutions, and faster than two
/// kernels would.
bool takesConvB2b(const nn::ConvB2bInfo &info, const Machine &machine);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_CONVB2B_H
