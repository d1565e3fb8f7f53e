//===- LayoutPatterns.h - Transposes that sink through operators ----------===//

#ifndef FRIT_COMPILER_TRANSFORM_LAYOUT_LAYOUTPATTERNS_H
#define FRIT_COMPILER_TRANSFORM_LAYOUT_LAYOUTPATTERNS_H

#include "dialects/nn/NN.h"

namespace frit {

/// The permutation from n×c×spatial to n×spatial×c, and back.
llvm::SmallVector<int64_t> toLast(int64_t rank);
llvm::SmallVector<int64_t> toFirst(int64_t rank);

/// `list[perm[i]]` for every i.
llvm::SmallVector<int64_t> permuted(llvm::ArrayRef<int64_t> list,
                                    llvm::ArrayRef<int64_t> perm);

mlir::Value transposeToLast(nn::NNBuilder &builder, mlir::Value x);
mlir::Value transposeToFirst(nn::NNBuilder &builder, mlir::Value x);

/// Whether the strides of a convolution can become channels, and the
/// convolution, channels last, where they did.
bool canFoldStrideIntoChannels(nn::ConvOp conv);
nn::ConvOp foldStrideIntoChannels(nn::ConvOp conv);

/// Makes a convolution of one spatial dimension, or of three and of one group,
/// one of two; in place of three, channels last.
void makePlanar(nn::ConvOp conv);

/// Makes a convolution with its channels last and a filter for each an
/// nn.depthwise_conv.
void makeDepthwise(nn::ConvOp conv);

/// Adds the patterns that move a transpose to channels first from an operator's
/// operands to its result.
void populateLayout(mlir::RewritePatternSet &patterns);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_LAYOUT_LAYOUTPATTERNS_H
