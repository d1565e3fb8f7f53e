//===- Lowering.h - Upstream passes from linalg to LLVM -------------------===//

#ifndef FRIT_CODEGEN_CPU_LOWERING_H
#define FRIT_CODEGEN_CPU_LOWERING_H

#include "mlir/IR/BuiltinOps.h"

namespace frit::cpu {

/// Fuses chains of elementwise linalg operations.
llvm::LogicalResult fuseLoops(mlir::ModuleOp module);

/// Bufferizes functions whose arguments are memrefs. Allocations are not freed;
/// placeAllocations replaces them.
llvm::LogicalResult bufferize(mlir::ModuleOp module);

/// Lowers bufferized functions without allocations to the LLVM dialect. They
/// take bare pointers.
llvm::LogicalResult lowerToLLVM(mlir::ModuleOp module);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_LOWERING_H
