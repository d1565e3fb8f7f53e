//===- TensorMaps.h - Descriptors of tensor copies for a GPU --------------===//

#ifndef FRIT_CUDA_TENSORMAPS_H
#define FRIT_CUDA_TENSORMAPS_H

#include "runtime/cuda/Driver.h"

namespace frit::cuda {

/// CUtensorMap: opaque, and a kernel's parameter as it is.
struct alignas(128) EncodedMap {
  uint8_t bytes[128];
};

/// Encodes `map` for a tensor that starts `map.offset` bytes behind `argument`.
Status encodeTensorMap(const Driver &driver, const artifact::TensorMap &map,
                       DevicePointer argument, EncodedMap &encoded);

} // namespace frit::cuda

#endif // FRIT_CUDA_TENSORMAPS_H
