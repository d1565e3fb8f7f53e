//===- Padding.h - Whether a model may run on padded inputs ---------------===//

#ifndef FRIT_COMPILER_PADDING_PADDING_H
#define FRIT_COMPILER_PADDING_PADDING_H

#include "compiler/padding/PaddingMasks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace frit {

/// The function of a model that a call runs.
inline mlir::func::FuncOp mainOf(mlir::ModuleOp module) {
  return module.lookupSymbol<mlir::func::FuncOp>("main");
}

/// Why the results for a small size are no part of those for a large one.
struct Mixing {
  mlir::Location loc;
  std::string reason; ///< "combines elements along it"
};

/// Proves that a model, imported for a large size of some dimension, computes
/// among other things what it does for a smaller one: that the results of the
/// small model are the leading elements of those of the large one in every
/// dimension, whenever its inputs are and the rest of them is zero. Finds the
/// masks that the large one needs for that.
class PaddingProof {
public:
  /// `sizes` are those of the symbols that `large` was imported for. Composites
  /// of it are decomposed where a part of them is masked.
  PaddingProof(mlir::ModuleOp large, llvm::ArrayRef<int64_t> sizes)
      : masks(sizes), large(large) {}

  /// Compares with the model imported for smaller sizes, which is taken apart.
  /// Nothing: it is proved, for the masks there are now. What was proved before
  /// is to be proved again where that made them more.
  std::optional<Mixing> findMixing(mlir::ModuleOp small,
                                   llvm::ArrayRef<int64_t> sizes);
  /// Whether there is a size in the masks that the sizes of the calls do not
  /// tell, when all small models have been compared.
  std::optional<Mixing> findMisfit() const;

  /// The masks that are not in the large model yet.
  PaddingMasks masks;

private:
  std::optional<PaddedValue> pad(mlir::Operation *small, mlir::Operation *large,
                                 llvm::ArrayRef<PaddedValue> operands);
  std::optional<PaddedValue> padComposite(mlir::Operation *small,
                                          mlir::Operation *large,
                                          llvm::ArrayRef<PaddedValue> operands);
  std::optional<PaddedValue> padConstant(nn::ConstantOp small,
                                         nn::ConstantOp large);

  void findLines(PaddedValue &value, mlir::Value small, mlir::Operation &op);

  mlir::ModuleOp large;
  /// What is known of pairs of operators, by their text.
  llvm::StringMap<std::optional<PaddedValue>> verdicts;
  llvm::DenseMap<mlir::Attribute, AbstractValue> constants;
  /// By the large model's operator, what findFinite says.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> lines;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_PADDING_H
