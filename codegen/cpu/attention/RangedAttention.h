//===- RangedAttention.h - Attention to ranges of cached keys -------------===//

#ifndef FRIT_CODEGEN_CPU_ATTENTION_RANGEDATTENTION_H
#define FRIT_CODEGEN_CPU_ATTENTION_RANGEDATTENTION_H

#include "dialects/nn/StridedView.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit::cpu {

/// Returns whether an attention gets a kernel that reads the keys in its ranges
/// alone, or those from the first to the last that its mask shows: one to a
/// state, whose length is known when the model runs. Others are products and a
/// softmax.
bool takesRangedAttention(nn::AttentionOp op);

/// Returns whether a fusion of describeCappedAttention() gets such a kernel:
/// one whose keys and values are states.
bool takesCappedAttention(nn::FusionOp fusion);

/// Returns whether that kernel reads an operand, or writes its result, at these
/// places.
bool takesAttentionView(mlir::Type element, const nn::StridedPlaces &places);

/// Creates the function `name`, which computes an attention of
/// describeCodedAttention() or describeCappedAttention(). It takes memrefs of
/// the operands and the result and the bounds of work items, whose number is
/// its attribute `cpu.items`; an item is some queries of the heads that share
/// keys. `arch` is one of frit/host_arch.h.
///
/// The result of a query depends neither on the number of queries nor on the
/// capacity of the state: sums are in the order of the keys.
mlir::func::FuncOp createRangedAttention(nn::FusionOp fusion,
                                         llvm::StringRef name,
                                         llvm::StringRef arch,
                                         mlir::OpBuilder &builder);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_ATTENTION_RANGEDATTENTION_H
