//===- CpuExecutor.cpp - A model's weights on the host --------------------===//

#include "runtime/cpu/CpuExecution.h"
#include "runtime/exec/Targets.h"

#include <cstring>
#include <unistd.h>

using namespace frit;
using namespace frit::cpu;

namespace {
class CpuExecutor final : public Executor, public HostModel {
public:
  explicit CpuExecutor(Model &model) : HostModel(model), copies(model.memory) {}

  Status load();
  Status createExecution(Execution *peer,
                         std::unique_ptr<Execution> &execution) override;
  Status setWeights(std::span<const uint32_t> changed) override;
  Status makeGroupId(frit_group_id &id) const override {
    return HostGroup::makeId(id);
  }
  Status allocate(uint64_t bytes, std::shared_ptr<void> &owner,
                  void *&data) const override;
  void describe(frit_device_info &info) const override;

private:
  Status readConstants();
  Status copyMisaligned();
  Status prepare();

  HostMemory copies;
  std::string processor;
};
} // namespace

Status CpuExecutor::load() {
  processor = processorName();
  return readConstants();
}

Status CpuExecutor::readConstants() {
  constants.clear();
  size_t count = model.plan.constants().size();
  for (uint32_t index = 0; index < count; ++index)
    constants.push_back(const_cast<void *>(model.weights->data(index)));
  FRIT_TRY(copyMisaligned());
  return prepare();
}

Status CpuExecutor::setWeights(std::span<const uint32_t>) {
  ++version;
  return readConstants();
}

/// Copies weights whose alignment in their file is too small for vectors.
Status CpuExecutor::copyMisaligned() {
  std::span<const artifact::Constant> all = model.plan.constants();
  std::vector<bool> isRead(all.size());
  for (std::span<const artifact::Step> list : model.lists())
    for (const artifact::Step &step : list)
      for (const artifact::Buffer &buffer : model.plan.arguments(step))
        if (buffer.space == artifact::Space::constant)
          isRead[buffer.index] = true;
  auto misaligned = [&](size_t index) {
    return isRead[index] && all[index].bytes &&
           reinterpret_cast<uintptr_t>(constants[index]) % kVectorBytes;
  };
  auto rounded = [&](size_t index) {
    return (all[index].bytes + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
  };
  uint64_t total = 0;
  for (size_t index = 0; index < all.size(); ++index)
    if (misaligned(index))
      total += rounded(index);
  FRIT_TRY(copies.allocate(total, "a copy of the weights"));
  uint8_t *next = copies.data();
  for (size_t index = 0; index < all.size(); ++index) {
    if (!misaligned(index))
      continue;
    memcpy(next, constants[index], all[index].bytes);
    constants[index] = next;
    next += rounded(index);
  }
  return Status();
}

Status CpuExecutor::prepare() {
  const artifact::Target &target = *model.target;
  FRIT_TRY(prepared.allocate(target.preparedBytes, "the prepared weights"));
  std::span<const artifact::Step> list = model.plan.steps(target.prepare);
  if (list.empty())
    return Status();
  ThreadPool pool(threadCount());
  HostMemory arena(model.memory);
  FRIT_TRY(allocateArena(target.prepareArenaBytes,
                         scratchOf(model.plan, list, pool.isa(), pool.size()),
                         "preparing the weights", arena, pool));
  CpuSteps steps(model, list, {constants, arena.data(), prepared.data()});
  for (size_t index = 0; index < steps.size(); ++index)
    FRIT_TRY(steps.run(index, pool));
  return Status();
}

Status CpuExecutor::createExecution(Execution *peer,
                                    std::unique_ptr<Execution> &execution) {
  auto opened = std::make_unique<CpuExecution>(*this);
  FRIT_TRY(opened->open(static_cast<CpuExecution *>(peer)));
  execution = std::move(opened);
  return Status();
}

Status CpuExecutor::allocate(uint64_t bytes, std::shared_ptr<void> &owner,
                             void *&data) const {
  auto made = std::make_shared<HostMemory>(model.memory);
  FRIT_TRY(made->allocate(bytes, "a tensor"));
  data = made->data();
  owner = std::move(made);
  return Status();
}

void CpuExecutor::describe(frit_device_info &info) const {
  info.name = processor.c_str();
  uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  info.memory_bytes = page * uint64_t(sysconf(_SC_PHYS_PAGES));
  info.free_bytes = page * uint64_t(sysconf(_SC_AVPHYS_PAGES));
  info.module_bytes = prepared.bytes() + copies.bytes();
  info.threads = threadCount();
  info.context_bytes = contextBytes();
  info.copy_bytes = copyBytes();
}

Status frit::createCpuExecutor(Model &model,
                               std::unique_ptr<Executor> &executor) {
  auto opened = std::make_unique<CpuExecutor>(model);
  FRIT_TRY(opened->load());
  executor = std::move(opened);
  return Status();
}
