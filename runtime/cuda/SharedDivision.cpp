//===- SharedDivision.cpp - Shared memory of the SMs of a step ------------===//

#include "runtime/cuda/SharedDivision.h"

#include <algorithm>

using namespace frit;
using namespace frit::cuda;

/// Returns the bytes that the blocks of a kernel need on an SM at a time.
static uint64_t neededOf(const SharedUse &kernel, const SmMemory &sm) {
  uint64_t ofSm = (kernel.blocks + sm.count - 1) / sm.count;
  uint64_t fit = sm.threads / std::max<uint64_t>(kernel.threads, 1);
  return std::min(ofSm, std::max<uint64_t>(fit, 1)) *
         (kernel.sharedBytes + sm.reservedPerBlock);
}

int frit::cuda::dividedPercent(std::span<const SharedUse> kernels,
                               const SmMemory &sm) {
  if (!sm.shared || !sm.count)
    return 0;
  uint64_t most = 0;
  for (const SharedUse &kernel : kernels)
    most = std::max(most, neededOf(kernel, sm));
  return most > sm.shared / 2 ? 0
                              : int((most * 100 + sm.shared - 1) / sm.shared);
}
