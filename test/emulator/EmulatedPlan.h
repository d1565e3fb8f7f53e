//===- EmulatedPlan.h - A CUDA target's plan, run on the host -------------===//
//
// What the runtime's CUDA executor does, in host memory: every step launches
// its kernel through the library that emulate.py made, the steps meant for
// cuBLAS or cuDNN too, whose fallback kernels are tested in that way.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_EMULATOR_EMULATEDPLAN_H
#define FRIT_TEST_EMULATOR_EMULATEDPLAN_H

#include "runtime/cpu/HostMemory.h"
#include "runtime/exec/PlanView.h"
#include "runtime/exec/Weights.h"

#include <string>
#include <vector>

namespace frit::emulation {

class EmulatedPlan {
public:
  EmulatedPlan() = default;
  EmulatedPlan(const EmulatedPlan &) = delete;

  /// Opens the artifact at `model` and the kernels at `kernels`, of which it
  /// takes those of file `unit`, takes the target named `arch` or else the
  /// first one for a GPU, and runs its prepare list.
  Status open(const std::string &model, const std::string &kernels, int unit,
              const std::string &arch);

  /// Runs a variant over `inputs`, the host memory of each; then output() has
  /// the results.
  Status run(size_t variant, const std::vector<const void *> &inputs);

  const PlanView &plan() const { return view; }
  void *output(size_t index) const { return outputs[index].data(); }
  void setSeed(uint64_t seed) const;
  /// Steps of the last list that was run.
  size_t stepCount() const { return steps; }

private:
  using Entry = void (*)(void *const *arguments, const uint32_t grid[3],
                         const uint32_t block[3], uint32_t sharedBytes);

  /// Bytes of the arena.
  struct Range {
    uint64_t begin, end;
  };

  /// Runs a list in an arena of its own.
  Status runSteps(std::span<const artifact::Step> list, uint64_t arenaBytes);
  std::vector<size_t> orderOf(std::span<const artifact::Step> list) const;
  size_t skip(std::span<const artifact::Step> next, const artifact::Step &step);
  Status runStep(const artifact::Step &step);
  Status launch(const artifact::Step &step, std::span<void *const> arguments);
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
  /// The arena as it was before the step, to see what the step changed, and
  /// where that is looked for.
  cpu::HostMemory before;
  std::vector<Range> watched;
};

} // namespace frit::emulation

#endif // FRIT_TEST_EMULATOR_EMULATEDPLAN_H
