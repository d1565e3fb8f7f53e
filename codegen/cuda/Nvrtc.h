//===- Nvrtc.h - CUDA C++ to machine code ---------------------------------===//
//
// NVRTC is part of the CUDA toolkit and is opened when it is first needed, so
// that frit builds and runs without it. No GPU has to be present.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_NVRTC_H
#define FRIT_CODEGEN_CUDA_NVRTC_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace frit::cuda {

/// Where NVRTC was found and its version, for people; or why there is none.
llvm::Expected<std::string> describeNvrtc();

/// Compiles a translation unit, whose includes are frit's device headers:
/// machine code for a real architecture ("sm_90a"), PTX text for a virtual one
/// ("compute_80"). The same text gives the same bytes. An error has the
/// compiler's log and the name of a file with the text.
llvm::Expected<std::string> compileCuda(const std::string &text,
                                        llvm::StringRef arch);

/// The same for several architectures, each on a thread of its own.
llvm::Expected<std::vector<std::string>>
compileCudaForAll(const std::string &text, llvm::ArrayRef<std::string> archs);

/// "compute_80": the virtual architecture whose PTX every device from the
/// lowest of `archs` on can translate.
std::string ptxFloor(llvm::ArrayRef<std::string> archs);

/// Whether `arch` has the form of a CUDA architecture, sm_80 or sm_90a.
bool isCudaArch(llvm::StringRef arch);

/// Whether frit::waitForInputs() waits on `arch`, which it does from sm_90 on.
bool waitsForInputs(llvm::StringRef arch);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_NVRTC_H
