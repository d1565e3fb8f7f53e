//===- Loops.h - Helpers of buildLinalg -----------------------------------===//
//
// Every structural operator is one loop nest over the elements of its result. A
// second nest may round the accumulators.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_LOWERING_LOOPS_H
#define FRIT_DIALECTS_NN_LOWERING_LOOPS_H

#include "dialects/nn/NN.h"

namespace frit::nn {

/// Builds an element from the elements of a loop nest's inputs. In a reduction
/// the accumulator comes last.
using BodyFn = llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &,
                                              mlir::ValueRange)>;

/// Maps a result's indices to those of an operand that broadcasts to it.
mlir::AffineMap broadcastMap(llvm::ArrayRef<int64_t> operand,
                             llvm::ArrayRef<int64_t> result,
                             mlir::MLIRContext *context);

/// Builds a tensor of `type`. `body` computes each element from the elements of
/// `inputs` that `maps` select.
mlir::Value buildMap(mlir::ImplicitLocOpBuilder &b, mlir::RankedTensorType type,
                     mlir::ValueRange inputs,
                     llvm::ArrayRef<mlir::AffineMap> maps, BodyFn body);

/// Builds a tensor of `type` that is initialized to `init` and accumulated by
/// `body`. The last map is the result's; loops that it does not use are
/// reductions.
mlir::Value buildReduction(mlir::ImplicitLocOpBuilder &b,
                           mlir::RankedTensorType type, mlir::TypedAttr init,
                           mlir::ValueRange inputs,
                           llvm::ArrayRef<mlir::AffineMap> maps, BodyFn body);

/// As buildReduction, initialized with the tensor `init`.
mlir::Value buildAccumulation(mlir::ImplicitLocOpBuilder &b, mlir::Value init,
                              mlir::ValueRange inputs,
                              llvm::ArrayRef<mlir::AffineMap> maps,
                              BodyFn body);

/// Rounds accumulators to the signless type `storage`.
mlir::Value buildRounding(mlir::ImplicitLocOpBuilder &b, mlir::Value sums,
                          mlir::Type storage);

/// Reshapes by views only.
mlir::Value buildReshape(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                         llvm::ArrayRef<int64_t> shape);

/// Return the signless type of an operator's result, and the same shape with
/// the accumulator's element type.
mlir::RankedTensorType loweredType(mlir::Value result);
mlir::RankedTensorType accumulatorType(mlir::Value result);

/// Arithmetic on indices.
mlir::Value indexOf(mlir::ImplicitLocOpBuilder &b, unsigned loop);
mlir::Value indexConstant(mlir::ImplicitLocOpBuilder &b, int64_t value);
/// Builds x * scale + offset.
mlir::Value scaleIndex(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                       int64_t scale, int64_t offset);
mlir::Value clampIndex(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                       int64_t low, int64_t high);
mlir::Value indexIsIn(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t low,
                      int64_t high);
/// Builds x modulo a positive number; not negative.
mlir::Value wrapIndex(mlir::ImplicitLocOpBuilder &b, mlir::Value x,
                      int64_t modulus);

/// Builds the zero of a scalar type.
mlir::Value zeroOf(mlir::ImplicitLocOpBuilder &b, mlir::Type type);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_LOWERING_LOOPS_H
