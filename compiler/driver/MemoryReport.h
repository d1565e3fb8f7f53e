//===- MemoryReport.h - --memory-report -----------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_MEMORYREPORT_H
#define FRIT_COMPILER_DRIVER_MEMORYREPORT_H

#include "mlir/IR/BuiltinOps.h"

namespace frit {

/// Prints, for every program of `plans`, the memory that a module and a context
/// take, the arena's lower bound, and the largest buffers live at the peak.
void reportMemory(mlir::ModuleOp plans, llvm::raw_ostream &os);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_MEMORYREPORT_H
