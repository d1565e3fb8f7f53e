//===- Workspace.h - Memory of a kernel's temporaries ---------------------===//

#ifndef FRIT_CODEGEN_CPU_WORKSPACE_H
#define FRIT_CODEGEN_CPU_WORKSPACE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit::cpu {

/// Layout of a workspace: byte offsets of the temporaries that the function
/// takes as its last arguments.
struct Workspace {
  llvm::SmallVector<int64_t> offsets;
  int64_t bytes = 0; ///< a multiple of artifact::kAlignment
};

/// Replaces every allocation of a bufferized function. Small ones become stack
/// memory, up to a total limit; the others become arguments, added at the end.
/// Reports an error if a temporary has no static size or outlives an iteration
/// of the loop that allocates it.
///
///   func @k(%x) { scf.for ... { %t = memref.alloc() : memref<4xf32> ... }
///                 %u = memref.alloc() : memref<1000000xf32> ... }
/// ==>
///   func @k(%x, %u) { %t = memref.alloca() : memref<4xf32> ... }
mlir::FailureOr<Workspace> placeAllocations(mlir::func::FuncOp function);

/// Returns the number of concurrent calls of a kernel: one per work item, but
/// fewer if their workspaces would take more memory than the kernel's tensors
/// (`tensorBytes`) and a fixed limit.
int64_t countWorkspaces(const Workspace &workspace, int64_t items,
                        int64_t tensorBytes);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_WORKSPACE_H
