//===- AttentionInputs.h - What an attention's kernel computes first ------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_ATTENTIONINPUTS_H
#define FRIT_CODEGEN_CUDA_ATTENTION_ATTENTIONINPUTS_H

#include "codegen/cuda/scalar/LinalgFusion.h"
#include "dialects/nn/Match.h"
#include "dialects/nn/StridedView.h"

namespace frit::cuda {

/// Returns why a kernel cannot compute the queries, or the rows that it
/// appends, of an attention that appends.
nn::Legality checkInputs(const nn::AttentionInfo &info,
                         const LinalgFusion &lowered);

/// Returns the struct `name` that computes them, as attention_inputs.cuh
/// describes it. checkInputs has found no reason against it.
std::string inputsText(llvm::StringRef name, const nn::AttentionInfo &info,
                       const LinalgFusion &lowered);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_ATTENTION_ATTENTIONINPUTS_H
