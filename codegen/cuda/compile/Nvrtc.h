//===- Nvrtc.h - CUDA C++ to machine code ---------------------------------===//
//
// NVRTC is part of the CUDA toolkit and is opened when it is first needed, so
// that frit builds and runs without it. No GPU has to be present.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_COMPILE_NVRTC_H
#define FRIT_CODEGEN_CUDA_COMPILE_NVRTC_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace frit::cuda {

/// Returns a description of where NVRTC was found and its version, or an error
/// that says why there is none.
llvm::Expected<std::string> describeNvrtc();

/// A compiled translation unit.
struct DeviceCode {
  std::string cubin; ///< machine code; empty for a virtual architecture
  std::string ptx;   ///< the cubin's source, null-terminated
};

/// Compiles a translation unit for a real architecture ("sm_90a") or a virtual
/// one ("compute_80"). It may include frit's device headers, those in `folders`
/// and those of the CUDA toolkit. The same text gives the same bytes.
/// Thread-safe. An error has the compiler's log, with lines as in
/// "frit.cu(12)", and the name of a file with the text. It has an error code
/// unless the text is at fault.
llvm::Expected<DeviceCode>
compileCuda(const std::string &text, llvm::StringRef arch,
            llvm::ArrayRef<std::string> folders = {});

/// Return "compute_90" and "sm_90" for "sm_90a": the architectures whose PTX
/// and machine code do without the features specific to `arch`.
std::string genericPtx(llvm::StringRef arch);
std::string genericArch(llvm::StringRef arch);

/// Returns whether `arch` has the form of a CUDA architecture, sm_80 or sm_90a.
bool isCudaArch(llvm::StringRef arch);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_COMPILE_NVRTC_H
