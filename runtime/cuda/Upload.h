//===- Upload.h - Many bytes to a GPU, fast -------------------------------===//

#ifndef FRIT_CUDA_UPLOAD_H
#define FRIT_CUDA_UPLOAD_H

#include "runtime/cuda/Driver.h"

#include <memory>
#include <vector>

namespace frit::cuda {

/// Bytes of ordinary memory, which may be a file's that nobody has read yet.
struct Upload {
  DevicePointer to;
  const uint8_t *from;
  uint64_t bytes;
};

/// Copies again and again. Much is copied by several threads, each through
/// pinned memory of its own, which is kept: what takes the time is to read the
/// file's pages, not to send them. The GPU's context must be current, also
/// where one ends.
class Uploader {
public:
  explicit Uploader(const Gpu &gpu);
  Uploader(const Uploader &) = delete;
  ~Uploader();

  /// Copies all of them.
  Status upload(const std::vector<Upload> &uploads);

private:
  class Pieces;
  class Sender;

  const Gpu &gpu;
  std::vector<std::unique_ptr<Sender>> senders;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_UPLOAD_H
