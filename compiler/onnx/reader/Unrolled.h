//===- Unrolled.h - Steps of unrolled loops -------------------------------===//

#ifndef FRIT_COMPILER_ONNX_READER_UNROLLED_H
#define FRIT_COMPILER_ONNX_READER_UNROLLED_H

#include "compiler/onnx/reader/Hooks.h"

namespace frit::importer {

/// Returns whether all values are tensors of numbers; reports an error
/// otherwise. Only these can be selected by data, as by `condition` if it is
/// not null, or joined.
bool areTensors(Node &node, mlir::ValueRange values,
                mlir::Value condition = {});

/// Joins the values of all steps along a new dimension. Null, after an error,
/// if that is impossible.
mlir::Value stackSteps(Node &node, llvm::ArrayRef<mlir::Value> steps,
                       int64_t axis);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_UNROLLED_H
