//===- Depthwise.h - Convolutions with a filter for each channel ----------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_DEPTHWISE_H
#define FRIT_CODEGEN_CUDA_CONTRACTION_DEPTHWISE_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace frit::cuda {

/// Whether a depthwise convolution with such a window has a kernel: of an
/// image, with few taps.
bool takesDepthwise(llvm::ArrayRef<int64_t> window,
                    llvm::ArrayRef<int64_t> strides,
                    llvm::ArrayRef<int64_t> pads,
                    llvm::ArrayRef<int64_t> dilations);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_DEPTHWISE_H
