//===- QuantizedImages.h - Convolutions of images in bytes ----------------===//
//
// Images have few channels, of which TMA cannot read single pixels. Several
// pixels become one.

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_QUANTIZEDIMAGES_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_QUANTIZEDIMAGES_H

#include "dialects/nn/NN.h"
#include "dialects/nn/rewrites/QuantizedConvs.h"

namespace frit {

/// Lists of a convolution; empty of a product of matrices.
struct ConvWindows {
  llvm::SmallVector<int64_t> strides = {}, pads = {}, dilations = {};
  int64_t group = 1;
};

/// The bytes of a convolution and their zero points; null: 0.
struct ConvBytes {
  mlir::Value x, w, zeroX, zeroW;
};

/// Makes one pixel of each 2 × 2 of an image with channels first, where windows
/// begin at every other pixel of both dimensions, and puts channels last. x is
/// padded in memory by its zero point. `result` is y's height and width.
/// Returns false, and changes nothing, if that is not possible.
bool foldSquares(nn::NNBuilder &b, ConvBytes &bytes,
                 llvm::ArrayRef<int64_t> result, ConvWindows &windows,
                 const nn::QuantizedRewrite &wanted);

/// Makes one pixel of two where every other pixel of a row with few channels
/// is the first of a window. x is padded in memory by its zero point, to half
/// of the pair's channels and to what windows reach. Of the result's rows, each
/// has `columns` pixels.
void pairPixels(nn::NNBuilder &b, ConvBytes &bytes, int64_t columns,
                ConvWindows &windows, const nn::QuantizedRewrite &wanted);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_QUANTIZEDIMAGES_H
