//===- ForeignFormats.h - Files that are no ONNX models -------------------===//

#ifndef FRIT_COMPILER_DRIVER_FOREIGNFORMATS_H
#define FRIT_COMPILER_DRIVER_FOREIGNFORMATS_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace frit {

/// Says what a file is that fritc does not take, and the way from there to
/// ONNX: "has weights (safetensors) and no graph; ...". Knows the format by its
/// content; the name decides where the content cannot. "" if the file may be an
/// ONNX model or a graph in JSON.
std::string describeForeignFile(llvm::StringRef path, llvm::StringRef content);

/// As describeForeignFile, for a folder: a Hugging Face model, say.
std::string describeForeignFolder(llvm::StringRef path);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_FOREIGNFORMATS_H
