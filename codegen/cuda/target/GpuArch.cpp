//===- GpuArch.cpp - Sizes and rates of a GPU -----------------------------===//

#include "codegen/cuda/target/GpuArch.h"

#include "codegen/cuda/device/wgmma_layout.cuh"
#include "frit/tensor_cores.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace llvm;
using namespace frit;
using namespace frit::cuda;

namespace {
/// A device's sizes and rates. Shared memory is in KiB, rates in GB/s.
struct Device {
  const char *name;
  int capability;
  int64_t sms, threads, shared;
  int64_t l2MiB, memoryRate;
  double clock;
};
} // namespace

/// Sizes of an SM: CUDA C++ Programming Guide, "Compute Capabilities". SMs, L2,
/// memory and clock: NVIDIA's data sheets of the named device, except those of
/// the H200, which were measured (test/bench/notes). L2 of the integrated GPUs
/// (AGX Orin 64GB, AGX Thor, DGX Spark): what deviceQuery reports of them.
/// NVIDIA names no device of sm_88; its SMs are those of sm_86
/// (cuda_occupancy.h).
static constexpr Device kDevices[] = {
    {"A100", 80, 108, 2048, 164, 40, 2039, 1410},
    {"A40", 86, 84, 1536, 100, 6, 696, 1740},
    {"AGX Orin", 87, 16, 1536, 164, 4, 204, 1300},
    {"A40", 88, 84, 1536, 100, 6, 696, 1740},
    {"L40S", 89, 142, 1536, 100, 96, 864, 2490},
    {"H200", 90, 132, 2048, kSharedPerSm >> 10, 50, 4160, 1700},
    {"B200", 100, 148, 2048, 228, 126, 7700, 1850},
    {"B300", 103, 148, 2048, 228, 126, 7700, 1850},
    {"AGX Thor", 110, 20, 1536, 228, 32, 273, 1575},
    {"RTX PRO 6000", 120, 188, 1536, 100, 128, 1790, 2400},
    {"GB10", 121, 48, 1536, 100, 24, 273, 2418},
};

/// Returns the row of an architecture. One without a row gets that of its
/// nearest predecessor.
static const Device &deviceOf(int capability) {
  const Device *device = kDevices;
  for (const Device &known : kDevices)
    if (known.capability <= capability)
      device = &known;
  return *device;
}

/// Sets the rates that were measured on an H200. Those of another device are in
/// proportion to its SMs, their clock and their tensor cores.
static void setRates(GpuArch &arch, int capability) {
  // mma.sync reaches 63% of an H200's tensor cores, and no more on later ones.
  constexpr double mostMma = 2576;
  constexpr int measured = 90;
  const Device &reference = deviceOf(measured);
  double clock = arch.clock / reference.clock;
  double cycles = clock * double(arch.sms) / double(reference.sms);
  double tensor = tensorFlopsPerCycle(capability);
  arch.l2Rate = 5e6 * cycles;
  arch.productRate = 5e8 * cycles * tensor / tensorFlopsPerCycle(measured);
  arch.mmaRate = 3e6 * clock * std::min(tensor, mostMma) / mostMma;
}

GpuArch frit::cuda::describeArch(StringRef name) {
  StringRef digits = name.drop_until([](char c) { return isDigit(c); });
  int number = 0;
  digits.consumeInteger(10, number);
  const Device &device = deviceOf(number);
  GpuArch arch;
  arch.name = name.str();
  arch.device = device.name;
  arch.capability = number;
  arch.sms = device.sms;
  // Measured on an H200; kernels on other architectures have no clusters.
  arch.smsOfSmallClusters = number == 90 ? 128 : device.sms;
  arch.smsOfLargeClusters = number == 90 ? 120 : device.sms;
  arch.threadsPerSm = device.threads;
  arch.registersPerSm = 64 << 10;
  arch.sharedPerSm = device.shared << 10;
  arch.sharedReserved = kSharedReserved;
  arch.sharedPerBlock = arch.sharedFor(1);
  arch.l2Bytes = device.l2MiB << 20;
  arch.memoryRate = double(device.memoryRate) * 1e3;
  arch.clock = device.clock;
  setRates(arch, device.capability);
  arch.hasWgmma = name == "sm_90a";
  arch.hasPdl = number >= 90;
  return arch;
}
