//===- TensorMapCheck.h - Check TMA descriptors ---------------------------===//
//
// A tensor map describes memory by sizes and strides, and a kernel may copy any
// part of it. These functions check that all of it is inside the step's
// argument and that the driver accepts the map.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_PLAN_TENSORMAPCHECK_H
#define FRIT_RUNTIME_PLAN_TENSORMAPCHECK_H

#include "frit/artifact.h"

#include <span>

namespace frit {

/// Returns the error in a map, regardless of its argument, or null.
const char *checkTensorMap(const artifact::TensorMap &map);

/// Returns the error in a map of a step with these arguments, or null.
const char *checkTensorMap(const artifact::TensorMap &map,
                           std::span<const artifact::Buffer> arguments);

} // namespace frit

#endif // FRIT_RUNTIME_PLAN_TENSORMAPCHECK_H
