//===- CpuExecutor.cpp - A function of an artifact on the host ------------===//

#include "runtime/cpu/CpuExecution.h"
#include "runtime/exec/Targets.h"
#include "runtime/system/System.h"

using namespace frit;
using namespace frit::cpu;

namespace {
class CpuExecutor final : public Executor {
public:
  CpuExecutor(const Model &model, std::shared_ptr<HostTarget> target)
      : loaded(model, std::move(target)), processor(processorName()) {}

  /// Returns what the modules of all functions share.
  std::shared_ptr<HostTarget> target() const { return loaded.target; }

  Status createExecution(Execution *peer,
                         std::unique_ptr<Execution> &execution) override;
  Status setWeights(std::span<const uint32_t>) override {
    return loaded.target->load();
  }
  Status makeGroupId(frit_group_id &id) const override {
    return HostGroup::makeId(id);
  }
  Status allocate(uint64_t bytes, std::shared_ptr<void> &owner,
                  void *&data) const override;
  void describe(frit_device_info &info) const override;

private:
  const HostModel loaded;
  const std::string processor;
};
} // namespace

Status CpuExecutor::createExecution(Execution *peer,
                                    std::unique_ptr<Execution> &execution) {
  auto opened = std::make_unique<CpuExecution>(loaded);
  FRIT_TRY(opened->open(static_cast<CpuExecution *>(peer)));
  execution = std::move(opened);
  return Status();
}

Status CpuExecutor::allocate(uint64_t bytes, std::shared_ptr<void> &owner,
                             void *&data) const {
  auto made = std::make_shared<HostMemory>(loaded.model.memory);
  FRIT_TRY(made->allocate(bytes, "a tensor"));
  data = made->data();
  owner = std::move(made);
  return Status();
}

void CpuExecutor::describe(frit_device_info &info) const {
  info.name = processor.c_str();
  system::MemoryFacts memory = system::memoryFacts();
  info.memory_bytes = memory.total;
  info.free_bytes = memory.free;
  info.module_bytes = loaded.target->bytes();
  info.threads = threadCount(loaded.model);
  info.context_bytes = loaded.contextBytes();
  info.copy_bytes = loaded.copyBytes();
}

Status frit::createCpuExecutor(Model &model, const Executor *sibling,
                               std::unique_ptr<Executor> &executor) {
  std::shared_ptr<HostTarget> target;
  if (sibling) {
    target = static_cast<const CpuExecutor *>(sibling)->target();
  } else {
    target = std::make_shared<HostTarget>(model);
    FRIT_TRY(target->load());
  }
  executor = std::make_unique<CpuExecutor>(model, std::move(target));
  return Status();
}
