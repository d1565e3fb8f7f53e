//===- RawData.h - Keep weights in the model's file -----------------------===//

#ifndef FRIT_COMPILER_ONNX_READER_RAWDATA_H
#define FRIT_COMPILER_ONNX_READER_RAWDATA_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace frit::importer {

/// Reads a varint (at most ten bytes) from the front; none if there is none.
std::optional<uint64_t> takeVarint(llvm::StringRef &bytes);

/// Removes the raw data of large initializers from the serialized `model`. Each
/// becomes external data in the file `self`, which is the model's own, so that
/// parsing the rest takes no memory for weights. Returns a damaged model
/// unchanged, or nothing of one that is too large for protobuf.
std::string leaveRawData(llvm::StringRef model, llvm::StringRef self);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_RAWDATA_H
