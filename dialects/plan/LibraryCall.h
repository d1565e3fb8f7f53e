//===- LibraryCall.h - Fusions that a library computes --------------------===//

#ifndef FRIT_DIALECTS_PLAN_LIBRARYCALL_H
#define FRIT_DIALECTS_PLAN_LIBRARYCALL_H

#include "dialects/nn/Problem.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace frit::plan {

/// The buffers of a library call's step, and its fallback.
struct CallBuffers {
  mlir::ValueRange inputs, outputs;
  /// Kernel that runs on the same buffers if the library declines; may be null.
  mlir::FlatSymbolRefAttr fallback;
  /// Bytes of scratch memory; 0 on targets whose calls use none.
  int64_t workspaceBytes = 0;
};

} // namespace frit::plan

#include "dialects/plan/LibraryCall.h.inc"

namespace frit::plan {

/// Creates the buffer of a call's workspace; null if it has no bytes.
mlir::Value createWorkspace(mlir::ImplicitLocOpBuilder &builder, int64_t bytes);

/// Builds the plan.gemm of a fusion around a matrix product, by the library's
/// `algorithm` or, if that is 0, any.
llvm::LogicalResult buildGemm(mlir::ImplicitLocOpBuilder &builder,
                              nn::Problem &problem, int64_t algorithm,
                              const CallBuffers &buffers);

/// Builds the plan.conv of a fusion around a convolution.
llvm::LogicalResult buildConv(mlir::ImplicitLocOpBuilder &builder,
                              nn::Problem &problem, int64_t algorithm,
                              const CallBuffers &buffers);

/// Reports a fusion that the library of its schedule does not compute.
llvm::LogicalResult reportMisfit(nn::FusionOp fusion,
                                 const nn::Mismatch &reason);

/// Returns the attribute of an algorithm; null for 0.
mlir::IntegerAttr algorithmAttr(mlir::Builder &builder, int64_t algorithm);

} // namespace frit::plan

#endif // FRIT_DIALECTS_PLAN_LIBRARYCALL_H
