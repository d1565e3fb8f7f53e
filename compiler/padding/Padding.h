//===- Padding.h - Prove that inputs may be padded ------------------------===//

#ifndef FRIT_COMPILER_PADDING_PADDING_H
#define FRIT_COMPILER_PADDING_PADDING_H

#include "compiler/padding/PaddingMasks.h"
#include "compiler/padding/ValuePairs.h"

#include "dialects/nn/operators/Custom.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace frit {

/// Returns the function that a call of the model runs.
inline mlir::func::FuncOp mainOf(mlir::ModuleOp module) {
  return module.lookupSymbol<mlir::func::FuncOp>("main");
}

/// Reason why the results for a small size are not part of those for a large
/// one.
struct Mixing {
  mlir::Location loc;
  std::string reason; ///< "combines elements along it"
  /// The small model cannot be: `reason` is the importer's message.
  bool isInvalid = false;
};

/// Proves that a model imported for a large size of some dimension can compute
/// the results for a smaller size: the small model's results are the leading
/// elements of the large one's, if its inputs are and the rest of the inputs is
/// zero. Finds the masks that the large model needs for that.
class PaddingProof {
public:
  /// `sizes` are the symbols' sizes that `large` was imported for; all sizes
  /// are multiples of `multiples`, one per symbol. Operators of
  /// `large` are expanded if a part of them needs a mask.
  PaddingProof(mlir::ModuleOp large, llvm::ArrayRef<int64_t> sizes,
               llvm::ArrayRef<int64_t> multiples)
      : masks(sizes, multiples), large(large) {}

  /// Compares with the model imported for smaller sizes, which it decomposes.
  /// Returns nothing if the proof succeeded with the present masks. If this
  /// added masks, earlier proofs must be repeated.
  std::optional<Mixing> findMixing(mlir::ModuleOp small,
                                   llvm::ArrayRef<int64_t> sizes);
  /// Returns a size in the masks that is not a function of the symbols' sizes,
  /// if there is one. Call after comparing all small models.
  std::optional<Mixing> findMisfit() const;

  /// Masks that are needed but not yet inserted into the large model.
  PaddingMasks masks;

private:
  std::optional<PaddedValue> pad(mlir::Operation *small, mlir::Operation *large,
                                 llvm::ArrayRef<PaddedValue> operands);
  std::optional<PaddedValue> padComposite(mlir::Operation *small,
                                          mlir::Operation *large,
                                          llvm::ArrayRef<PaddedValue> operands);
  std::optional<PaddedValue> padConstant(nn::ConstantOp small,
                                         nn::ConstantOp large);
  std::optional<llvm::SmallVector<PaddedValue, 3>> padBlocks(
      mlir::Block &small, mlir::Block &large,
      llvm::DenseMap<mlir::Value, PaddedValue> &known,
      llvm::function_ref<std::optional<PaddedValue>(mlir::Value, mlir::Value)>
          find);
  static bool padCustom(nn::CustomOp small, nn::CustomOp large,
                        llvm::ArrayRef<PaddedValue> operands,
                        ValuePairs &pairs);
  bool padScan(nn::ScanOp small, nn::ScanOp large,
               llvm::ArrayRef<PaddedValue> operands, ValuePairs &pairs);
  bool padPicks(nn::GatherOp small, nn::GatherOp large, ValuePairs &pairs);
  bool padPicks(nn::GatherElementsOp small, nn::GatherElementsOp large,
                ValuePairs &pairs);
  std::optional<PaddedValue> padComputed(nn::GatherOp small, nn::GatherOp large,
                                         llvm::ArrayRef<PaddedValue> operands);
  std::optional<PaddedValue> padMasked(mlir::Operation *small,
                                       mlir::Operation *large,
                                       llvm::ArrayRef<PaddedValue> operands);
  /// Moves what the small model has of a result to the front, along dimensions
  /// that join padded ones. Nothing if it cannot be moved. `small` and `large`
  /// are the ends of the models.
  std::optional<PaddedValue> moveResult(mlir::Operation *small,
                                        mlir::Operation *large, unsigned index,
                                        PaddedValue result);
  /// Adds to a small model, at whose end the comparison is, the list that
  /// moveResult has added to the large one. Null if `large` is none.
  mlir::Operation *listAlike(mlir::Operation *small, mlir::Operation *large);
  void findLines(PaddedValue &value, mlir::Value small, mlir::Operation &op);

  mlir::ModuleOp large;
  /// Results of comparing pairs of operators, by key.
  llvm::StringMap<std::optional<PaddedValue>> verdicts;
  llvm::DenseMap<mlir::Attribute, AbstractValue> constants;
  EvaluatedConstants evaluated;
  /// Results of findFinite, by operator of the large model.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> lines;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_PADDING_H
