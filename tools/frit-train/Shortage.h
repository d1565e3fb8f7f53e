//===- Shortage.h - Check that a step fits in GPU memory ------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_SHORTAGE_H
#define FRIT_TOOLS_FRIT_TRAIN_SHORTAGE_H

#include <cstdint>
#include <string>

namespace frit::train {

/// Device memory of a step, in bytes.
struct MemoryNeed {
  uint64_t state = 0;
  uint64_t samples = 0; ///< scratch memory, inputs and outputs
  uint64_t batch = 0;   ///< samples of a step
  uint64_t free = 0;    ///< of the device
};

/// Returns why the step does not fit, and approximately how many samples would;
/// empty if it fits.
std::string describeShortage(const MemoryNeed &need);

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_SHORTAGE_H
