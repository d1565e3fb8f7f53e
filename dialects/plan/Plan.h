//===- Plan.h - The plan dialect ------------------------------------------===//

#ifndef FRIT_DIALECTS_PLAN_PLAN_H
#define FRIT_DIALECTS_PLAN_PLAN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace frit::plan {
class CommandListOp;

/// Bytes of a buffer, or of a tensor in one: dense, a bool takes one.
uint64_t byteSize(mlir::Type type);

} // namespace frit::plan

#include "dialects/plan/Dialect.h.inc"

#include "dialects/plan/Enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/plan/Attributes.h.inc"

#define GET_OP_CLASSES
#include "dialects/plan/Plan.h.inc"

namespace frit::plan {

/// The buffer under any views of it, and the byte offset of `buffer` in it.
BufferOp rootOf(mlir::Value buffer, uint64_t *offset = nullptr);

/// What a step reads and writes; a step's workspace is written.
llvm::SmallVector<mlir::Value> readsOf(mlir::Operation *step);
llvm::SmallVector<mlir::Value> writesOf(mlir::Operation *step);

/// Whether `op` is a step, not a buffer or a view.
bool isStep(mlir::Operation *op);

/// The steps of a list or guard in the order they run; what a guard holds comes
/// behind it.
llvm::SmallVector<mlir::Operation *> stepsOf(mlir::Operation *list);

/// The model's nodes a step computes, from its location: "conv1, relu".
std::string nodeNames(mlir::Location loc);

} // namespace frit::plan

#endif // FRIT_DIALECTS_PLAN_PLAN_H
