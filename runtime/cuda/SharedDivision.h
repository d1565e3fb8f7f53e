//===- SharedDivision.h - Shared memory of the SMs of a step --------------===//

#ifndef FRIT_RUNTIME_CUDA_SHAREDDIVISION_H
#define FRIT_RUNTIME_CUDA_SHAREDDIVISION_H

#include <cstdint>
#include <span>

namespace frit::cuda {

/// What an SM's division into shared memory and L1 depends on; bytes.
struct SmMemory {
  uint64_t count; ///< of SMs
  uint64_t shared, reservedPerBlock, threads;
};

/// A kernel's blocks. `sharedBytes` has the kernel's variables and what its
/// launch adds.
struct SharedUse {
  uint64_t blocks, threads, sharedBytes;
};

/// Returns the percentage of an SM's shared memory that all kernels of a step
/// ask for, or 0 if the driver decides for each of them.
///
/// An SM changes its division only when it is idle, and a kernel that needs
/// more shared memory cannot start beside the one before it. So all kernels ask
/// for what the largest needs. L1 keeps at least half: kernels that read codes
/// into registers have it full of them.
int dividedPercent(std::span<const SharedUse> kernels, const SmMemory &sm);

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_SHAREDDIVISION_H
