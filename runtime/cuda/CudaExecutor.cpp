//===- CudaExecutor.cpp - A function of an artifact on a GPU --------------===//

#include "runtime/cuda/CudaExecutor.h"
#include "runtime/cuda/CudaExecution.h"

#include "frit/tensor_cores.h"

#include <algorithm>

using namespace frit;
using namespace frit::cuda;

Status CudaExecutor::createExecution(Execution *peer,
                                     std::unique_ptr<Execution> &execution) {
  auto opened = std::make_unique<CudaExecution>(model, *loaded);
  FRIT_TRY(opened->open(static_cast<CudaExecution *>(peer)));
  execution = std::move(opened);
  return Status();
}

Status CudaExecutor::makeGroupId(frit_group_id &id) const {
  ContextScope scope(loaded->gpu);
  Nccl nccl;
  FRIT_TRY(nccl.load());
  NcclId made;
  FRIT_TRY(nccl.check(nccl.getUniqueId(&made), "make a group"));
  std::ranges::copy(made.bytes, id.bytes);
  return Status();
}

Status CudaExecutor::allocate(uint64_t bytes, std::shared_ptr<void> &owner,
                              void *&data) const {
  ContextScope scope(loaded->gpu);
  auto made = std::make_shared<SharedMemory>(loaded->sharedGpu);
  FRIT_TRY(made->memory.allocate(bytes, "a tensor"));
  data = reinterpret_cast<void *>(made->memory.address());
  owner = std::move(made);
  return Status();
}

void CudaExecutor::describe(frit_device_info &info) const {
  ContextScope scope(loaded->gpu);
  const Gpu &gpu = loaded->gpu;
  size_t free = 0, total = 0;
  gpu.driver.memGetInfo(&free, &total);
  info.name = gpu.name.c_str();
  info.memory_bytes = total;
  info.free_bytes = free;
  info.module_bytes = loaded->bytes();
  ContextLayout layout(model);
  info.context_bytes = layout.arenaBytes + layout.inputBytes +
                       layout.outputBytes + model.plan.header().stateBytes;
  auto attribute = [&](int which) {
    return gpu.driver.attributeOf(gpu.device, which);
  };
  info.bytes_per_second = gpu.driver.memoryRateOf(gpu.device);
  info.flops_per_second = 1e3 * attribute(kAttributeClock) *
                          attribute(kAttributeMultiprocessors) *
                          tensorFlopsPerCycle(10 * gpu.major + gpu.minor);
}

Status frit::createCudaExecutor(Model &model, int ordinal,
                                const Executor *sibling,
                                std::unique_ptr<Executor> &executor) {
  std::shared_ptr<LoadedTarget> loaded;
  if (sibling) {
    loaded = static_cast<const CudaExecutor *>(sibling)->target();
  } else {
    loaded = std::make_shared<LoadedTarget>(model);
    FRIT_TRY(loaded->load(ordinal, model.phases));
  }
  executor = std::make_unique<CudaExecutor>(model, std::move(loaded));
  return Status();
}
