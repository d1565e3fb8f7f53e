//===- Loops.h - What buildLinalg bodies are written with -----------------===//
//
// Every structural operator is one loop nest over the elements of its result,
// sometimes followed by one that rounds the accumulators.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_LOOPS_H
#define FRIT_DIALECTS_NN_LOOPS_H

#include "dialects/nn/NN.h"

namespace frit::nn {

/// Builds an element from the elements of a loop nest's inputs, and in a
/// reduction the accumulator, which comes last.
using BodyFn = llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &,
                                              mlir::ValueRange)>;

/// Maps the indices of a result to those of an operand that broadcasts to it.
mlir::AffineMap broadcastMap(llvm::ArrayRef<int64_t> operand,
                             llvm::ArrayRef<int64_t> result,
                             mlir::MLIRContext *context);

/// A new tensor of `type`, each element by `body` from elements of `inputs`
/// that `maps` picks by the element's indices.
mlir::Value buildMap(mlir::ImplicitLocOpBuilder &b, mlir::RankedTensorType type,
                     mlir::ValueRange inputs,
                     llvm::ArrayRef<mlir::AffineMap> maps, BodyFn body);

/// A new tensor of `type` that starts as `init` everywhere and accumulates by
/// `body`. The last map is the result's; loops it does not use are reductions.
mlir::Value buildReduction(mlir::ImplicitLocOpBuilder &b,
                           mlir::RankedTensorType type, mlir::TypedAttr init,
                           mlir::ValueRange inputs,
                           llvm::ArrayRef<mlir::AffineMap> maps, BodyFn body);

/// The same, starting from the elements of `init`.
mlir::Value buildAccumulation(mlir::ImplicitLocOpBuilder &b, mlir::Value init,
                              mlir::ValueRange inputs,
                              llvm::ArrayRef<mlir::AffineMap> maps,
                              BodyFn body);

/// Accumulators as elements of the signless type `storage`.
mlir::Value buildRounding(mlir::ImplicitLocOpBuilder &b, mlir::Value sums,
                          mlir::Type storage);

/// The same elements under another shape, through views only.
mlir::Value buildReshape(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                         llvm::ArrayRef<int64_t> shape);

/// The type of an operator's first result, signless; and the same shape with
/// elements that accumulate.
mlir::RankedTensorType loweredType(mlir::Value result);
mlir::RankedTensorType accumulatorType(mlir::Value result);

/// Arithmetic on indices.
mlir::Value indexOf(mlir::ImplicitLocOpBuilder &b, unsigned loop);
mlir::Value indexConstant(mlir::ImplicitLocOpBuilder &b, int64_t value);
/// x * scale + offset.
mlir::Value scaleIndex(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                       int64_t scale, int64_t offset);
mlir::Value clampIndex(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                       int64_t low, int64_t high);
mlir::Value indexIsIn(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t low,
                      int64_t high);
/// x modulo a positive number, never negative.
mlir::Value wrapIndex(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                      int64_t modulus);

/// Zero of a scalar type.
mlir::Value zeroOf(mlir::ImplicitLocOpBuilder &b, mlir::Type type);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_LOOPS_H
