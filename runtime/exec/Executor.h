//===- Executor.h - What runs a plan on one kind of device ----------------===//
//
// A module has one Executor: code and weights on its device. A context has one
// Execution: the memory and the queue that a call needs. There are two of each,
// for GPUs and for the host.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_EXEC_EXECUTOR_H
#define FRIT_EXEC_EXECUTOR_H

#include "runtime/exec/Phases.h"
#include "runtime/exec/PlanView.h"
#include "runtime/exec/StridedRegion.h"
#include "runtime/exec/Weights.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace frit {

/// Tells the program what is worth knowing but no error.
struct Remark {
  void (*call)(void *user, const char *message) = nullptr;
  void *user = nullptr;

  void operator()(const std::string &message) const {
    if (call)
      call(user, message.c_str());
  }
};

/// What an executor runs and how. Outlives the executor.
struct Model {
  const frit_image *image = nullptr;
  PlanView plan;
  const artifact::Target *target = nullptr;
  Weights weights;
  uint32_t flags = 0; ///< of frit_module_flags
  uint32_t threads = 0;
  Remark remark;
  Phases phases; ///< of opening it

  bool has(frit_module_flags flag) const { return flags & flag; }
  /// What a call of a variant does.
  std::span<const artifact::Step> steps(size_t variant) const {
    return plan.steps(plan.programs(*target)[variant].steps);
  }
  /// The lists of steps of the target: to prepare, then by variant.
  std::vector<std::span<const artifact::Step>> lists() const {
    std::vector<std::span<const artifact::Step>> all = {
        plan.steps(target->prepare)};
    for (const artifact::Program &program : plan.programs(*target))
      all.push_back(plan.steps(program.steps));
    return all;
  }
  /// The memory that holds input or output `index` of any variant.
  uint64_t inputBytes(uint32_t index) const;
  uint64_t outputBytes(uint32_t index) const;
};

/// The memory of one input or output in one call. An output that nobody wants
/// has no data. `dims` is what the caller sees, no larger than the variant's;
/// of an output that a count decides about, it views `counted`, which holds the
/// most there may be until applyCounts.
struct Binding {
  void *data = nullptr;
  frit_location location = FRIT_HOST;
  std::span<const int64_t> dims;
  int64_t *counted = nullptr;
};

/// Where the elements of a binding lie in the tensor of the variant.
StridedRegion regionOf(const PlanView &plan, const Binding &binding,
                       const artifact::Tensor &tensor);

/// Makes the shapes of a variant's outputs what these counts say they are.
Status applyCounts(const PlanView &plan, size_t variant,
                   std::span<const int64_t> counts,
                   std::span<const Binding> outputs);

/// Whether a count may leave what is used of a tensor in several runs.
bool isCutInside(const PlanView &plan, const artifact::Tensor &tensor);

/// When a step ran, in microseconds since the call's begin.
struct StepTime {
  double start = 0;
  double duration = 0;
  bool ran = true; ///< a guard may have been in the way
};

class Execution {
public:
  virtual ~Execution() = default;

  Phases phases; ///< of making it

  /// Runs a variant; there is a binding for every input and output, of the
  /// counts too. Returns once the work is queued unless `wait`, or, where there
  /// are counts, once they are known.
  virtual Status run(size_t variant, std::span<const Binding> inputs,
                     std::span<const Binding> outputs, bool wait) = 0;

  /// Runs a variant step by step and says when each one ran.
  virtual Status profile(size_t variant, std::span<const Binding> inputs,
                         std::span<const Binding> outputs,
                         std::vector<StepTime> &times) = 0;

  virtual Status synchronize() = 0;

  /// The device queue, where there is one.
  virtual void *stream() const { return nullptr; }

  /// The execution's own memory for an input or output of any variant; null
  /// when there is not enough.
  virtual void *inputBuffer(uint32_t index) = 0;
  virtual void *outputBuffer(uint32_t index) = 0;

  /// The kernel or the library's algorithm that computes a step of a variant
  /// that is open.
  virtual std::string pick(size_t variant, uint32_t step) const = 0;

  /// Whether a library computes the step.
  virtual bool isLibrary(size_t variant, uint32_t step) const { return false; }
};

class Executor {
public:
  virtual ~Executor() = default;
  virtual Status createExecution(std::unique_ptr<Execution> &execution) = 0;

  /// Fills in everything but `device`.
  virtual void describe(frit_device_info &info) const = 0;
};

/// Load the model's code and weights and run its prepare list. An execution
/// that is created has its last variant open, the others open when they run.
Status createCpuExecutor(Model &model, std::unique_ptr<Executor> &executor);
Status createCudaExecutor(Model &model, int ordinal,
                          std::unique_ptr<Executor> &executor);

/// "node 'x': …" in front of what went wrong in `step`, if anything did.
Status stepFailed(const PlanView &plan, const artifact::Step &step,
                  Status status);

/// The failure of a step that no library took and that has no kernel.
Status noKernel(const PlanView &plan, const artifact::Step &step);

} // namespace frit

#endif // FRIT_EXEC_EXECUTOR_H
