//===- Contraction.h - Convolutions and Gemm ------------------------------===//

#ifndef FRIT_COMPILER_ONNX_OPS_CONTRACTION_H
#define FRIT_COMPILER_ONNX_OPS_CONTRACTION_H

#include "compiler/onnx/reader/Hooks.h"

namespace frit::importer {

/// Import Conv and Gemm.
Results conv(Node &node);
Results gemm(Node &node);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_OPS_CONTRACTION_H
