//===- Tiling.h - One loop over independent work items --------------------===//

#ifndef FRIT_CODEGEN_CPU_TILING_H
#define FRIT_CODEGEN_CPU_TILING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit::cpu {

/// Tiles the last linalg operation of `function` and fuses everything before it
/// into the tiles. The function's last two arguments are the bounds of work
/// items; the outermost loop then runs from one to the other. Returns the
/// number of work items, its iterations.
///
///   func @k(%x, %begin, %end) { %m = reduce max %x; %y = sub %x, %m }
/// ==>
///   func @k(%x, %begin, %end) { scf.for %i = %begin to %end {
///     %row = extract_slice %x; %m = reduce max %row; sub %row, %m } }
///
/// If nothing can be tiled, leaves the function unchanged; it has one work
/// item.
int64_t tileOuterLoops(mlir::func::FuncOp function);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_TILING_H
