//===- Plan.h - The plan dialect ------------------------------------------===//

#ifndef FRIT_DIALECTS_PLAN_PLAN_H
#define FRIT_DIALECTS_PLAN_PLAN_H

#include "frit/artifact.h"

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

/// Returns the bytes of a dense buffer or tensor; a bool takes one byte.
uint64_t byteSize(mlir::Type type);

/// Returns the runtime's name of an element type.
artifact::DType dtypeOf(mlir::Type element);

/// The attribute of a fusion whose kernel takes several sets of arguments, and
/// the most that it may say.
inline constexpr llvm::StringLiteral kBatch = "plan.batch";
inline constexpr int64_t kMostBatch = 64;

/// Returns the sets of arguments of a launch of a fusion's kernel.
int64_t batchOf(mlir::Operation *fusion);

namespace detail {
/// Verifies that a step's `follows`, if there is one, lists numbers in
/// ascending order.
llvm::LogicalResult verifyFollows(mlir::Operation *step);
} // namespace detail

} // namespace frit::plan

namespace frit::artifact {
llvm::hash_code hash_value(const TensorMap &map);
} // namespace frit::artifact

#include "dialects/plan/Dialect.h.inc"

#include "dialects/plan/Enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/plan/Attributes.h.inc"

#include "dialects/plan/StepInterface.h.inc"

#define GET_OP_CLASSES
#include "dialects/plan/Plan.h.inc"

namespace frit::plan {

/// Returns the plan.buffer under all views, and the byte offset of `buffer` in
/// it.
BufferOp rootOf(mlir::Value buffer, uint64_t *offset = nullptr);

/// Return the buffers that a step reads and writes. A workspace counts as
/// written.
inline llvm::SmallVector<mlir::Value> readsOf(mlir::Operation *step) {
  return llvm::cast<StepOp>(step).getReads();
}
inline llvm::SmallVector<mlir::Value> writesOf(mlir::Operation *step) {
  return llvm::cast<StepOp>(step).getWrites();
}

/// Returns the kernel that a step launches, or falls back on; null if none.
mlir::FlatSymbolRefAttr kernelOf(mlir::Operation *step);
/// Replaces the kernel of a step that has one.
void setKernel(mlir::Operation *step, mlir::FlatSymbolRefAttr kernel);

/// Returns whether `op` is a step, not a buffer or view.
inline bool isStep(mlir::Operation *op) { return llvm::isa<StepOp>(op); }

/// Returns the steps of a list or guard in the order they run. A guard is
/// followed by the steps it guards.
llvm::SmallVector<mlir::Operation *> stepsOf(mlir::Operation *list);

/// Numbers of steps, ascending.
using Follows = llvm::SmallVector<int64_t, 2>;

/// Returns, for each step of a list, what it follows without the attribute
/// `follows`: the step before it in its block, or the guard that it begins.
std::vector<Follows> defaultFollows(llvm::ArrayRef<mlir::Operation *> steps);

/// Returns, for each step of a list, the steps that it follows.
std::vector<Follows> followsOf(llvm::ArrayRef<mlir::Operation *> steps);

/// Sets what each step of a list follows. A step that follows what it does
/// without the attribute loses it.
void setFollows(llvm::ArrayRef<mlir::Operation *> steps,
                llvm::ArrayRef<Follows> follows);

/// Returns the names of the model's nodes in a step's location, each once.
llvm::SmallVector<llvm::StringRef> nodesOf(mlir::Location loc);
/// Returns the same as one text: "conv1, relu".
std::string nodeNames(mlir::Location loc);

} // namespace frit::plan

#endif // FRIT_DIALECTS_PLAN_PLAN_H
