//===- ModelInput.h - Read the model's file -------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_MODELINPUT_H
#define FRIT_COMPILER_DRIVER_MODELINPUT_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace frit {

/// Reads the file `path`; "-" is standard input. Devices are refused.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readFile(const std::string &path);

/// Reads a model. A file or folder of another format is an error that tells the
/// way to ONNX.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readModel(const std::string &path);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_MODELINPUT_H
