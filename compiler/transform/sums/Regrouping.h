//===- Regrouping.h - Rows of a reduction in parts ------------------------===//
//
// The rows that a reduction sums become parts × rows, so that each part can be
// summed by itself. Elementwise operators that only the reduction reads move to
// the new shape with it:
//
//   %p = nn.mul %dy, %x                     tensor<16384x768xf32>
// ==>
//   %0 = nn.reshape %dy, %1 = nn.reshape %x
//   %p = nn.mul %0, %1                      tensor<64x256x768xf32>
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_SUMS_REGROUPING_H
#define FRIT_COMPILER_TRANSFORM_SUMS_REGROUPING_H

#include "compiler/transform/sums/SumGroup.h"

namespace frit {

/// Moves the values that a group reads from its shape to one of the same
/// elements, in which the `leading` dimensions after the first `outer` ones are
/// parts × rows.
class Regrouping {
public:
  Regrouping(nn::NNBuilder &b, const SumGroup &group, int64_t parts);

  /// Returns `value` in the new shape; operators of the chain are computed
  /// there, equal ones once.
  mlir::Value regroup(mlir::Value value);
  /// The operators that were built, in order.
  llvm::SmallVector<mlir::Operation *> built;
  /// Values of the chain in the new shape.
  llvm::DenseMap<mlir::Value, mlir::Value> moved;

private:
  mlir::Value regroupRoot(mlir::Value value);
  mlir::Value regroupBroadcast(mlir::Value value);

  nn::NNBuilder &b;
  const SumGroup &group;
  llvm::DenseMap<mlir::Value, mlir::Value> roots; ///< in the new shape
  llvm::SmallVector<int64_t> from, to;
  size_t leading, outer;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_SUMS_REGROUPING_H
