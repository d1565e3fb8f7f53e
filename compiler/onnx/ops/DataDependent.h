//===- DataDependent.h - Results whose size the data decide ---------------===//
//
// They are built for the most entries there may be, with the number of those
// that there are (Node::count), and the rest are zeros or repeat an entry. What
// is known when compiling is for Known.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_OPS_DATADEPENDENT_H
#define FRIT_COMPILER_ONNX_OPS_DATADEPENDENT_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// Where a vector of zeros and ones has its ones, in order: `indices` is as
/// long as the vector, with zeros behind the `total` that there are.
struct Ones {
  Expr indices, total;
};
Ones findOnes(Expr mask);

Results countedNonZero(Node &node);
Results countedUnique(Node &node);
Results countedSuppression(Node &node);
/// x where `condition` holds along `axis`.
Results countedCompress(Expr x, Expr condition, int64_t axis);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_OPS_DATADEPENDENT_H
