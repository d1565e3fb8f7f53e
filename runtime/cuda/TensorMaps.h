//===- TensorMaps.h - Encode TMA descriptors ------------------------------===//

#ifndef FRIT_RUNTIME_CUDA_TENSORMAPS_H
#define FRIT_RUNTIME_CUDA_TENSORMAPS_H

#include "runtime/cuda/Driver.h"

namespace frit::cuda {

/// CUtensorMap: opaque, passed to kernels by value.
struct alignas(128) EncodedMap {
  uint8_t bytes[128];
};

/// Encodes `map` for the argument at address `argument`; the tensor starts
/// `map.offset` bytes after it.
Status encodeTensorMap(const Driver &driver, const artifact::TensorMap &map,
                       DevicePointer argument, EncodedMap &encoded);

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_TENSORMAPS_H
