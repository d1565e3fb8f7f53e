//===- Weights.h - Host memory of a model's original weights --------------===//

#ifndef FRIT_EXEC_WEIGHTS_H
#define FRIT_EXEC_WEIGHTS_H

#include "runtime/exec/PlanView.h"

#include <map>
#include <string>
#include <vector>

namespace frit {

/// Bytes of every constant of a plan: in the image, or in memory-mapped files,
/// which this owns.
class Weights {
public:
  Weights() = default;
  Weights(const Weights &) = delete;
  Weights &operator=(const Weights &) = delete;
  ~Weights() { release(); }

  /// Maps the files that the plan names, relative to `folder`, and checks their
  /// sizes.
  Status open(const PlanView &plan, const frit_image &image,
              const std::string &folder);

  /// Host memory of constant `index`. Constants from files may be unaligned.
  const void *data(uint32_t index) const { return pointers[index]; }

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
};

} // namespace frit

#endif // FRIT_EXEC_WEIGHTS_H
