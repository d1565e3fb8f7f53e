//===- Contraction.h - Convolutions and Gemm ------------------------------===//

#ifndef FRIT_COMPILER_ONNX_OPS_CONTRACTION_H
#define FRIT_COMPILER_ONNX_OPS_CONTRACTION_H

#include "compiler/onnx/reader/Hooks.h"

namespace frit::importer {

/// Import Conv and Gemm.
Results conv(Node &node);
Results gemm(Node &node);

/// Returns input `i`, a weight of a contraction of `x`. PyTorch's exporter
/// folds batch norms into weights of bf16 in f32 and leaves them so, which ONNX
/// does not allow: they become bf16 again.
mlir::Value weightFor(Node &node, mlir::Value x, size_t i);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_OPS_CONTRACTION_H
