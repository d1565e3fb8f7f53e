//===- SlidingWindow.h - What convolution and pooling share ---------------===//

#ifndef FRIT_DIALECTS_NN_SLIDINGWINDOW_H
#define FRIT_DIALECTS_NN_SLIDINGWINDOW_H

#include "dialects/nn/Loops.h"

namespace frit::nn {

/// A window that slides over the spatial dimensions of a tensor. Every list has
/// an entry per spatial dimension but `pads`, which has all the leading pads
/// and then all the trailing ones.
struct SlidingWindow {
  llvm::ArrayRef<int64_t> input, output, window, strides, pads, dilations;

  size_t rank() const { return window.size(); }

  /// An error at `loc` where a list has the wrong length or a number that
  /// cannot be. `input` and `output` are not looked at.
  llvm::LogicalResult check(std::optional<mlir::Location> loc,
                            size_t spatialRank) const;

  /// How far the window reaches from its first element.
  int64_t reach(size_t dim) const { return (window[dim] - 1) * dilations[dim]; }

  /// Whether the window ever lies on elements that are not there.
  bool leavesInput(size_t dim) const {
    return pads[dim] > 0 ||
           (output[dim] - 1) * strides[dim] - pads[dim] + reach(dim) >=
               input[dim];
  }
  bool leavesInput() const;

  /// Whether a place under the window that is moved to the nearest in the input
  /// is always under the same window.
  bool clampsIntoWindow() const;

  /// The places in the input as an affine function of the loops `firstOutput`
  /// and following over the output and `firstWindow` and following over the
  /// window; right only where the window never leaves the input.
  llvm::SmallVector<mlir::AffineExpr> places(mlir::MLIRContext *context,
                                             unsigned firstOutput,
                                             unsigned firstWindow) const;

  /// The same in a body, moved into the input, and whether they were there to
  /// begin with (null where they always are).
  struct Places {
    llvm::SmallVector<mlir::Value> indices;
    mlir::Value inside;
  };
  Places buildPlaces(mlir::ImplicitLocOpBuilder &b, unsigned firstOutput,
                     unsigned firstWindow) const;
};

/// The dimensions of an image-like tensor between its batch and its channels.
inline llvm::ArrayRef<int64_t> spatialShape(mlir::Value x, bool channelsLast) {
  llvm::ArrayRef<int64_t> shape = shapeOf(x);
  return channelsLast ? shape.drop_front(1).drop_back(1) : shape.drop_front(2);
}

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_SLIDINGWINDOW_H
