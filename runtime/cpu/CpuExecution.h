//===- CpuExecution.h - Run a plan on the host ----------------------------===//

#ifndef FRIT_RUNTIME_CPU_CPUEXECUTION_H
#define FRIT_RUNTIME_CPU_CPUEXECUTION_H

#include "runtime/cpu/HostModel.h"
#include "runtime/exec/DerivedStates.h"

namespace frit::cpu {

/// The threads of a context, and the scratch memory of the steps and threads.
struct Workspace {
  Workspace(unsigned threads, std::shared_ptr<MemorySource> memory)
      : arena(std::move(memory)), pool(threads) {}

  HostMemory arena; ///< shared by variants; one runs at a time
  uint64_t arenaBytes = 0;
  ThreadPool pool;
};

/// The state of a context and its peers.
struct HostState {
  HostState(std::shared_ptr<MemorySource> source, const PlanView &plan)
      : memory(std::move(source)), derived(plan) {}

  HostMemory memory;
  /// The group that divides parts of the state; null: none. Each rank has
  /// memory for the whole state and updates its shards.
  std::shared_ptr<HostGroup> group;
  DerivedStates derived;
};

/// A context on the host: its state, its threads and their memory, and the
/// variants that calls have used. Peers have the same state; a peer that needs
/// no more memory than the first context uses its threads and their memory too.
class CpuExecution final : public Execution {
public:
  explicit CpuExecution(const HostModel &loaded) : loaded(loaded) {}

  /// Prepares the largest variant, which is the last.
  Status open(const CpuExecution *peer);
  /// Prepares a variant on its first use.
  Status open(size_t variant);
  Status run(size_t variant, std::span<const Binding> inputs,
             std::span<const Binding> outputs, bool wait) override;
  Status profile(size_t variant, std::span<const Binding> inputs,
                 std::span<const Binding> outputs,
                 std::vector<StepTime> &times) override;
  Status trace(size_t variant, std::span<const Binding> inputs,
               std::span<const Binding> outputs, bool operands,
               const Visit &visit) override;
  Status synchronize() override { return Status(); }
  Status join(const frit_group &joined) override;
  Status readState(std::span<const StateBinding> tensors) override;
  Status writeState(std::span<const StateBinding> tensors) override;
  void *inputBuffer(uint32_t index) override;
  void *outputBuffer(uint32_t index) override;
  std::string pick(size_t variant, uint32_t step) const override {
    return steps[variant] ? steps[variant]->pick(step) : "none";
  }

private:
  Status bind(size_t variant, std::span<const Binding> inputs,
              std::span<const Binding> outputs);
  Status copyOut(size_t variant, std::span<const Binding> outputs);
  Status derive(size_t variant);
  Status gatherState(std::span<const StateBinding> tensors);
  Status makeState();
  Status makeWorkspace();
  Status makeInput(uint32_t index);
  Status makeOutput(uint32_t index);

  const HostModel &loaded;
  std::shared_ptr<HostState> state;     ///< shared with peers
  std::shared_ptr<Workspace> workspace; ///< may be shared with peers
  std::vector<HostMemory> ownInputs, ownOutputs;
  std::vector<void *> inputPointers, outputPointers;
  std::vector<int64_t> counts;                  ///< of the last call
  std::vector<std::unique_ptr<CpuSteps>> steps; ///< by variant; null: not open
  std::vector<DerivedUse> derived;              ///< of `steps`
  uint64_t version = 0; ///< of the model's constants that `steps` read
  std::shared_ptr<HostGroup> group; ///< null: one rank
};
} // namespace frit::cpu

#endif // FRIT_RUNTIME_CPU_CPUEXECUTION_H
