//===- Registry.h - Find the importer of an operator ----------------------===//
//
// An operator is imported by a hook, or by name if an nn operator has the same
// inputs and attributes. If there are both, the one for the later opset is
// used.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_READER_REGISTRY_H
#define FRIT_COMPILER_ONNX_READER_REGISTRY_H

#include "compiler/import/CustomSpec.h"
#include "compiler/onnx/reader/Hooks.h"

namespace frit::importer {

/// Returns whether an operator (with "domain::" if not ONNX's own) is known at
/// an opset. If it is known only from a later one on, sets `later` to that.
bool isImported(llvm::StringRef operation, int64_t opset, int64_t &later);

/// Imports a node whose operator is known at its opset and returns its outputs;
/// reports why it cannot.
Results importOperator(Node &node);

/// Imports a node of a user's own operator, which `specs` has, and returns its
/// outputs; reports why it cannot.
Results importCustom(Node &node, const CustomSpec &spec,
                     llvm::ArrayRef<CustomSpec> specs);

/// Returns whether the node has between `least` and `most` (-1: any number)
/// inputs; reports an error otherwise.
bool checkInputCount(Node &node, int least, int most);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_REGISTRY_H
