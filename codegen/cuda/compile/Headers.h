//===- Headers.h - The device headers, embedded ---------------------------===//

#ifndef FRIT_CODEGEN_CUDA_COMPILE_HEADERS_H
#define FRIT_CODEGEN_CUDA_COMPILE_HEADERS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace frit::cuda {

struct DeviceHeader {
  const char *name; ///< "frit/map.cuh"
  const char *text;
};

/// Returns the device headers as they were when the compiler was built.
llvm::ArrayRef<DeviceHeader> deviceHeaders();

/// Returns the tuning file that frit comes with, shipped.tune.
llvm::StringRef shippedTuning();

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_COMPILE_HEADERS_H
