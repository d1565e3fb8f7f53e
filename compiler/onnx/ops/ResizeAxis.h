//===- ResizeAxis.h - Resize images axis by axis --------------------------===//

#ifndef FRIT_COMPILER_ONNX_OPS_RESIZEAXIS_H
#define FRIT_COMPILER_ONNX_OPS_RESIZEAXIS_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// The resizing of one axis.
struct ResizeAxis {
  int64_t input, output;
  float scale;
  float length;             ///< of the result; with scales, see chooseLengths()
  float start = 0, end = 1; ///< of the region of interest
  bool hasSize = false;     ///< the result's size is given, not a scale
};

/// How elements between those of an image are found, as attributes say it;
/// `nearest` is "simple" before opset 11, which has no attribute for it.
struct ResizeRules {
  llvm::StringRef mode, nearest, coordinates;
  double cubic;
  bool excludesOutside, antialias;
};

/// Returns the number of elements that a result is a sum of.
int64_t countTaps(const ResizeAxis &axis, const ResizeRules &rules);

/// Resizes axes of x; `outside` is the extrapolation value. Marks the node as
/// failed where a region is not a number.
mlir::Value resizeAxes(Expr x,
                       llvm::ArrayRef<std::pair<int64_t, ResizeAxis>> axes,
                       const ResizeRules &rules, double outside);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_OPS_RESIZEAXIS_H
