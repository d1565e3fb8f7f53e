//===- PasteMasks.h - The loop that pastes masks into an image ------------===//

#ifndef FRIT_COMPILER_ONNX_DETECTION_PASTEMASKS_H
#define FRIT_COMPILER_ONNX_DETECTION_PASTEMASKS_H

#include "compiler/onnx/reader/Node.h"

namespace frit::importer {

/// Imports a Loop that resizes each mask to its box, a size that the data
/// decide, and pastes it into an image of zeros. Returns the images of all
/// masks; none, without an error, if `body` is another loop's.
std::optional<Results> pasteMasks(Node &loop, const ::onnx::GraphProto &body);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_DETECTION_PASTEMASKS_H
