//===- Workspace.h - Where a kernel keeps its temporaries -----------------===//

#ifndef FRIT_CODEGEN_CPU_WORKSPACE_H
#define FRIT_CODEGEN_CPU_WORKSPACE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit::cpu {

/// The temporaries that a kernel is given: bytes from the start of its
/// workspace, for each of the function's last arguments.
struct Workspace {
  llvm::SmallVector<int64_t> offsets;
  int64_t bytes = 0; ///< a multiple of artifact::kAlignment
};

/// Replaces every allocation of a bufferized function. The small ones become
/// stack memory, up to a limit for all together; the others become arguments
/// behind the last one. Fails, after an error, where a temporary has no fixed
/// size or outlives an iteration of the loop that allocates it.
///
///   func @k(%x) { scf.for ... { %t = memref.alloc() : memref<4xf32> ... }
///                 %u = memref.alloc() : memref<1000000xf32> ... }
/// ==>
///   func @k(%x, %u) { %t = memref.alloca() : memref<4xf32> ... }
mlir::FailureOr<Workspace> placeAllocations(mlir::func::FuncOp function);

/// How many calls of a kernel may run at the same time: one for each of its
/// work items, unless the workspaces of so many would take more memory than
/// its tensors, of `tensorBytes`, and than is worth it.
int64_t countWorkspaces(const Workspace &workspace, int64_t items,
                        int64_t tensorBytes);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_WORKSPACE_H
