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
  std::span<const artifact::Step> steps() const {
    return plan.steps(target->main);
  }
};

/// The memory of one input or output in one call. An output that nobody wants
/// has no data.
struct Binding {
  void *data = nullptr;
  frit_location location = FRIT_HOST;
};

/// When a step ran, in microseconds since the call's begin.
struct StepTime {
  double start = 0;
  double duration = 0;
};

class Execution {
public:
  virtual ~Execution() = default;

  Phases phases; ///< of making it

  /// Runs the plan; there is a binding for every input and output. Returns once
  /// the work is queued unless `wait`.
  virtual Status run(std::span<const Binding> inputs,
                     std::span<const Binding> outputs, bool wait) = 0;

  /// Runs the plan step by step and says when each one ran.
  virtual Status profile(std::span<const Binding> inputs,
                         std::span<const Binding> outputs,
                         std::vector<StepTime> &times) = 0;

  virtual Status synchronize() = 0;

  /// The device queue, where there is one.
  virtual void *stream() const { return nullptr; }

  /// The execution's own memory for an input or output; null when there is not
  /// enough.
  virtual void *inputBuffer(uint32_t index) = 0;
  virtual void *outputBuffer(uint32_t index) = 0;

  /// The kernel or the library's algorithm that computes a step of the plan.
  virtual std::string pick(uint32_t step) const = 0;

  /// Whether a library computes the step.
  virtual bool isLibrary(uint32_t step) const { return false; }
};

class Executor {
public:
  virtual ~Executor() = default;
  virtual Status createExecution(std::unique_ptr<Execution> &execution) = 0;

  /// Fills in everything but `device`.
  virtual void describe(frit_device_info &info) const = 0;
};

/// Load the model's code and weights and run its prepare list.
Status createCpuExecutor(Model &model, std::unique_ptr<Executor> &executor);
Status createCudaExecutor(Model &model, int ordinal,
                          std::unique_ptr<Executor> &executor);

/// "node 'x': …" in front of what went wrong in `step`, if anything did.
Status stepFailed(const PlanView &plan, const artifact::Step &step,
                  Status status);

/// The failure of a gemm or conv that no library took and that has no kernel.
Status noKernel(const PlanView &plan, const artifact::Step &step);

} // namespace frit

#endif // FRIT_EXEC_EXECUTOR_H
