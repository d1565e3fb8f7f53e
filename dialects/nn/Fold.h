//===- Fold.h - Values of operators on constants --------------------------===//
//
// Shape arithmetic and other small computations on constants happen while
// compiling, by the same scalar bodies that kernels are made from.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_FOLD_H
#define FRIT_DIALECTS_NN_FOLD_H

#include "dialects/nn/NN.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace frit::nn {

/// Tensors of more elements are not worth computing one by one here; what
/// depends on constants alone goes to @prepare.
inline constexpr int64_t foldLimit = 4096;

/// The elements of a constant that has at most so many of them, or null.
mlir::DenseElementsAttr constantValue(mlir::Value value,
                                      int64_t most = foldLimit);

/// The result of an elementwise operator, a reshape, a reduction or an operator
/// that moves elements, if all its operands are known by `constantValue` and
/// the result has at most `foldLimit` elements; else null. A weight, which is a
/// constant of several floats with a name, stays what it is: its values may be
/// swapped or trained. The context must have the arith and math dialects
/// loaded.
mlir::DenseElementsAttr evaluate(mlir::Operation *op);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_FOLD_H
