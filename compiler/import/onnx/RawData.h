//===- RawData.h - Weights that stay in the model's file ------------------===//

#ifndef FRIT_COMPILER_IMPORT_ONNX_RAWDATA_H
#define FRIT_COMPILER_IMPORT_ONNX_RAWDATA_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace frit::importer {

/// The serialised `model` without the raw data of its large initializers: each
/// becomes external data, in the file named `self`, which is the model's own.
/// Parsing what is left takes no memory for weights. A model that is damaged
/// comes back as it is.
std::string leaveRawData(llvm::StringRef model, llvm::StringRef self);

} // namespace frit::importer

#endif // FRIT_COMPILER_IMPORT_ONNX_RAWDATA_H
