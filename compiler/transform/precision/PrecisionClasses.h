//===- PrecisionClasses.h - Operators by the precision they need ----------===//
//
// Classifies operators: those that compute in 16 bits, those that compute in
// f32 (as the lists of PyTorch's autocast), and those that preserve the
// precision of their operands.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_PRECISION_PRECISIONCLASSES_H
#define FRIT_COMPILER_TRANSFORM_PRECISION_PRECISIONCLASSES_H

#include "mlir/IR/Operation.h"

namespace frit::precision {

/// Returns whether an operator would lose too much precision in 16 bits: sums
/// and functions that grow like them, steep functions, positions, operators on
/// bits, quantizations and products of quantized tensors, and statistics that
/// ranks average. Composites compute in f32 inside.
bool staysWide(mlir::Operation *op);

/// Returns whether an operator takes narrow operands and gives an f32 result.
bool givesWide(mlir::Operation *op);

/// Returns whether a composite takes this operand in f32 while x has 16 bits:
/// scales, biases and other small parameters, and a number per row. The file of
/// a custom operator decides for it.
bool isWideOperand(mlir::OpOperand &use, mlir::Type narrow);

/// Returns whether an operator takes a mask, where the lowest number hides an
/// element and -inf may hide all.
bool takesMask(mlir::OpOperand &use);

/// Returns whether a custom operator gives this result in f32 while x has 16
/// bits.
bool isWideResult(mlir::OpResult result, mlir::Type narrow);

/// Returns whether an operator multiplies a few coordinates by frequencies or
/// directions. Its results are used as angles.
bool multipliesCoordinates(mlir::Operation *op);

/// Returns whether an operator takes angles.
bool takesAngles(mlir::Operation *op);

/// Returns whether an operator that gives angles or positions computes each
/// from so few numbers that in f32 it takes about as long: averages, and
/// products with up to 32 coordinates.
bool computesAngles(mlir::Operation *op);

/// Returns whether an operand is an index, or a float that becomes an integer.
bool isPosition(mlir::OpOperand &use);

/// Returns whether an operator computes positions from positions, or from what
/// decides about them: formulas, comparisons, sums and movement.
bool computesPositions(mlir::Operation *op);

/// Returns whether an operator's results may be too small for 16 bits, but not
/// their logarithms: formulas, movement, and softmax.
bool leadsToLog(mlir::Operation *op);

/// Returns whether a reduction or a norm reads the value, perhaps reshaped: in
/// another kernel than the product that it comes from.
bool isReduced(mlir::Value value);

/// Returns whether an operator sums or averages.
bool sums(mlir::Operation *op);

/// Returns whether an operator's results are the positions of elements, which
/// it selects by their values.
bool findsElements(mlir::Operation *op);

/// Returns whether an operator moves elements of its operands without changing
/// them.
bool movesElements(mlir::Operation *op);

/// Returns whether a product reads the value, perhaps after its elements moved.
bool isFactor(mlir::Value value);

/// Returns whether an operator's results are elements of its operands, which it
/// selects by their values.
bool selectsElements(mlir::Operation *op);

/// Returns whether the result of an operator is about as precise as its
/// operands.
bool preservesPrecision(mlir::Operation *op);

} // namespace frit::precision

#endif // FRIT_COMPILER_TRANSFORM_PRECISION_PRECISIONCLASSES_H
