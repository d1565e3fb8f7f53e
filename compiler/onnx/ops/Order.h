//===- Order.h - Running sums and order along long dimensions -------------===//

#ifndef FRIT_COMPILER_ONNX_OPS_ORDER_H
#define FRIT_COMPILER_ONNX_OPS_ORDER_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// The sums, or products, of all elements up to each along `axis`.
struct Cumulation {
  nn::Combiner kind = nn::Combiner::sum;
  bool isExclusive = false; ///< an element is not in its own result
  bool isReverse = false;   ///< from the end
};
Expr cumulate(Expr x, int64_t axis, const Cumulation &how = {});

/// Where in each row of a table the first `k` elements in order are, as i64:
/// ascending or descending, equal ones in the order of their places.
Expr firstInOrder(Expr rows, int64_t k, bool isDescending);

/// A number of x's type that no element comes after.
Expr lastInOrder(Expr x, bool isDescending);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_OPS_ORDER_H
