//===- CpuSteps.h - A list of steps bound to host memory ------------------===//

#ifndef FRIT_CPU_CPUSTEPS_H
#define FRIT_CPU_CPUSTEPS_H

#include "runtime/cpu/Cpu.h"
#include "runtime/exec/Executor.h"

namespace frit::cpu {

/// What a pool of so many threads must hold to run these steps.
ScratchSize scratchOf(const PlanView &plan,
                      std::span<const artifact::Step> steps, Isa isa,
                      unsigned threads);

/// The memory that arguments of one list of steps lie in.
struct Spaces {
  std::span<void *const> constants;
  void *arena = nullptr;
  void *prepared = nullptr;
};

/// Steps whose arguments are resolved to pointers once; those in inputs and
/// outputs are filled in before each run.
class CpuSteps {
public:
  CpuSteps(const Model &model, std::span<const artifact::Step> steps,
           const Spaces &spaces);

  void bindInputs(std::span<void *const> inputs) { bind(inputs, false); }
  void bindOutputs(std::span<void *const> outputs) { bind(outputs, true); }

  Status run(size_t index, ThreadPool &pool);

  /// The step that comes after `index`, which has run: behind what it guards
  /// where that is not needed.
  size_t next(size_t index) const;

  size_t size() const { return steps.size(); }
  std::string pick(size_t index) const;

private:
  /// An argument that lies in an input or output.
  struct Patch {
    size_t argument;
    uint64_t offset;
    uint32_t index;
    bool output;
  };

  void bind(std::span<void *const> tensors, bool output);
  Status launch(size_t index, ThreadPool &pool);

  const Model &model;
  std::span<const artifact::Step> steps;
  std::vector<void *> arguments; ///< of all steps, one after another
  std::vector<size_t> firstArgument;
  std::vector<Patch> patches;
  std::vector<bool> declined; ///< gemms and convs that run on their kernel
};

} // namespace frit::cpu

#endif // FRIT_CPU_CPUSTEPS_H
