//===- Weights.h - Host memory of a model's original weights --------------===//

#ifndef FRIT_RUNTIME_EXEC_WEIGHTS_H
#define FRIT_RUNTIME_EXEC_WEIGHTS_H

#include "runtime/plan/PlanView.h"

#include <map>
#include <string>
#include <vector>

namespace frit {

/// Returns the path of the file that has a constant's bytes, with external
/// weights in `folder`; "" if the image has them.
std::string weightFile(const PlanView &plan, const artifact::Constant &constant,
                       const std::string &folder);

/// A constant's memory that the program provides.
struct GivenWeight {
  const void *data = nullptr; ///< null: not given
  frit_location location = FRIT_HOST;
};

/// Bytes of every constant of a plan: in the image, in memory-mapped files,
/// which this owns, or in memory that the program provides.
class Weights {
public:
  Weights() = default;
  Weights(const Weights &) = delete;
  Weights &operator=(const Weights &) = delete;
  ~Weights() { release(); }

  /// Uses the program's memory for constants, found by name, from the next
  /// `open` on. Sets `changed` to their indices. On failure, because a tensor
  /// does not fit, nothing changes.
  Status give(const PlanView &plan, std::span<const frit_tensor> tensors,
              std::vector<uint32_t> &changed);

  /// Maps the files of constants that the program does not provide, at the
  /// plan's paths relative to `folder`, and checks their sizes.
  Status open(const PlanView &plan, const frit_image &image,
              const std::string &folder);

  /// Returns the memory of constant `index`, on the host unless isOnDevice. It
  /// may be unaligned if it is from a file or the program.
  const void *data(uint32_t index) const { return pointers[index]; }
  /// Returns whether the program gives constant `index` in memory of the
  /// device.
  bool isOnDevice(uint32_t index) const {
    return index < given.size() && given[index].data &&
           given[index].location == FRIT_DEVICE;
  }

  /// Unmaps the files. Call it once every constant is on the device.
  void release();

private:
  struct Mapping {
    void *data = nullptr;
    uint64_t bytes = 0;
  };

  Status map(const std::string &path, Mapping &mapping);

  std::map<std::string, Mapping> files;
  std::vector<const void *> pointers;
  std::vector<GivenWeight> given; ///< by constant; empty: none
};

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_WEIGHTS_H
