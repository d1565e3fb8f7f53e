//===- CpuSteps.h - A list of steps bound to host memory ------------------===//

#ifndef FRIT_RUNTIME_CPU_CPUSTEPS_H
#define FRIT_RUNTIME_CPU_CPUSTEPS_H

#include "runtime/cpu/Cpu.h"
#include "runtime/cpu/HostGroup.h"
#include "runtime/cpu/PackedFilters.h"
#include "runtime/exec/Executor.h"

namespace frit::cpu {

/// Returns the scratch memory that a pool of `threads` threads needs for these
/// steps.
ScratchSize scratchOf(const PlanView &plan,
                      std::span<const artifact::Step> steps, Isa isa,
                      unsigned threads);

/// Addresses of the memory spaces that contain a step list's arguments.
struct Spaces {
  std::span<void *const> constants;
  void *arena = nullptr;
  void *prepared = nullptr;
  void *state = nullptr;
  const PackedFilters *packed = nullptr; ///< may be null
};

/// Steps whose arguments are resolved to host pointers. Arguments in inputs and
/// outputs are patched before each run.
class CpuSteps {
public:
  CpuSteps(const Model &model, std::span<const artifact::Step> steps,
           const Spaces &spaces);

  void bindInputs(std::span<void *const> inputs) { bind(inputs, false); }
  void bindOutputs(std::span<void *const> outputs) { bind(outputs, true); }

  /// Sets the group for collectives.
  void join(std::shared_ptr<HostGroup> joined) { group = std::move(joined); }

  Status run(size_t index, ThreadPool &pool);

  /// Returns the step to run after `index`; skips guarded steps if the guard at
  /// `index` says so.
  size_t next(size_t index) const;

  size_t size() const { return steps.size(); }
  /// Returns the address of an argument of a step.
  const void *argument(size_t index, size_t number) const {
    return arguments[firstArgument[index] + number];
  }
  std::string pick(size_t index) const;

private:
  /// An argument in an input or output, `offset` bytes from its start.
  struct Patch {
    size_t argument;
    uint64_t offset;
    uint32_t index;
    bool output;
  };

  void bind(std::span<void *const> tensors, bool output);
  /// Run a step, and say in reports what runs it.
#define RUNNER(Name)                                                           \
  Status run##Name(size_t index, ThreadPool &pool);                            \
  std::string pick##Name(size_t index) const;
  FRIT_STEP_RUNNERS(RUNNER)
#undef RUNNER
  bool compute(size_t index, ThreadPool &pool) const;

  std::pair<int64_t, int64_t> itemsOf(const artifact::Step &step) const;

  const Model &model;
  std::span<const artifact::Step> steps;
  std::vector<void *> arguments; ///< of all steps, one after another
  std::vector<size_t> firstArgument;
  std::vector<Patch> patches;
  std::vector<const void *> packed; ///< filters, by step; null: as they are
  std::vector<bool>
      declined; ///< gemms and convs that fall back to their kernel
  std::shared_ptr<HostGroup> group; ///< null: one rank
};

} // namespace frit::cpu

#endif // FRIT_RUNTIME_CPU_CPUSTEPS_H
