//===- Weights.h - Where a model's original weights lie in memory ---------===//

#ifndef FRIT_EXEC_WEIGHTS_H
#define FRIT_EXEC_WEIGHTS_H

#include "runtime/exec/PlanView.h"

#include <map>
#include <string>
#include <vector>

namespace frit {

/// The bytes of every constant of a plan: in the image, or in files beside it
/// that are mapped while this lives.
class Weights {
public:
  Weights() = default;
  Weights(const Weights &) = delete;
  Weights &operator=(const Weights &) = delete;
  ~Weights() { release(); }

  /// Maps what files the plan names, from `folder`, and checks their lengths.
  Status open(const PlanView &plan, const frit_image &image,
              const std::string &folder);

  /// The host memory of constant `index`. It may be aligned to no more than a
  /// byte where it comes from a file.
  const void *data(uint32_t index) const { return pointers[index]; }

  /// Unmaps the files, once every constant has been copied to a device.
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
