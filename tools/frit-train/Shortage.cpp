//===- Shortage.cpp - Check that a step fits in GPU memory ----------------===//

#include "tools/frit-train/Shortage.h"
#include "runtime/exec/Status.h"

std::string frit::train::describeShortage(const MemoryNeed &need) {
  if (need.state + need.samples <= need.free)
    return "";
  std::string text = "a step takes " + formatBytes(need.state + need.samples) +
                     " of the GPU's memory, and " + formatBytes(need.free) +
                     " are free: " + formatBytes(need.state) +
                     " are for the state, and " + formatBytes(need.samples) +
                     " for a batch of " + std::to_string(need.batch);
  uint64_t left = need.free > need.state ? need.free - need.state : 0;
  auto fit = uint64_t(double(left) / double(need.samples) * double(need.batch));
  if (!fit)
    return text + "; not even one sample fits";
  return text + ", of which about " + std::to_string(fit) +
         " fit; compile it for a smaller batch, and with \"accumulate\" in "
         "train.json for the same update";
}
