//===- AttentionText.h - Text and maps of attention kernels ---------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_ATTENTIONTEXT_H
#define FRIT_CODEGEN_CUDA_ATTENTION_ATTENTIONTEXT_H

#include "codegen/cuda/scalar/KernelText.h"
#include "dialects/nn/StridedView.h"

namespace frit::cuda {

/// Formats "  using Q = frit::Strides<24576, 64, 192>;".
std::string stridesText(llvm::StringRef name, llvm::ArrayRef<int64_t> strides);

/// Returns a map of an operand or result of 16 bits, whose dimensions are, from
/// the innermost, a head's size, rows, heads and batch: boxes of 64 elements by
/// `lines` rows of a head.
artifact::TensorMap operandMap(const nn::AttentionOperand &operand,
                               unsigned argument, mlir::Type element,
                               llvm::ArrayRef<int64_t> dims, int64_t lines);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_ATTENTION_ATTENTIONTEXT_H
