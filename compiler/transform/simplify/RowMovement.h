//===- RowMovement.h - Move rows across row-wise operators ----------------===//

#ifndef FRIT_COMPILER_TRANSFORM_SIMPLIFY_ROWMOVEMENT_H
#define FRIT_COMPILER_TRANSFORM_SIMPLIFY_ROWMOVEMENT_H

#include "dialects/nn/NN.h"

namespace frit {

/// A matmul of rows by a matrix, with an optional bias added to each row.
struct RowProduct {
  nn::MatmulOp product;
  mlir::Value bias;

  /// Builds the same computation on `rows`.
  mlir::Value apply(nn::NNBuilder &b, mlir::Value rows);
};

/// Returns the product of which `value` is the result or a view, if no value in
/// between has other readers.
std::optional<RowProduct> findRowProduct(mlir::Value value);

/// Adds the patterns that move transposes of a product's rows to where another
/// transpose or an attention absorbs them.
void populateRowTransposes(mlir::RewritePatternSet &patterns);

/// Adds the patterns that move slices before the operators that compute their
/// operand.
void populateRowSlices(mlir::RewritePatternSet &patterns);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_SIMPLIFY_ROWMOVEMENT_H
