//===- Workspace.h - Memory of a kernel's temporaries ---------------------===//

#ifndef FRIT_CODEGEN_CPU_WORKSPACE_H
#define FRIT_CODEGEN_CPU_WORKSPACE_H

#include "llvm/ADT/SmallVector.h"

namespace frit::cpu {

/// Layout of a workspace: byte offsets of the temporaries that the function
/// takes as its last arguments.
struct Workspace {
  llvm::SmallVector<int64_t> offsets;
  int64_t bytes = 0; ///< a multiple of artifact::kAlignment
};

/// Returns the number of concurrent calls of a kernel: one per work item, but
/// fewer if their workspaces would take more memory than the kernel's tensors
/// (`tensorBytes`) and a fixed limit.
int64_t countWorkspaces(const Workspace &workspace, int64_t items,
                        int64_t tensorBytes);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_WORKSPACE_H
