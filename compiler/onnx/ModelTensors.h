//===- ModelTensors.h - All tensors of an ONNX file -----------------------===//
//
// Needs no MLIR and no LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_MODELTENSORS_H
#define FRIT_COMPILER_ONNX_MODELTENSORS_H

#include "compiler/onnx/onnx.pb.h"

#include <string>
#include <vector>

namespace frit {

/// Returns the tensors that a model stores: initializers and attributes, in
/// subgraphs and functions too, whether or not anything reads them. They belong
/// to the model.
std::vector<onnx::TensorProto *> findTensors(onnx::ModelProto &model);

/// Returns the location of a tensor's external data, relative to the model's
/// folder; empty if the model holds the data itself.
std::string externalLocation(const onnx::TensorProto &tensor);

} // namespace frit

#endif // FRIT_COMPILER_ONNX_MODELTENSORS_H
