//===- LayoutPatterns.h - Transposes that sink through operators ----------===//

#ifndef FRIT_COMPILER_TRANSFORM_LAYOUT_LAYOUTPATTERNS_H
#define FRIT_COMPILER_TRANSFORM_LAYOUT_LAYOUTPATTERNS_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit {

/// Return the permutation from n×c×spatial to n×spatial×c, and back.
llvm::SmallVector<int64_t> toLast(int64_t rank);
llvm::SmallVector<int64_t> toFirst(int64_t rank);

/// Returns `list[perm[i]]` for every i.
llvm::SmallVector<int64_t> permuted(llvm::ArrayRef<int64_t> list,
                                    llvm::ArrayRef<int64_t> perm);

mlir::Value transposeToLast(nn::NNBuilder &builder, mlir::Value x);
mlir::Value transposeToFirst(nn::NNBuilder &builder, mlir::Value x);

/// Returns the channels-last value of which `value` is the transpose, or null.
mlir::Value channelsLast(mlir::Value value);

/// Adds the patterns that move a channels-first transpose from an operator's
/// operands to its result.
void populateLayout(mlir::RewritePatternSet &patterns);

/// Adds the pattern that turns norms of rows into group norms where channels
/// are last, if that pays (GroupNorm.cpp).
void populateGroupNorms(
    mlir::RewritePatternSet &patterns,
    std::function<bool(mlir::RankedTensorType x, int64_t groups)> pays);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_LAYOUT_LAYOUTPATTERNS_H
