//===- Hooks.h - Import of operators that have no equal in nn -------------===//

#ifndef FRIT_COMPILER_ONNX_READER_HOOKS_H
#define FRIT_COMPILER_ONNX_READER_HOOKS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace frit::importer {

class Node;

/// Results of a node. An omitted input or output is a null value.
using Results = llvm::SmallVector<mlir::Value>;

/// Inputs that a hook takes besides tensors of numbers of static shape.
enum Takes : unsigned {
  takesNoOthers = 0,
  takesCounts = 1, ///< tensors of data-dependent shape
  takesLists = 2,  ///< sequences
  takesStrings = 4 ///< tensors of strings
};
constexpr Takes operator|(Takes a, Takes b) {
  return Takes(unsigned(a) | unsigned(b));
}

/// Imports an ONNX operator that has no equal in nn. `operation` is its name,
/// prefixed by "domain::" if not of ONNX's own domain. `since` is the first
/// opset with this meaning. `maxInputs` of -1 means any number. The function
/// builds the outputs, or reports why it cannot.
struct Hook {
  llvm::StringLiteral operation;
  int since;
  int minInputs, maxInputs;
  Results (*build)(Node &node);
  /// The importer rejects other inputs before it calls `build`.
  Takes takes = takesNoOthers;
};

/// Return the hooks of each family of operators.
llvm::ArrayRef<Hook> elementwiseHooks();
llvm::ArrayRef<Hook> shapeHooks();
llvm::ArrayRef<Hook> movementHooks();
llvm::ArrayRef<Hook> slicingHooks();
llvm::ArrayRef<Hook> windowHooks();
llvm::ArrayRef<Hook> contractionHooks();
llvm::ArrayRef<Hook> attentionHooks();
llvm::ArrayRef<Hook> groupQueryHooks();
llvm::ArrayRef<Hook> fusedAttentionHooks();
llvm::ArrayRef<Hook> fusedContractionHooks();
llvm::ArrayRef<Hook> fusedElementwiseHooks();
llvm::ArrayRef<Hook> reductionHooks();
llvm::ArrayRef<Hook> normalizationHooks();
llvm::ArrayRef<Hook> indexingHooks();
llvm::ArrayRef<Hook> rankingHooks();
llvm::ArrayRef<Hook> lossHooks();
llvm::ArrayRef<Hook> quantizationHooks();
llvm::ArrayRef<Hook> quantizedOpHooks();
llvm::ArrayRef<Hook> resizeHooks();
llvm::ArrayRef<Hook> samplingHooks();
llvm::ArrayRef<Hook> recurrentHooks();
llvm::ArrayRef<Hook> transposedHooks();
llvm::ArrayRef<Hook> spectralHooks();
llvm::ArrayRef<Hook> einsumHooks();
llvm::ArrayRef<Hook> sequenceHooks();
llvm::ArrayRef<Hook> listHooks();
llvm::ArrayRef<Hook> stringHooks();
llvm::ArrayRef<Hook> stringOperatorHooks();
llvm::ArrayRef<Hook> imageHooks();
llvm::ArrayRef<Hook> linearHooks();
llvm::ArrayRef<Hook> treeHooks();
llvm::ArrayRef<Hook> trainingHooks();
llvm::ArrayRef<Hook> controlFlowHooks();
llvm::ArrayRef<Hook> scanHooks();
llvm::ArrayRef<Hook> knownHooks();
llvm::ArrayRef<Hook> randomHooks();

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_HOOKS_H
