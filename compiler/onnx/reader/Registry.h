//===- Registry.h - Who imports an operator -------------------------------===//
//
// An operator is imported by a hook or, where its inputs and attributes are
// those of an operator of nn, by name: by the one whose meaning is of the later
// opset.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_READER_REGISTRY_H
#define FRIT_COMPILER_ONNX_READER_REGISTRY_H

#include "compiler/onnx/reader/Importer.h"

namespace frit::importer {

/// Whether an operator, "domain::" before its name where it is not of ONNX's
/// own domain, is known at an opset. Where it is only known from a later one
/// on, `later` becomes that.
bool isImported(llvm::StringRef operation, int64_t opset, int64_t &later);

/// The outputs of a node whose operator is known at its opset; reports why
/// there are none.
Results importOperator(Node &node);

/// Whether the node has at least `least` and, unless that is -1, at most `most`
/// inputs; reports it otherwise.
bool checkInputCount(Node &node, int least, int most);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_REGISTRY_H
