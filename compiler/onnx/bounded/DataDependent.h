//===- DataDependent.h - Operators with data-dependent shapes -------------===//
//
// Results have the upper bound of their size, and Node::count marks the number
// of valid entries; the rest are zeros or repeat an entry. Constant operands
// are handled by Known.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_BOUNDED_DATADEPENDENT_H
#define FRIT_COMPILER_ONNX_BOUNDED_DATADEPENDENT_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// The indices of the ones in a vector of zeros and ones. `indices` has the
/// vector's length; entries from `total` on are 0.
struct Ones {
  Expr indices, total;
};
Ones findOnes(Expr mask);

Results dataDependentNonZero(Node &node);
Results dataDependentUnique(Node &node);
Results dataDependentSuppression(Node &node);
/// Selects slices of x along `axis` where `condition` holds.
Results dataDependentCompress(Expr x, Expr condition, int64_t axis);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_BOUNDED_DATADEPENDENT_H
