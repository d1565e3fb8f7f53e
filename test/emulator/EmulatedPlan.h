//===- EmulatedPlan.h - Run a CUDA target's plan on the host --------------===//
//
// Emulates the runtime's CUDA executor in host memory. Every step launches its
// kernel in the library from emulate.py. Steps for cuBLAS or cuDNN run their
// fallback kernels, so these are tested.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_EMULATOR_EMULATEDPLAN_H
#define FRIT_TEST_EMULATOR_EMULATEDPLAN_H

#include "runtime/cpu/HostMemory.h"
#include "runtime/exec/DerivedStates.h"
#include "runtime/exec/Weights.h"
#include "runtime/plan/PlanView.h"

#include <optional>
#include <string>
#include <vector>

namespace frit::emulation {

class EmulatedPlan {
public:
  EmulatedPlan() = default;
  EmulatedPlan(const EmulatedPlan &) = delete;

  /// Opens `function`, by default the first, of the artifact at `model`, and
  /// the kernels at `kernels` (those of file `unit`). Chooses the target
  /// `arch`, by default the first for a GPU, and runs its prepare list.
  Status open(const std::string &model, const std::string &kernels, int unit,
              const std::string &arch, const std::string &function = "");

  /// Sets the state to that of a new context.
  void resetState();

  /// Runs a variant on `inputs` in host memory; output() then has the results.
  /// Fails if the steps write other derived states than the derive list does.
  Status run(size_t variant, const std::vector<const void *> &inputs);

  const PlanView &plan() const { return view; }
  void *output(size_t index) const { return outputs[index].data(); }
  /// Sets a tensor of the state to bytes of its size.
  void setStateTensor(size_t index, const void *from);
  const void *stateTensor(size_t index) const {
    return state.data() + view.states()[index].offset;
  }
  void setSeed(uint64_t seed) const;
  /// Returns the number of steps of the last list that ran.
  size_t stepCount() const { return steps; }

private:
  using Entry = void (*)(void *const *arguments, const uint32_t grid[3],
                         const uint32_t block[3], uint32_t sharedBytes);

  /// A byte range of the arena.
  struct Range {
    uint64_t begin, end;
  };

  Status derive(const artifact::Program &program);
  Status checkDerived(const artifact::Program &program);
  /// Runs a list in its own arena.
  Status runSteps(std::span<const artifact::Step> list, uint64_t arenaBytes);
  std::vector<size_t> orderOf(std::span<const artifact::Step> list) const;
  size_t skip(std::span<const artifact::Step> next, const artifact::Step &step);
  Status runStep(const artifact::Step &step);
  /// Run a step on the addresses of its arguments.
#define RUNNER(Name)                                                           \
  Status run##Name(const artifact::Step &step,                                 \
                   std::span<void *const> arguments);
  FRIT_STEP_RUNNERS(RUNNER)
#undef RUNNER
  void *resolve(const artifact::Buffer &buffer) const;
  Status makeArena(std::span<const artifact::Step> list, uint64_t bytes);
  void accept(const artifact::Step &step);
  Status checkArena(const artifact::Step &step);

  PlanView view;
  Weights weights;
  const artifact::Target *target = nullptr;
  void *kernels = nullptr;
  int unit = 0;
  size_t steps = 0;
  std::vector<cpu::HostMemory> constants, inputs, outputs;
  cpu::HostMemory prepared, arena;
  cpu::HostMemory state; ///< kept from run to run
  std::optional<DerivedStates> derived;
  /// The arena before a step, and the ranges compared after it.
  cpu::HostMemory before;
  std::vector<Range> watched;
};

} // namespace frit::emulation

#endif // FRIT_TEST_EMULATOR_EMULATEDPLAN_H
