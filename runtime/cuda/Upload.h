//===- Upload.h - Upload weights to a GPU ---------------------------------===//

#ifndef FRIT_RUNTIME_CUDA_UPLOAD_H
#define FRIT_RUNTIME_CUDA_UPLOAD_H

#include "runtime/cuda/Driver.h"

#include <memory>
#include <vector>

namespace frit::cuda {

/// A copy from pageable memory, for example from a mapped file that is not in
/// the page cache.
struct Upload {
  DevicePointer to;
  const uint8_t *from;
  uint64_t bytes;
};

/// Copies host memory to a GPU. Large uploads use several threads, each with
/// its own pinned buffer, which is kept for the next upload: reading the file's
/// pages takes longer than sending them. The GPU's context must be current,
/// also in the destructor.
class Uploader {
public:
  explicit Uploader(const Gpu &gpu);
  Uploader(const Uploader &) = delete;
  ~Uploader();

  /// Copies everything and waits for completion.
  Status upload(const std::vector<Upload> &uploads);

private:
  class Pieces;
  class Sender;

  const Gpu &gpu;
  std::vector<std::unique_ptr<Sender>> senders;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_UPLOAD_H
