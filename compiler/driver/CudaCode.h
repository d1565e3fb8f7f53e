//===- CudaCode.h - A CUDA program's kernels as device code ---------------===//

#ifndef FRIT_COMPILER_DRIVER_CUDACODE_H
#define FRIT_COMPILER_DRIVER_CUDACODE_H

#include "codegen/artifact/Serialize.h"
#include "codegen/cuda/CudaTarget.h"

#include "llvm/Support/Error.h"

namespace frit {

/// The CUDA C++ of every plan.kernel of `program`; how each is launched is set
/// in the plan.
llvm::FailureOr<std::string> emitProgram(plan::ProgramOp program,
                                         const cuda::CudaTarget &target);

/// Compiles such a unit to machine code for `arch` and to PTX.
llvm::Expected<artifact::TargetCode> compileProgram(const std::string &text,
                                                    llvm::StringRef arch);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_CUDACODE_H
