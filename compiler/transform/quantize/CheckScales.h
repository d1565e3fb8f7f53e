//===- CheckScales.h - A table of scales beside its model -----------------===//

#ifndef FRIT_COMPILER_TRANSFORM_QUANTIZE_CHECKSCALES_H
#define FRIT_COMPILER_TRANSFORM_QUANTIZE_CHECKSCALES_H

#include "compiler/transform/quantize/ProductScales.h"
#include "compiler/transform/quantize/QuantizableProducts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit {

/// Checks that a table of scales is for a model. Messages name its lines, or
/// `main` if it was measured.
class ScaleCheck {
public:
  ScaleCheck(mlir::func::FuncOp main, const ScaleTable &table)
      : main(main), table(table) {}

  /// Checks a product's row.
  mlir::LogicalResult check(const QuantizableProduct &product,
                            const ProductScales &row);
  /// Checks that every row has a product.
  mlir::LogicalResult checkNames(llvm::ArrayRef<QuantizableProduct> products);

private:
  mlir::Location locationOf(const ProductScales &row);
  mlir::InFlightDiagnostic wrong(const ProductScales &row);
  mlir::InFlightDiagnostic warn(const ProductScales &row);
  mlir::LogicalResult checkWeights(const QuantizableProduct &product,
                                   const ProductScales &row);

  mlir::func::FuncOp main;
  const ScaleTable &table;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_QUANTIZE_CHECKSCALES_H
