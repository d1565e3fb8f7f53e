//===- TensorMapCheck.h - Check TMA descriptors ---------------------------===//
//
// A tensor map describes memory by sizes and strides, and a kernel may copy any
// part of it. These functions check that all of it lies inside the step's
// argument, and that the driver accepts it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_EXEC_TENSORMAPCHECK_H
#define FRIT_EXEC_TENSORMAPCHECK_H

#include "frit/artifact.h"

#include <span>

namespace frit {

/// Returns what is wrong with a map, independent of its argument, or null.
const char *checkTensorMap(const artifact::TensorMap &map);

/// Returns what is wrong with a map of a step with these arguments, or null.
const char *checkTensorMap(const artifact::TensorMap &map,
                           std::span<const artifact::Buffer> arguments);

} // namespace frit

#endif // FRIT_EXEC_TENSORMAPCHECK_H
