//===- TensorMapCheck.h - Check descriptors of tensor copies --------------===//
//
// A tensor map describes memory through sizes and strides, and kernels copy
// whatever part of it they like. These check that all of it lies inside the
// step's argument, and that the driver can encode it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_EXEC_TENSORMAPCHECK_H
#define FRIT_EXEC_TENSORMAPCHECK_H

#include "frit/artifact.h"

#include <span>

namespace frit {

/// What is wrong with a map, whatever it is of; or null.
const char *checkTensorMap(const artifact::TensorMap &map);

/// What is wrong with such a map of a step with these arguments; or null.
const char *checkTensorMap(const artifact::TensorMap &map,
                           std::span<const artifact::Buffer> arguments);

} // namespace frit

#endif // FRIT_EXEC_TENSORMAPCHECK_H
