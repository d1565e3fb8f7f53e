//===- IndexUses.h - Inputs whose elements are indices --------------------===//
//
// Operators such as Gather take indices of a dimension. Where these are
// elements of an input, as they are or with a number added, the input has a
// range that the runtime holds callers to:
//
//   %0 = nn.reshape %ids            main's argument %ids gets nn.indices =
//   %1 = nn.gather %w, %0             [{first = [0, 0], sizes = [2, 3],
//                                       least = -10, most = 9, use = "…"}]
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_IMPORT_INDEXUSES_H
#define FRIT_COMPILER_IMPORT_INDEXUSES_H

#include "dialects/nn/IndexRange.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace frit {

/// The inputs whose elements an imported model uses as indices.
class IndexUses {
public:
  /// Notes that an operator takes indices in `range`, whose box is of the
  /// tensor `indices`. Follows them to inputs of @main, through operators that
  /// copy elements, convert integers or add a constant.
  void add(mlir::Value indices, nn::IndexRange range);

  /// Returns the attribute nn.indices of an argument; null if the model takes
  /// none of its elements as indices.
  mlir::ArrayAttr attrOf(mlir::Value argument) const;

private:
  void record(mlir::Value argument, nn::IndexRange range);

  llvm::DenseMap<mlir::Value, llvm::SmallVector<nn::IndexRange>> uses;
};

} // namespace frit

#endif // FRIT_COMPILER_IMPORT_INDEXUSES_H
