//===- IndexCheck.h - Check indices that a model computes -----------------===//

#ifndef FRIT_COMPILER_IMPORT_INDEXCHECK_H
#define FRIT_COMPILER_IMPORT_INDEXCHECK_H

#include "dialects/nn/IndexRange.h"
#include "dialects/nn/NN.h"

namespace frit {

/// Builds the number that makes a call fail if an index is out of range (see
/// artifact::Tensor). With several ranges, range i is that of index i of each
/// tuple. There is at least one index.
mlir::Value buildIndexCheck(nn::NNBuilder &b, mlir::Value indices,
                            llvm::ArrayRef<nn::IndexRange> ranges);

} // namespace frit

#endif // FRIT_COMPILER_IMPORT_INDEXCHECK_H
