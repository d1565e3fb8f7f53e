//===- IndexRange.h - Elements that are indices ---------------------------===//

#ifndef FRIT_DIALECTS_NN_INDEXRANGE_H
#define FRIT_DIALECTS_NN_INDEXRANGE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>

namespace frit::nn {

/// Elements of a tensor that a model takes as indices: those of a box, `sizes`
/// elements per dimension from `first` on, whose values are from `least` to
/// `most`, or `other`. An argument of @main has a list of them as its attribute
/// `nn.indices`; a result with `nn.count` that checks indices has one.
struct IndexRange {
  llvm::SmallVector<int64_t> first, sizes;
  int64_t least = 0, most = 0;
  std::optional<int64_t> other = std::nullopt;
  std::string use; ///< for messages: "node 'embed' indexes entries of 'x'"
  /// How the bounds of a call depend on the size of a symbol (number, factor,
  /// offset, divisor and shift, as in plan::Extent); empty if they do not.
  llvm::SmallVector<int64_t, 0> leastOf, mostOf;

  bool isSameBox(const IndexRange &range) const {
    return first == range.first && sizes == range.sizes;
  }
};

/// Returns a range for all elements of a tensor.
IndexRange wholeRange(llvm::ArrayRef<int64_t> shape, int64_t least,
                      int64_t most, std::string use);

/// Convert ranges to the attribute, and back.
mlir::ArrayAttr indicesAttr(mlir::MLIRContext &context,
                            llvm::ArrayRef<IndexRange> ranges);
llvm::SmallVector<IndexRange> indicesOf(mlir::ArrayAttr attribute);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_INDEXRANGE_H
