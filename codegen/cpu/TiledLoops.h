//===- TiledLoops.h - Which loops of a kernel are tiled --------*- C++ -* -===//
//
// Internal to codegen/cpu.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CPU_TILEDLOOPS_H
#define FRIT_CODEGEN_CPU_TILEDLOOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseSet.h"

namespace frit::cpu {

/// Returns the number of iterations of all loops of `op`.
int64_t countIterations(mlir::linalg::LinalgOp op);

/// How the last operation of a kernel is tiled.
struct TiledLoops {
  /// The tile size, 1 or 0 (not tiled), of each of its loops.
  llvm::SmallVector<int64_t> sizes;
  /// Reductions that stay before the tiles: each tile would repeat them, since
  /// they do not depend on all tiled loops.
  llvm::DenseSet<mlir::Operation *> outside;
};

/// Tiles leading parallel loops until one tile remains, but never the last,
/// contiguous one. Leaves out loops of one iteration, since the outermost tiled
/// loop becomes work items, and loops along which a reduction does not vary
/// that takes long beside the last operation.
///
///   %m = reduce max %x along 1; %y[b, c, h, w] = %x[b, c, h, w] - %m[b, h, w]
/// ==>
///   b and h are tiled
TiledLoops chooseTiledLoops(mlir::linalg::LinalgOp last);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_TILEDLOOPS_H
