//===- ValidEntries.h - Entries of a result that are valid ----------------===//
//
// An operator on data-dependent tensors computes all entries of the upper
// bound. Its loops (buildLinalg) determine which of them are valid: an entry is
// valid if the loop index that writes it reads valid entries.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_BOUNDED_VALIDENTRIES_H
#define FRIT_COMPILER_ONNX_BOUNDED_VALIDENTRIES_H

#include "compiler/onnx/reader/Node.h"

namespace frit::importer {

/// Returns which entries of an operator's result are valid, given those of its
/// operands; none if an invalid entry may affect a valid one.
std::optional<DataShape> validEntries(Node &node, mlir::Operation *op,
                                      llvm::ArrayRef<DataShape> operands);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_BOUNDED_VALIDENTRIES_H
