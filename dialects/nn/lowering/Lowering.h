//===- Lowering.h - Lower nn operators to linalg --------------------------===//
//
// The semantics of the operators on every target: the CPU target bufferizes
// this form, and generic CUDA kernels are printed from it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_LOWERING_LOWERING_H
#define FRIT_DIALECTS_NN_LOWERING_LOWERING_H

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit::nn {

/// Lowers one nn operator (no composite or fusion) to linalg on tensors with
/// signless element types. `x` are the lowered operands. An `nn.update` becomes
/// its value: where that is stored is up to the target.
///
///   nn.add %x, %b : (tensor<4x8xf16>, tensor<8xf16>) -> tensor<4x8xf16>
/// ==>
///   linalg.generic {indexing_maps = [(i, j) -> (i, j), (i, j) -> (j), ...],
///     iterator_types = ["parallel", "parallel"]} ins(%x, %b) outs(%empty) {
///     extf, extf, addf, truncf }
mlir::Value lowerToLinalg(mlir::Operation *op,
                          mlir::ImplicitLocOpBuilder &builder,
                          mlir::ValueRange x);

/// Lowers an update at an offset to linalg on the whole state, which defines
/// what kernels that store only its rows compute.
mlir::Value lowerUpdate(UpdateOp update, mlir::ImplicitLocOpBuilder &builder,
                        mlir::ValueRange x);

/// Returns a function, in no module, of a copy of `op` with the function's
/// arguments as operands. Equal operands share the first one's argument. There
/// is no return.
mlir::OwningOpRef<mlir::func::FuncOp> isolate(mlir::Operation *op);

/// Creates a private function `name` at the builder's insertion point (a
/// module's body) that computes a fusion. Its arguments and results are
/// signless; instead of an updated state it returns the rows to store.
mlir::func::FuncOp lowerFusion(FusionOp fusion, llvm::StringRef name,
                               mlir::OpBuilder &builder);

/// Return the combination of two values in a reduction's body, and its neutral
/// element.
Scalar combine(ScalarBuilder &s, Combiner kind, Scalar x, Scalar y);
mlir::TypedAttr identity(Combiner kind, mlir::Type body, bool isUnsigned);

/// Registers `lower-nn`, which lowers the functions of a module.
void registerLowerPass();

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_LOWERING_LOWERING_H
