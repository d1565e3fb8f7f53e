//===- ScalarBody.h - Evaluate a scalar expression ------------------------===//

#ifndef FRIT_DIALECTS_NN_SCALARBODY_H
#define FRIT_DIALECTS_NN_SCALARBODY_H

#include "dialects/nn/ScalarBuilder.h"

namespace frit::nn {

/// A scalar expression. It is built once and evaluated for many operands with
/// the fold hooks of its operations.
class ScalarBody {
public:
  using Build =
      llvm::function_ref<Scalar(ScalarBuilder &, llvm::ArrayRef<Scalar>)>;

  /// Builds the expression of operands of the types `operands`.
  ScalarBody(mlir::Location loc, llvm::ArrayRef<mlir::Type> operands,
             mlir::Type result, Build build);

  /// Returns the result for operands `x`, or null if it is not defined.
  mlir::Attribute run(llvm::ArrayRef<mlir::Attribute> x);

private:
  bool step(mlir::Operation &op);

  mlir::Block block;
  mlir::Value value;
  mlir::Type storage;
  llvm::DenseMap<mlir::Value, mlir::Attribute> known;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_SCALARBODY_H
