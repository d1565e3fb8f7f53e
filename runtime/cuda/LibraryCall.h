//===- LibraryCall.h - A step's call of cuBLASLt or cuDNN -----------------===//

#ifndef FRIT_CUDA_LIBRARYCALL_H
#define FRIT_CUDA_LIBRARYCALL_H

#include "runtime/cuda/CudaApi.h"
#include "runtime/exec/Status.h"

#include <span>
#include <string>
#include <vector>

namespace frit::cuda {

/// A step's library call: its descriptors and its algorithm.
class LibraryCall {
public:
  virtual ~LibraryCall() = default;

  /// Enqueues the call on `stream`. False if the library declined.
  virtual bool enqueue(std::span<const DevicePointer> arguments,
                       Stream stream) = 0;

  /// Advances to the next algorithm after a decline. False if there is none.
  virtual bool nextAlgorithm() = 0;

  /// Numbers of the algorithms that support the call, the library's favourite
  /// first. A number identifies the algorithm itself, not its rank, so a tuned
  /// choice is found again with another library version, or is absent.
  virtual std::vector<uint32_t> algorithms() const = 0;

  /// Names the library and its algorithm for reports.
  virtual std::string name() const = 0;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_LIBRARYCALL_H
