//===- CudaCode.h - A CUDA program's kernels as device code ---------------===//

#ifndef FRIT_COMPILER_DRIVER_CUDACODE_H
#define FRIT_COMPILER_DRIVER_CUDACODE_H

#include "codegen/artifact/Serialize.h"
#include "codegen/cuda/CudaTarget.h"

#include "llvm/Support/Error.h"

namespace frit {

/// A program's kernels as one translation unit.
struct ProgramText {
  std::string text;
  bool archOnly = false; ///< whether its PTX is for its architecture only too
};

/// The CUDA C++ of every plan.kernel of `program`; how each is launched is set
/// in the plan.
llvm::FailureOr<ProgramText> emitProgram(plan::ProgramOp program,
                                         const cuda::CudaTarget &target);

/// Compiles such a unit to machine code for `arch` and to PTX.
llvm::Expected<artifact::TargetCode> compileProgram(const ProgramText &program,
                                                    llvm::StringRef arch);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_CUDACODE_H
