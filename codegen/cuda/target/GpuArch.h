//===- GpuArch.h - Sizes and rates of a GPU -------------------------------===//
//
// Sizes and rates of the device that an architecture stands for: all hardware
// properties that schedules and costs depend on. No other file has the number
// of SMs of a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TARGET_GPUARCH_H
#define FRIT_CODEGEN_CUDA_TARGET_GPUARCH_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace frit::cuda {

/// Bytes of the widest access of a thread; of a sector, the unit of memory
/// accesses; and of a cache line.
inline constexpr int64_t kVectorBytes = 16, kSectorBytes = 32,
                         kCacheLineBytes = 128;

/// Instructions by which tensor cores multiply 16-bit matrices.
enum class Mma {
  sync, ///< mma.sync, of a warp
  wgmma ///< wgmma.mma_async, of four warps; operands arrive by TMA
};

struct GpuArch {
  std::string name; ///< "sm_90a"
  /// The device whose sizes these are: "H200", or as the driver names it.
  std::string device;
  /// The host's code that runs beside such a GPU: "any", "aarch64" for one that
  /// shares a chip with Arm cores, or "none" if NVIDIA names no such GPU.
  std::string host;
  int capability; ///< 90
  int64_t sms;
  /// SMs that clusters of more than two blocks can use. If a cluster's size
  /// does not divide the SMs of a GPC, some stay idle.
  int64_t smsOfClusters;
  int64_t threadsPerSm;
  int64_t registersPerSm; ///< of 32 bits
  /// Bytes of shared memory: per SM, at most per block, and reserved by the
  /// driver per block.
  int64_t sharedPerSm, sharedPerBlock, sharedReserved;
  /// Bytes of static shared memory that a kernel may have.
  static constexpr int64_t staticShared = 48 << 10;
  int64_t l2Bytes;
  /// Million cycles per second of the SMs' clock under load.
  double clock;
  /// Bytes per microsecond from device memory, and of a kernel that reads
  /// mostly from L2.
  double memoryRate, l2Rate;
  /// FLOPs per microsecond of products of 16-bit operands: of large products on
  /// the whole device, and of an SM that uses mma.sync.
  double productRate, mmaRate;

  Mma mma;
  bool hasPdl; ///< programmatic dependent launch

  /// Returns whether tensor cores multiply floats of 8 bits.
  bool hasFloat8() const { return capability >= 89; }

  /// Returns the bytes of shared memory per block if `blocks` blocks share an
  /// SM.
  int64_t sharedFor(int64_t blocks) const {
    return sharedPerSm / blocks - sharedReserved;
  }
  /// Returns the registers per thread if `threads` threads share an SM; they
  /// are allocated in units of eight.
  int64_t registersFor(int64_t threads) const {
    return registersPerSm / threads / 8 * 8;
  }
  /// Returns the SMs that get a block if clusters have this size.
  int64_t clusteredSms(int64_t cluster) const {
    return cluster <= 2 ? sms : smsOfClusters;
  }
  /// Returns the blocks of a persistent kernel that run at a time, `perSm` on
  /// each SM; 0 if there are no more tiles than that.
  int64_t persistentBlocks(int64_t tiles, int64_t perSm) const {
    return tiles > sms * perSm ? sms * perSm : 0;
  }
  /// Returns the threads of all SMs if each has `perSm`.
  int64_t threadsOf(int64_t perSm) const { return sms * perSm; }
};

/// Sizes of a device as its driver reports them; 0 where it does not.
struct DeviceSizes {
  std::string name; ///< "NVIDIA H100 PCIe"
  int64_t sms = 0, threadsPerSm = 0, registersPerSm = 0;
  int64_t sharedPerSm = 0, sharedPerBlock = 0, sharedReserved = 0;
  int64_t l2Bytes = 0;
  double memoryRate = 0; ///< peak, in bytes per microsecond
};

/// Returns the device that `-march=NAME` optimizes for: the most common data
/// center GPU of that architecture, or its integrated GPU if it has none. The
/// code runs on all its GPUs; others may only be slower.
GpuArch describeArch(llvm::StringRef name);

/// Returns a device of architecture `name` by its own sizes; what the driver
/// does not report is that of describeArch.
GpuArch describeDevice(llvm::StringRef name, const DeviceSizes &sizes);

/// A GPU and the libraries that may be planned for it: cuBLASLt for products,
/// cuDNN for convolutions and attention.
struct Machine {
  GpuArch arch;
  bool cublas = true, cudnn = true;
  /// Whether the libraries' results must be the same in every call.
  bool deterministic = false;
  /// Whether the bits of a row must not depend on the rows beside it, nor on
  /// how many there are: schedules then sum in the same order for any number.
  bool batchInvariant = false;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_TARGET_GPUARCH_H
