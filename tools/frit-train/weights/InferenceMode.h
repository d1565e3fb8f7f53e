//===- InferenceMode.h - An ONNX model in inference mode ------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_INFERENCEMODE_H
#define FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_INFERENCEMODE_H

#include "compiler/onnx/onnx.pb.h"

namespace frit::train {

/// Puts all nodes in inference mode, as if the model had been exported so:
/// Dropout drops nothing, and BatchNormalization reads its running statistics.
void setInferenceMode(onnx::ModelProto &model);

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_INFERENCEMODE_H
