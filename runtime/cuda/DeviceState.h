//===- DeviceState.h - The state of a context and its peers ---------------===//

#ifndef FRIT_RUNTIME_CUDA_DEVICESTATE_H
#define FRIT_RUNTIME_CUDA_DEVICESTATE_H

#include "runtime/cuda/DeviceMemory.h"
#include "runtime/cuda/library/Nccl.h"
#include "runtime/exec/DerivedStates.h"

namespace frit::cuda {

/// Memory of the state. A rank has its shards of the divided parts, one after
/// another. They are allocated when a call first needs them, after the context
/// has joined its group.
struct DeviceState {
  DeviceState(std::shared_ptr<const Gpu> gpu, const PlanView &plan)
      : whole(std::move(gpu)), derived(plan) {}

  uint32_t rank() const { return group ? group->rank : 0; }
  uint32_t ranks() const { return group ? group->size : 1; }
  artifact::Shard shardOf(uint64_t rows) const {
    return artifact::shardOf(rows, rank(), ranks());
  }
  /// Returns the bytes of this rank's shards of the parts before byte `offset`.
  uint64_t shardBytes(const PlanView &plan, uint64_t offset) const {
    return plan.shardBytes(offset, rank(), ranks());
  }
  /// Address of this rank's shard of the part from byte `offset` on.
  DevicePointer shardAddress(const PlanView &plan, uint64_t offset) const {
    return shards->memory.address() + shardBytes(plan, offset);
  }

  SharedMemory whole;
  std::unique_ptr<SharedMemory> shards; ///< null until first needed
  std::shared_ptr<Communicator> group;  ///< that divides it; null: none
  uint64_t version = 0;                 ///< counts how often the shards moved
  DerivedStates derived;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_DEVICESTATE_H
