//===- QuantizeProducts.h - Products of floats in 8 bits ------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_QUANTIZE_QUANTIZEPRODUCTS_H
#define FRIT_COMPILER_TRANSFORM_QUANTIZE_QUANTIZEPRODUCTS_H

#include "compiler/transform/quantize/ProductScales.h"
#include "compiler/transform/quantize/QuantizableProducts.h"

namespace frit {

/// Quantizes the inputs and weights of the products that `table` has, and
/// dequantizes them: as importers build QDQ models. Other readers of what a
/// convolution reads get the dequantized tensor too, if they add or pool.
/// Fails, after reporting an error, if the table names no product or has lists
/// of another length than the product's.
mlir::LogicalResult quantizeProducts(mlir::ModuleOp module,
                                     const ScaleTable &table);

/// Adds an input to main, a vector of f32 with an element for each row of the
/// table: its product is quantized in calls where this is 1. Otherwise as
/// quantizeProducts.
mlir::LogicalResult switchProducts(mlir::ModuleOp module,
                                   const ScaleTable &table);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_QUANTIZE_QUANTIZEPRODUCTS_H
