//===- Lowering.h - nn operators as linalg on tensors ---------------------===//
//
// The semantics every execution shares. The cpu target bufferizes the result
// and the generic CUDA kernels are printed from it element by element.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_LOWERING_H
#define FRIT_DIALECTS_NN_LOWERING_H

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit::nn {

/// The value of one nn operator (not a composite or a fusion) as linalg on
/// tensors, from the values `x` of its operands, with signless element types.
///
///   nn.add %x, %b : (tensor<4x8xf16>, tensor<8xf16>) -> tensor<4x8xf16>
/// ==>
///   linalg.generic {indexing_maps = [(i, j) -> (i, j), (i, j) -> (j), ...],
///     iterator_types = ["parallel", "parallel"]} ins(%x, %b) outs(%empty) {
///     extf, extf, addf, truncf }
mlir::Value lowerToLinalg(mlir::Operation *op,
                          mlir::ImplicitLocOpBuilder &builder,
                          mlir::ValueRange x);

/// A private function `name` at the builder's insertion point (a module's
/// body) that computes a fusion: its inputs to its outputs, all signless.
mlir::func::FuncOp lowerFusion(FusionOp fusion, llvm::StringRef name,
                               mlir::OpBuilder &builder);

/// Builds the combination of two values in the body of a reduction, and the
/// value that combines to the other.
Scalar combine(ScalarBuilder &s, Combiner kind, Scalar x, Scalar y);
mlir::TypedAttr identity(Combiner kind, mlir::Type body, bool isUnsigned);

/// Registers `lower-nn`, which lowers the functions of a module.
void registerLowerPass();

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_LOWERING_H
