//===- PresentGpu.cpp - This machine's GPU --------------------------------===//

#include "PresentGpu.h"
#include "runtime/cuda/Driver.h"

using namespace frit;
using namespace frit::cuda;

std::optional<GpuArch> frit::findPresentGpu() {
  Gpu gpu;
  if (gpu.open(0).failed())
    return std::nullopt;
  auto attribute = [&](int which) {
    return gpu.driver.attributeOf(gpu.device, which);
  };
  DeviceSizes sizes;
  sizes.name = gpu.name;
  sizes.sms = attribute(kAttributeMultiprocessors);
  sizes.threadsPerSm = attribute(kAttributeThreadsPerSm);
  sizes.registersPerSm = attribute(kAttributeRegistersPerSm);
  sizes.sharedPerSm = attribute(kAttributeSharedPerSm);
  sizes.sharedPerBlock = attribute(kAttributeSharedPerBlock);
  sizes.sharedReserved = attribute(kAttributeSharedReserved);
  sizes.l2Bytes = attribute(kAttributeL2Bytes);
  sizes.memoryRate = gpu.driver.memoryRateOf(gpu.device) / 1e6;
  // Hopper's architecture-specific instructions need the suffix.
  std::string arch = "sm_" + std::to_string(gpu.major * 10 + gpu.minor);
  return describeDevice(gpu.major == 9 ? arch + "a" : arch, sizes);
}
