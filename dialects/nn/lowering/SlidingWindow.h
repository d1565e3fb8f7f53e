//===- SlidingWindow.h - Windows of convolution and pooling ---------------===//

#ifndef FRIT_DIALECTS_NN_LOWERING_SLIDINGWINDOW_H
#define FRIT_DIALECTS_NN_LOWERING_SLIDINGWINDOW_H

#include "dialects/nn/lowering/Loops.h"

namespace frit::nn {

/// A window that slides over the spatial dimensions of a tensor. Every list has
/// one entry per spatial dimension, except `pads`: all leading pads, then all
/// trailing ones.
struct SlidingWindow {
  llvm::ArrayRef<int64_t> input, output, window, strides, pads, dilations;

  size_t rank() const { return window.size(); }

  /// Reports an error at `loc` if a list has the wrong length or an invalid
  /// number. Does not check `input` and `output`.
  llvm::LogicalResult check(std::optional<mlir::Location> loc,
                            size_t spatialRank) const;

  /// Returns the distance from the window's first to its last element.
  int64_t reach(size_t dim) const { return (window[dim] - 1) * dilations[dim]; }

  /// Returns whether some window overlaps the padding.
  bool leavesInput(size_t dim) const {
    return pads[dim] > 0 ||
           (output[dim] - 1) * strides[dim] - pads[dim] + reach(dim) >=
               input[dim];
  }
  bool leavesInput() const;

  /// Returns whether clamping an index under a window into the input always
  /// gives an index under the same window.
  bool clampsIntoWindow() const;

  /// Returns the input indices as affine functions of the output loops (from
  /// `firstOutput` on) and the window loops (from `firstWindow` on). Valid only
  /// if no window leaves the input.
  llvm::SmallVector<mlir::AffineExpr> places(mlir::MLIRContext *context,
                                             unsigned firstOutput,
                                             unsigned firstWindow) const;

  /// The input indices in a body, clamped into the input, and whether they were
  /// inside (null if they always are).
  struct Places {
    llvm::SmallVector<mlir::Value> indices;
    mlir::Value inside;
  };
  Places buildPlaces(mlir::ImplicitLocOpBuilder &b, unsigned firstOutput,
                     unsigned firstWindow) const;
};

/// Returns the dimensions of an image-like tensor between batch and channels.
inline llvm::ArrayRef<int64_t> spatialShape(mlir::Value x, bool channelsLast) {
  llvm::ArrayRef<int64_t> shape = shapeOf(x);
  return channelsLast ? shape.drop_front(1).drop_back(1) : shape.drop_front(2);
}

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_LOWERING_SLIDINGWINDOW_H
