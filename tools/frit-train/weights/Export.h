//===- Export.h - Trained weights for other programs ----------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_EXPORT_H
#define FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_EXPORT_H

#include "tools/support/SafetensorsFile.h"

#include <string>
#include <vector>

namespace frit::train {

using namespace tools;

/// What is behind the name of a weight in that of its moving average.
inline constexpr const char *kAverageSuffix = "/ema";

/// Returns the model's own weights in a state. Leaves out the optimizer's
/// tensors of a weight (NAME/m beside NAME) and numbers that are no weights (of
/// rank 0, unless the optimizer has a tensor for them). A weight with a moving
/// average (NAME/ema) has the elements of that.
std::vector<TensorView> weightsOf(const std::vector<TensorView> &state);

/// Writes the weights to a safetensors file. Never overwrites an input (see
/// OutputFile.h) and leaves no partial file.
Fault exportSafetensors(const std::string &path,
                        const std::vector<TensorView> &weights);

/// Writes the ONNX model at `original` with new values of its initializers,
/// which are found by name and keep their types. Weights in other files become
/// part of the new file, and nodes in training mode change to inference mode.
/// Every weight must be found, with its shape. Otherwise as above.
///
/// With an empty `path`, only finds the weights; their elements are not read.
Fault exportOnnx(const std::string &path, const std::string &original,
                 const std::vector<TensorView> &weights);

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_EXPORT_H
