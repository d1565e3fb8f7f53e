//===- GpuArch.h - A GPU as schedules see it ------------------------------===//
//
// Sizes and rates of the device that an architecture stands for. Everything
// that a schedule or a cost depends on is here; no other file knows how many
// SMs a GPU has.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TARGET_GPUARCH_H
#define FRIT_CODEGEN_CUDA_TARGET_GPUARCH_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace frit::cuda {

struct GpuArch {
  std::string name;   ///< "sm_90a"
  std::string device; ///< "H200", whose sizes these are
  int capability;     ///< 90
  int64_t sms;
  /// SMs that clusters of up to four blocks and of more reach: a GPC of a
  /// number of SMs that the cluster does not divide leaves some without.
  int64_t smsOfSmallClusters, smsOfLargeClusters;
  int64_t threadsPerSm;
  int64_t registersPerSm; ///< of 32 bits
  /// Bytes of shared memory of an SM, the most that a block may have of them,
  /// and what the driver takes of each block's share.
  int64_t sharedPerSm, sharedPerBlock, sharedReserved;
  /// Bytes of shared memory that a kernel's own variables may take.
  static constexpr int64_t staticShared = 48 << 10;
  int64_t l2Bytes;
  /// Bytes per microsecond from device memory.
  double memoryRate;
  /// Million cycles per second of the SMs' clock under load.
  double clock;

  bool hasTensorCores; ///< mma.sync of 16-bit floats and TF32
  bool hasWgmma;       ///< warpgroup products, with TMA
  bool hasPdl;         ///< programmatic dependent launch

  /// Shared memory that each of `blocks` blocks has on an SM, bytes.
  int64_t sharedFor(int64_t blocks) const {
    return sharedPerSm / blocks - sharedReserved;
  }
  /// Registers of a thread where `threads` of them share an SM; they are handed
  /// out by eight.
  int64_t registersFor(int64_t threads) const {
    return registersPerSm / threads / 8 * 8;
  }
  /// SMs that get a block where blocks come in clusters of such a size.
  int64_t clusteredSms(int64_t cluster) const {
    return cluster <= 2   ? sms
           : cluster <= 4 ? smsOfSmallClusters
                          : smsOfLargeClusters;
  }
  /// Threads of which each SM has `perSm`.
  int64_t threadsOf(int64_t perSm) const { return sms * perSm; }
};

/// The device that `-march=NAME` is compiled for: of the GPUs of that
/// architecture the one that data centers have most of. Sizes that differ
/// between them decide speed only; what is compiled runs on all.
GpuArch describeArch(llvm::StringRef name);

/// A GPU and the libraries that may be planned for it: cuBLASLt for products,
/// cuDNN for convolutions and attention.
struct Machine {
  GpuArch arch;
  bool cublas = true, cudnn = true;
  /// Whether the libraries' results must be the same in every call.
  bool deterministic = false;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_TARGET_GPUARCH_H
