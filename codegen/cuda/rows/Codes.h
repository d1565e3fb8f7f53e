//===- Codes.h - Codes of few bits ----------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_CODES_H
#define FRIT_CODEGEN_CUDA_ROWS_CODES_H

#include "codegen/cuda/contraction/ProblemText.h"
#include "dialects/nn/operators/Quantized.h"

namespace frit::cuda {

/// Returns why kernels do not read the codes of a matrix, in tiles or not, to
/// make numbers of type `to`.
nn::Legality checkCodes(const nn::QuantizedMatrix &matrix, mlir::Type to);

/// Returns the fields that describe codes: Scale, code, block, hasOffsets.
void addCodes(ProblemText &text, const nn::QuantizedMatrix &matrix);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_ROWS_CODES_H
