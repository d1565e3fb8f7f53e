//===- RawData.h - Weights that stay in the model's file ------------------===//

#ifndef FRIT_COMPILER_ONNX_READER_RAWDATA_H
#define FRIT_COMPILER_ONNX_READER_RAWDATA_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace frit::importer {

/// Takes a number of variable length, of at most ten bytes, from the front;
/// nothing where there is none.
std::optional<uint64_t> takeVarint(llvm::StringRef &bytes);

/// The serialised `model` without the raw data of its large initializers: each
/// becomes external data, in the file named `self`, which is the model's own.
/// Parsing what is left takes no memory for weights. A model that is damaged
/// comes back as it is.
std::string leaveRawData(llvm::StringRef model, llvm::StringRef self);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_RAWDATA_H
