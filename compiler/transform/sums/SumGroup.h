//===- SumGroup.h - Reductions that share a kernel ------------------------===//
//
// Reductions of one tensor, or of elementwise functions of it, read it once if
// they share a kernel:
//
//   %a = nn.reduce %dy, %b = nn.reduce (nn.mul %dy, %x)
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_SUMS_SUMGROUP_H
#define FRIT_COMPILER_TRANSFORM_SUMS_SUMGROUP_H

#include "dialects/nn/NN.h"

#include "llvm/ADT/SetVector.h"

namespace frit {

namespace nn {
struct SplitReductionsRewrite;
} // namespace nn

/// Reductions of the same dimensions that share a kernel, and the elementwise
/// operators that only they read.
struct SumGroup {
  llvm::SmallVector<nn::ReduceOp> sums;
  /// Number of dimensions, after the first `outer` ones, that become parts ×
  /// rows in the kernel.
  size_t leading = 0, outer = 0;
  /// Operators of the chain that others read later.
  llvm::SetVector<mlir::Operation *> stored;
  llvm::SetVector<mlir::Operation *> chain; ///< readers first
  llvm::SetVector<mlir::Value> roots;       ///< what the chain reads

  /// Finds the chain: elementwise operators of the reduced shape that are
  /// stored or all of whose readers belong to the group.
  void findChain();
  /// Adds the reductions of `all` from `next` on that fit, read one of the
  /// group's tensors and can be computed where the group's first reduction is.
  /// `places` are those of the reductions that no group has.
  void addOthers(llvm::ArrayRef<nn::ReduceOp> all,
                 const llvm::DenseMap<mlir::Operation *, size_t> &places,
                 size_t next, llvm::function_ref<bool(nn::ReduceOp)> fits);

private:
  llvm::SmallVector<size_t>
  findReaders(const llvm::DenseMap<mlir::Operation *, size_t> &places,
              size_t next);
  bool tryAdd(nn::ReduceOp sum);
};

/// Returns whether an operand that broadcasts to `from` still does if the
/// `leading` dimensions after the first `outer` ones become parts × rows.
bool canRegroup(mlir::Value value, llvm::ArrayRef<int64_t> from, size_t leading,
                size_t outer = 0);

/// Splits reductions of leading and trailing dimensions such that the trailing
/// ones are reduced first, if the target wants parts (RowSums.cpp).
void sumRowsFirst(mlir::Block &block,
                  const nn::SplitReductionsRewrite &rewrite);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_SUMS_SUMGROUP_H
