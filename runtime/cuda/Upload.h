//===- Upload.h - Many bytes to a GPU, fast -------------------------------===//

#ifndef FRIT_CUDA_UPLOAD_H
#define FRIT_CUDA_UPLOAD_H

#include "runtime/cuda/Driver.h"

#include <vector>

namespace frit::cuda {

/// Bytes of ordinary memory, which may be a file's that nobody has read yet.
struct Upload {
  DevicePointer to;
  const uint8_t *from;
  uint64_t bytes;
};

/// Copies all of them. Much is copied by several threads, each through pinned
/// memory of its own: what takes the time is to read the file's pages, not to
/// send them. The GPU's context must be current.
Status upload(const Gpu &gpu, const std::vector<Upload> &uploads);

} // namespace frit::cuda

#endif // FRIT_CUDA_UPLOAD_H
