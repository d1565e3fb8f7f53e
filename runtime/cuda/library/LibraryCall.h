//===- LibraryCall.h - A step's call of cuBLASLt or cuDNN -----------------===//

#ifndef FRIT_RUNTIME_CUDA_LIBRARY_LIBRARYCALL_H
#define FRIT_RUNTIME_CUDA_LIBRARY_LIBRARYCALL_H

#include "runtime/cuda/CudaApi.h"
#include "runtime/exec/Status.h"

#include <algorithm>
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

  /// Returns the numbers of the algorithms that support the call, in the
  /// library's order of preference. A number identifies the algorithm itself,
  /// not its rank. So a tuned choice is found again with another library
  /// version, or is absent.
  virtual std::vector<uint32_t> algorithms() const = 0;

  /// Names the library and its algorithm for reports.
  virtual std::string name() const = 0;
};

/// A call whose algorithms are all known once it is prepared.
template <class Algorithm> class ListedCall : public LibraryCall {
public:
  bool nextAlgorithm() final { return ++chosen < candidates.size(); }

  std::vector<uint32_t> algorithms() const final {
    std::vector<uint32_t> numbers;
    for (const Algorithm &candidate : candidates)
      numbers.push_back(numberOf(candidate));
    return numbers;
  }

protected:
  /// Returns the algorithm's number; never 0.
  virtual uint32_t numberOf(const Algorithm &algorithm) const = 0;

  /// Moves the algorithm with this number to the front, if there is one.
  void prefer(uint32_t number) {
    auto found = std::ranges::find_if(candidates, [&](const auto &candidate) {
      return numberOf(candidate) == number;
    });
    if (found != candidates.end())
      std::rotate(candidates.begin(), found, found + 1);
  }

  const Algorithm &used() const { return candidates[chosen]; }

  /// Algorithms in order of preference.
  std::vector<Algorithm> candidates;

private:
  size_t chosen = 0;
};

inline void *pointer(DevicePointer address) {
  return reinterpret_cast<void *>(address);
}

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_LIBRARY_LIBRARYCALL_H
