//===- ColumnSums.h - The second step of reductions over rows -------------===//
//
// The first step of long reductions leaves a row of results per part. The
// kernel that reduces these rows also computes what follows for each column:
//
//   %s = nn.reduce %partial {axes = [0]}   %partial: tensor<64x1024xf32>
//   %m = nn.mul (nn.reshape %s), 0.5       tensor<1024xf32>
//   %n = nn.add %m, %bias                  tensor<1024xf32>
// ==>
//   %f:3 = nn.fusion(%partial, %bias) { nn.reduce … nn.mul … nn.add … }
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_SUMS_COLUMNSUMS_H
#define FRIT_COMPILER_TRANSFORM_SUMS_COLUMNSUMS_H

#include "compiler/transform/fusion/FusionGroups.h"

namespace frit {

namespace nn {
struct ColumnMomentsRewrite;
} // namespace nn

/// Operators of one kernel over the columns of tensors of the same shape. The
/// builder's insertion point stays before whatever reads their results.
class ColumnSums {
public:
  explicit ColumnSums(nn::NNBuilder &b) : b(b) {}

  /// Reduces dimension `axis` of `x`, which becomes size 1.
  mlir::Value reduce(mlir::Value x, nn::Combiner kind, int64_t axis = 0) {
    return own(b.reduce(x, kind, axis));
  }
  /// Adds the operator that defines `value`, a number per column, to the
  /// kernel.
  mlir::Value own(mlir::Value value);
  /// Likewise for a value with an element per row and column.
  mlir::Value ownWide(mlir::Value value) {
    ops.push_back(value.getDefiningOp());
    return value;
  }
  /// Replaces the result of `op` by `value`, which belongs to the kernel.
  void replace(mlir::Operation *op, mlir::Value value);
  /// Creates the kernel's fusion.
  void fuse();

private:
  void addFollowers();
  mlir::Value inColumns(mlir::Value operand) const;
  bool isReady(mlir::Value operand) const;
  bool follows(mlir::Operation *op) const;

  nn::NNBuilder &b;
  llvm::SmallVector<mlir::Operation *> ops; ///< the first one reduces
  /// The kernel's values, by values of the graph with the same elements in
  /// another shape.
  llvm::DenseMap<mlir::Value, mlir::Value> columns;
};

/// Computes the means and variances of channels (nn.batch_mean and
/// nn.batch_variance) that the target splits. `moments` may be null.
void splitBatchStatistics(mlir::Block &block,
                          llvm::function_ref<int64_t(nn::ReduceOp)> partsOf,
                          const nn::ColumnMomentsRewrite *moments);

/// Computes the means and variances of groups of channels (nn.group_mean and
/// nn.group_variance) that the target keeps. `moments` may be null.
void splitGroupStatistics(mlir::Block &block,
                          llvm::function_ref<int64_t(nn::ReduceOp)> partsOf,
                          const nn::ColumnMomentsRewrite *moments);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_SUMS_COLUMNSUMS_H
