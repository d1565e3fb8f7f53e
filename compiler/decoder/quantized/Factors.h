//===- Factors.h - Scales and offsets of a matrix of codes ----------------===//

#ifndef FRIT_COMPILER_DECODER_QUANTIZED_FACTORS_H
#define FRIT_COMPILER_DECODER_QUANTIZED_FACTORS_H

#include "mlir/IR/BuiltinAttributes.h"

#include <optional>
#include <vector>

namespace frit::decoder {

/// Which columns share a scale. Blocks are equally long; a group may have
/// several, not necessarily equally many.
struct ColumnGroups {
  int64_t block = 1;           ///< columns
  std::vector<int32_t> groups; ///< of each block
  /// The place of each stored column among the columns, which are in the order
  /// of groups; empty: its own.
  std::vector<int32_t> places;
};

/// Returns groups of `size` columns each, the last maybe of fewer.
ColumnGroups evenGroups(int64_t columns, int64_t size);
/// Returns the groups of columns that belong to `groups`; none if these are not
/// all of 0 to `count - 1`.
std::optional<ColumnGroups> orderedGroups(llvm::ArrayRef<int32_t> groups,
                                          int64_t count);

/// Numbers by row and group.
struct Grid {
  int64_t rows, groups;
  std::vector<float> numbers;
};

/// Scales by row and block, and offsets if there are such.
struct Factors {
  mlir::ElementsAttr scales, offsets;
};

/// Makes the factors of `rows` rows, `together` of which share a row of the
/// grid. Their type is the first of f16, bf16 and f32 that has all of them.
/// `offsets` are in the grid's order; empty: there are none.
Factors makeFactors(llvm::StringRef name, int64_t rows, int64_t together,
                    const ColumnGroups &columns, const Grid &scales,
                    llvm::ArrayRef<float> offsets, mlir::MLIRContext &context);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_QUANTIZED_FACTORS_H
