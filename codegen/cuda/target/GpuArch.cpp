//===- GpuArch.cpp - Sizes and rates of a GPU -----------------------------===//

#include "codegen/cuda/target/GpuArch.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace frit::cuda;

namespace {
/// A device's sizes and rates. Shared memory is in KiB, rates in GB/s.
struct Device {
  const char *name;
  int capability;
  int64_t sms, threads, shared, sharedOfBlock;
  int64_t l2MiB, memoryRate;
  double clock;
};
} // namespace

/// Sizes of an SM: CUDA C++ Programming Guide, "Compute Capabilities". SMs, L2,
/// memory and clock: NVIDIA's data sheets of the named device, except those of
/// the H200, which were measured (test/bench/notes).
static constexpr Device kDevices[] = {
    {"V100", 70, 80, 2048, 96, 96, 6, 900, 1380},
    {"T4", 75, 40, 1024, 64, 64, 4, 320, 1350},
    {"A100", 80, 108, 2048, 164, 163, 40, 2039, 1410},
    {"A40", 86, 84, 1536, 100, 99, 6, 696, 1740},
    {"L40S", 89, 142, 1536, 100, 99, 96, 864, 2490},
    {"H200", 90, 132, 2048, 228, 227, 50, 4160, 1700},
    {"B200", 100, 148, 2048, 228, 227, 126, 7700, 1850},
    {"B300", 103, 148, 2048, 228, 227, 126, 7700, 1850},
    {"RTX PRO 6000", 120, 188, 1536, 100, 99, 128, 1790, 2400},
};

GpuArch frit::cuda::describeArch(StringRef name) {
  StringRef digits = name.drop_until([](char c) { return isDigit(c); });
  int number = 0;
  digits.consumeInteger(10, number);
  // An unlisted architecture gets the device of its nearest predecessor.
  const Device *device = kDevices;
  for (const Device &known : kDevices)
    if (known.capability <= number)
      device = &known;
  GpuArch arch;
  arch.name = name.str();
  arch.device = device->name;
  arch.capability = number;
  arch.sms = device->sms;
  // Measured on an H200; kernels on other architectures have no clusters.
  arch.smsOfSmallClusters = number == 90 ? 128 : device->sms;
  arch.smsOfLargeClusters = number == 90 ? 120 : device->sms;
  arch.threadsPerSm = device->threads;
  arch.registersPerSm = 64 << 10;
  arch.sharedPerSm = device->shared << 10;
  arch.sharedPerBlock = device->sharedOfBlock << 10;
  arch.sharedReserved = number >= 80 ? 1 << 10 : 0;
  arch.l2Bytes = device->l2MiB << 20;
  arch.memoryRate = double(device->memoryRate) * 1e3;
  arch.clock = device->clock;
  arch.hasTensorCores = number >= 80;
  arch.hasWgmma = name == "sm_90a";
  arch.hasPdl = number >= 90;
  return arch;
}
