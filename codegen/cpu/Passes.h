//===- Passes.h - Host kernels to loops over buffers ----------------------===//
//
// Passes over the functions that lowerFusions() makes of a program's kernels,
// and upstream's passes between them. compiler/pipeline runs all in order.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CPU_PASSES_H
#define FRIT_CODEGEN_CPU_PASSES_H

#include "mlir/Pass/PassManager.h"

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace frit::cpu {

/// Attributes of the functions: the number of work items, the byte offsets of
/// the temporaries in the workspace, and its size in bytes.
inline constexpr llvm::StringLiteral kItems = "cpu.items";
inline constexpr llvm::StringLiteral kOffsets = "cpu.workspace_offsets";
inline constexpr llvm::StringLiteral kBytes = "cpu.workspace_bytes";

/// Attribute of a linalg operation that createMergeLoopsPass() made.
inline constexpr llvm::StringLiteral kMerged = "cpu.merged";

/// Attribute of an argument that gets a result: it is a state, of which the
/// result replaces rows along a dimension. An array of that dimension and the
/// number of the argument with the places of the rows.
inline constexpr llvm::StringLiteral kUpdate = "cpu.update";

/// Lets linalg operations read tensors as they were before dimensions of 1 were
/// added, such as what a reduction leaves: it then is fused into their tiles.
///
///   %m = reduce max %x; %e = expand_shape %m; %y[i, j] = %x[i, j] - %e[i, 0]
/// ==>
///   %m = reduce max %x; %y[i, j] = %x[i, j] - %m[i]
std::unique_ptr<mlir::Pass> createReadUnexpandedPass();

/// Adds passes that fuse chains of elementwise linalg operations, the first of
/// them the one above.
void addLoopFusionPasses(mlir::OpPassManager &passes);

/// Tiles the last linalg operation of a function and fuses everything before it
/// into the tiles. The function's last two arguments are the bounds of work
/// items; the outermost loop then runs from one to the other. `cpu.items` gets
/// the number of work items, its iterations.
///
///   func @k(%x, %begin, %end) { %m = reduce max %x; %y = sub %x, %m }
/// ==>
///   func @k(%x, %begin, %end) { scf.for %i = %begin to %end {
///     %row = extract_slice %x; %m = reduce max %row; sub %row, %m } }
///
/// If nothing can be tiled, leaves the function unchanged; it has one work
/// item. So has a function whose other operations stay before the loop, as
/// every range of items would repeat them, if they take long.
std::unique_ptr<mlir::Pass> createTileOuterLoopsPass();

/// Merges elementwise linalg operations of a block over the same elements into
/// one, where there are many. Each would become a loop, for which LLVM takes
/// milliseconds. Values that only the merged operations read are not stored.
///
///   %a = abs %x; %b = neg %a; %c = add %a, %b
/// ==>
///   %c = { abs, neg, add } %x
std::unique_ptr<mlir::Pass> createMergeLoopsPass();

/// Stores the results to the output memrefs and makes the function return
/// nothing. Rows that replace a part of a state are stored where they belong.
///
///   func @k(%x, %out: memref<4xf32>, %begin, %end) { return %y }
/// ==>
///   func @k(%x, %out: memref<4xf32>, %begin, %end) { materialize %y in %out }
std::unique_ptr<mlir::Pass> createStoreResultsPass();

/// Adds passes that bufferize functions whose arguments are memrefs.
/// Allocations are not freed; createPlaceAllocationsPass replaces them.
void addBufferizationPasses(mlir::OpPassManager &passes);

/// Replaces every allocation of a bufferized function. Small ones become stack
/// memory, up to a total limit; the others become arguments, added at the end,
/// and parts of a workspace: `cpu.workspace_offsets` and `cpu.workspace_bytes`.
/// Reports an error if a temporary has no static size or outlives an iteration
/// of the loop that allocates it.
///
///   func @k(%x) { scf.for ... { %t = memref.alloc() : memref<4xf32> ... }
///                 %u = memref.alloc() : memref<1000000xf32> ... }
/// ==>
///   func @k(%x, %u) { %t = memref.alloca() : memref<4xf32> ... }
std::unique_ptr<mlir::Pass> createPlaceAllocationsPass();

/// Makes one loop of the loop nest of an operation whose buffers are contiguous
/// if it was merged, which LLVM then compiles faster, or reduces everything.
///
///   linalg.generic ins(%x : memref<16x24xf32>) attrs = {cpu.merged}
/// ==>
///   %flat = memref.reinterpret_cast %x : memref<384xf32>
///   linalg.generic ins(%flat : memref<384xf32>)
std::unique_ptr<mlir::Pass> createFlattenLoopsPass();

/// Splits innermost loops where their index reaches a constant that the body
/// compares it with, as in a concatenation. LLVM vectorises what is left, which
/// selects nothing.
///
///   scf.for %i = 0 to 48 { %c = arith.cmpi slt, %i, 16
///                          %y = arith.select %c, %a, %b ... }
/// ==>
///   scf.for %i = 0 to 16 { ... %a ... }
///   scf.for %i = 16 to 48 { ... %b ... }
std::unique_ptr<mlir::Pass> createSplitLoopsPass();

/// Makes the passes above known to frit-opt.
void registerPasses();

/// Adds passes that lower bufferized functions without allocations to the LLVM
/// dialect, for `machine`, which createMachine() made of `arch`. They take bare
/// pointers.
void addLLVMPasses(mlir::OpPassManager &passes,
                   const llvm::TargetMachine &machine, llvm::StringRef arch);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_PASSES_H
