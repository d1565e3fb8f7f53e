//===- RowMovement.h - Movement of rows around what works on each ---------===//

#ifndef FRIT_COMPILER_TRANSFORM_SIMPLIFY_ROWMOVEMENT_H
#define FRIT_COMPILER_TRANSFORM_SIMPLIFY_ROWMOVEMENT_H

#include "dialects/nn/NN.h"

namespace frit {

/// A product of rows and a matrix, and what is added to each row, if anything.
struct RowProduct {
  nn::MatmulOp product;
  mlir::Value bias;

  /// The same on other rows.
  mlir::Value apply(nn::NNBuilder &b, mlir::Value rows);
};

/// The product whose result `value` is, or is a view of, if nothing else reads
/// what is between.
std::optional<RowProduct> findRowProduct(mlir::Value value);

/// Adds the patterns that bring transposes of a product's rows to where another
/// transpose or an attention takes them.
void populateRowTransposes(mlir::RewritePatternSet &patterns);

/// Adds the patterns that compute only what slices leave.
void populateRowSlices(mlir::RewritePatternSet &patterns);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_SIMPLIFY_ROWMOVEMENT_H
