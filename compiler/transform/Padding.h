//===- Padding.h - Whether a model may run on padded inputs ---------------===//

#ifndef FRIT_COMPILER_TRANSFORM_PADDING_H
#define FRIT_COMPILER_TRANSFORM_PADDING_H

#include "compiler/transform/PaddedOperator.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace frit {

/// Why the results for a small size are no part of those for a large one.
struct Mixing {
  mlir::Location loc;
  std::string reason; ///< "combines elements along it"
};

/// Proves that a model, imported for a large size of some dimension, computes
/// among other things what it does for a smaller one: that the results of the
/// small model are the leading elements of those of the large one in every
/// dimension, whenever its inputs are.
class PaddingProof {
public:
  explicit PaddingProof(mlir::ModuleOp large);

  /// Compares with the model imported for a smaller size, whose composites it
  /// decomposes. Nothing: it is proved.
  std::optional<Mixing> findMixing(mlir::ModuleOp small);

private:
  std::optional<PaddedValue> pad(mlir::Operation *small, mlir::Operation *large,
                                 llvm::ArrayRef<PaddedValue> operands);

  mlir::OwningOpRef<mlir::ModuleOp> large;
  /// What is known of pairs of operators, by their text.
  llvm::StringMap<std::optional<PaddedValue>> verdicts;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_PADDING_H
