//===- Lowering.h - linalg on tensors to LLVM, by upstream's passes -------===//

#ifndef FRIT_CODEGEN_CPU_LOWERING_H
#define FRIT_CODEGEN_CPU_LOWERING_H

#include "mlir/IR/BuiltinOps.h"

namespace frit::cpu {

/// Merges chains of elementwise linalg operations.
llvm::LogicalResult fuseLoops(mlir::ModuleOp module);

/// Bufferizes functions whose arguments are memrefs. What they allocate is
/// never freed.
llvm::LogicalResult bufferize(mlir::ModuleOp module);

/// Lowers what is bufferized and allocates nothing to the LLVM dialect.
/// Functions take bare pointers.
llvm::LogicalResult lowerToLLVM(mlir::ModuleOp module);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_LOWERING_H
