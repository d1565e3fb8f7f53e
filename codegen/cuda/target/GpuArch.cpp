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
  /// The memory's rate as a fraction of the peak that the driver reports; below
  /// 1 if the rate was measured.
  double sustained = 1;
  /// GpuArch::host.
  const char *host = "any";
};
} // namespace

/// Sizes of an SM: CUDA C++ Programming Guide, "Compute Capabilities". SMs, L2,
/// memory and clock: NVIDIA's data sheets of the named device, except those of
/// the H200, which were measured (test/bench/notes). L2 of the integrated GPUs
/// (AGX Orin 64GB, AGX Thor, DGX Spark): what deviceQuery reports of them.
/// NVIDIA names no device of sm_88; its SMs are those of sm_86
/// (cuda_occupancy.h). Integrated GPUs are beside Arm cores.
static constexpr Device kDevices[] = {
    {"T4", 75, 40, 1024, 64, 4, 320, 1590},
    {"A100", 80, 108, 2048, 164, 40, 2039, 1410},
    {"A40", 86, 84, 1536, 100, 6, 696, 1740},
    {"AGX Orin", 87, 16, 1536, 164, 4, 204, 1300, 1, "aarch64"},
    {"A40", 88, 84, 1536, 100, 6, 696, 1740, 1, "none"},
    {"L40S", 89, 142, 1536, 100, 96, 864, 2490},
    {"H200", 90, 132, 2048, kSharedPerSm >> 10, 50, 4160, 1700, 0.846},
    {"B200", 100, 148, 2048, 228, 126, 7700, 1850},
    {"B300", 103, 148, 2048, 228, 126, 7700, 1850},
    {"AGX Thor", 110, 20, 1536, 228, 32, 273, 1575, 1, "aarch64"},
    {"RTX PRO 6000", 120, 188, 1536, 100, 128, 1790, 2400},
    {"GB10", 121, 48, 1536, 100, 24, 273, 2418, 1, "aarch64"},
};

/// The architecture of the H200.
static constexpr int kMeasured = 90;

/// Returns the row of an architecture. One without a row gets that of its
/// nearest predecessor.
static const Device &deviceOf(int capability) {
  const Device *device = kDevices;
  for (const Device &known : kDevices)
    if (known.capability <= capability)
      device = &known;
  return *device;
}

/// Returns how many of `sms` SMs clusters of more than two blocks can use. The
/// GPCs of an H200 have 16 or 18 SMs, differently on each card: one card runs
/// 30 clusters of four blocks at a time, another 32.
static int64_t clusteredSms(int64_t sms) {
  constexpr int64_t largest = 8, least = 120;
  int64_t fitting = sms * least / deviceOf(kMeasured).sms;
  return std::max(fitting / largest * largest, std::min(largest, sms));
}

/// Sets what was measured on an H200. Rates of another device are in proportion
/// to its SMs, their clock and their tensor cores.
static void setMeasured(GpuArch &arch, const Device &device) {
  // Kernels of other architectures have no clusters.
  bool hasClusters = device.capability == kMeasured;
  arch.smsOfClusters = hasClusters ? clusteredSms(arch.sms) : arch.sms;
  // mma.sync reaches 63% of an H200's tensor cores, and no more on later ones.
  constexpr double mostMma = 2576;
  const Device &measured = deviceOf(kMeasured);
  double clock = arch.clock / measured.clock;
  double cycles = clock * double(arch.sms) / double(measured.sms);
  double tensor = tensorFlopsPerCycle(device.capability);
  arch.l2Rate = 5e6 * cycles;
  arch.productRate = 5e8 * cycles * tensor / tensorFlopsPerCycle(kMeasured);
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
  arch.host = device.host;
  arch.capability = number;
  arch.sms = device.sms;
  arch.threadsPerSm = device.threads;
  arch.registersPerSm = 64 << 10;
  arch.sharedPerSm = device.shared << 10;
  arch.sharedReserved = number < 80 ? 0 : kSharedReserved;
  arch.sharedPerBlock = arch.sharedFor(1);
  arch.l2Bytes = device.l2MiB << 20;
  arch.memoryRate = double(device.memoryRate) * 1e3;
  arch.clock = device.clock;
  setMeasured(arch, device);
  arch.mma = name == "sm_90a" ? Mma::wgmma : Mma::sync;
  arch.hasPdl = number >= 90;
  return arch;
}

GpuArch frit::cuda::describeDevice(StringRef name, const DeviceSizes &sizes) {
  GpuArch arch = describeArch(name);
  const Device &device = deviceOf(arch.capability);
  arch.device = sizes.name;
  // Measured rates are better than those that the driver reports.
  if (device.sustained < 1 && sizes.sms == device.sms &&
      StringRef(sizes.name).contains(device.name))
    return arch;
  auto set = [](auto &size, auto reported) {
    if (reported > 0)
      size = reported;
  };
  set(arch.sms, sizes.sms);
  set(arch.threadsPerSm, sizes.threadsPerSm);
  set(arch.registersPerSm, sizes.registersPerSm);
  set(arch.sharedPerSm, sizes.sharedPerSm);
  set(arch.sharedPerBlock, sizes.sharedPerBlock);
  set(arch.sharedReserved, sizes.sharedReserved);
  set(arch.l2Bytes, sizes.l2Bytes);
  set(arch.memoryRate, sizes.memoryRate * device.sustained);
  setMeasured(arch, device);
  return arch;
}
