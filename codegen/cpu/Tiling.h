//===- Tiling.h - One loop over independent work items --------------------===//

#ifndef FRIT_CODEGEN_CPU_TILING_H
#define FRIT_CODEGEN_CPU_TILING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit::cpu {

/// Tiles the last linalg operation of `function`, whose last two arguments are
/// the bounds of work items, with everything before it fused into the tiles,
/// and returns the number of work items: iterations of the outermost loop,
/// which runs from one bound to the other.
///
///   func @k(%x, %begin, %end) { %m = reduce max %x; %y = sub %x, %m }
/// ==>
///   func @k(%x, %begin, %end) { scf.for %i = %begin to %end {
///     %row = extract_slice %x; %m = reduce max %row; sub %row, %m } }
///
/// Where nothing can be tiled the function is left alone and has one item.
int64_t tileOuterLoops(mlir::func::FuncOp function);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_TILING_H
