//===- Operand.h - Attention's operands in a plan -------------------------===//

#ifndef FRIT_CODEGEN_CUDA_LIBRARY_OPERAND_H
#define FRIT_CODEGEN_CUDA_LIBRARY_OPERAND_H

#include "dialects/nn/StridedView.h"
#include "dialects/plan/Plan.h"

namespace frit::cuda {

/// Returns the position and layout of a call's operand. The result is the
/// argument after the `inputs`.
inline plan::OperandAttr operandAttr(mlir::Builder &builder,
                                     const nn::AttentionOperand &operand,
                                     size_t inputs) {
  unsigned argument =
      operand.argument ? operand.argument.getArgNumber() : unsigned(inputs);
  return plan::OperandAttr::get(builder.getContext(), argument, operand.offset,
                                builder.getDenseI64ArrayAttr(operand.strides));
}

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_LIBRARY_OPERAND_H
