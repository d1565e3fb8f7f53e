//===- Sampling.h - Sample images at computed positions -------------------===//

#ifndef FRIT_COMPILER_ONNX_OPS_SAMPLING_H
#define FRIT_COMPILER_ONNX_OPS_SAMPLING_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// Gathers elements of `image` (batch×channels×size) at flat positions that
/// broadcast to batch×channels×points.
Expr pick(Expr image, Expr places, int64_t points);

/// Returns the flat index row · width + column of whole positions. It is
/// computed in integers, as f32 does not hold all indices above 2^24.
Expr flatIndex(Expr row, int64_t width, Expr column);

/// In RoiAlign.cpp.
Results roiAlign(Node &node);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_OPS_SAMPLING_H
