//===- Order.h - Prefix sums, and sorting of long dimensions --------------===//

#ifndef FRIT_COMPILER_ONNX_INDEXING_ORDER_H
#define FRIT_COMPILER_ONNX_INDEXING_ORDER_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// Prefix sums or products along `axis`.
struct Cumulation {
  nn::Combiner kind = nn::Combiner::sum;
  bool isExclusive = false; ///< an element is not in its own result
  bool isReverse = false;   ///< from the end
};
Expr cumulate(Expr x, int64_t axis, const Cumulation &how = {});

/// Returns the indices (i64) of the first `k` elements of each row in ascending
/// or descending order. Stable.
Expr firstInOrder(Expr rows, int64_t k, bool isDescending);

/// Returns the number of x's type that is last in that order.
Expr lastInOrder(Expr x, bool isDescending);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_INDEXING_ORDER_H
