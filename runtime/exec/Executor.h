//===- Executor.h - Interface of executors, one per kind of device --------===//
//
// A module has one Executor. The executors of an artifact's functions share the
// target's code and weights on the device. A context has one Execution, which
// owns the memory and the stream of its calls.
// Both are implemented twice: for CUDA and for the CPU.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_EXEC_EXECUTOR_H
#define FRIT_RUNTIME_EXEC_EXECUTOR_H

#include "runtime/exec/Feed.h"
#include "runtime/exec/MemorySource.h"
#include "runtime/exec/Phases.h"
#include "runtime/exec/StridedRegion.h"
#include "runtime/exec/Weights.h"
#include "runtime/plan/PlanView.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace frit {

/// Passes remarks (useful to know, but no errors) to the program's callback.
struct Remark {
  void (*call)(void *user, const char *message) = nullptr;
  void *user = nullptr;

  void operator()(const std::string &message) const {
    if (call)
      call(user, message.c_str());
  }
};

/// An opened model and the options it was opened with. Outlives its executor.
struct Model {
  const frit_image *image = nullptr;
  PlanView plan;
  const artifact::Target *target = nullptr;
  Weights *weights = nullptr; ///< shared by the artifact's functions
  uint32_t flags = 0;         ///< of frit_module_flags
  uint32_t threads = 0;
  Remark remark;
  std::shared_ptr<MemorySource> memory;
  Phases phases; ///< of opening the module

  bool has(frit_module_flags flag) const { return flags & flag; }
  /// Returns whether the weights' host memory is read after the module has been
  /// opened: to set the state of new contexts.
  bool keepsWeights() const;
  /// Returns the steps of a call of `variant`.
  std::span<const artifact::Step> steps(size_t variant) const {
    return plan.steps(plan.programs(*target)[variant].steps);
  }
  /// Return the bytes that suffice for input or output `index` in every
  /// variant.
  uint64_t inputBytes(uint32_t index) const;
  uint64_t outputBytes(uint32_t index) const;
};

/// Memory of one input or output in one call. `data` is null for an output that
/// the caller does not want. `dims` is the caller's shape, at most the
/// variant's. If an output's shape depends on the data, `dims` views `counted`,
/// which is the upper bound until applyCounts.
struct Binding {
  void *data = nullptr;
  frit_location location = FRIT_HOST;
  std::span<const int64_t> dims;
  int64_t *counted = nullptr;
};

/// The caller's memory for entry `index` of Header::states.
struct StateBinding {
  uint32_t index = 0;
  void *data = nullptr;
  frit_location location = FRIT_HOST;
};

/// Describes the region of the variant's tensor that has the caller's elements.
StridedRegion regionOf(const PlanView &plan, const Binding &binding,
                       const artifact::Tensor &tensor);

/// Sets the data-dependent output shapes from the counts that the device
/// computed. Fails if a count is negative: the model found its own input
/// invalid.
Status applyCounts(const PlanView &plan, size_t variant,
                   std::span<const int64_t> counts,
                   std::span<const Binding> outputs);

/// Returns whether a data-dependent length may shorten an inner dimension. The
/// valid elements are not contiguous then.
bool isCutInside(const PlanView &plan, const artifact::Tensor &tensor);

/// When a step ran, in microseconds since the start of the call.
struct StepTime {
  double start = 0;
  double duration = 0;
  bool ran = true; ///< false if a guard skipped it
};

class Execution {
public:
  virtual ~Execution() = default;

  Phases phases; ///< of creating the context

  /// Runs a variant. There is one binding per input and output of the plan,
  /// counts included. If `wait` is false, returns once the work is on the
  /// stream, or, in a model with counts, once these are known.
  virtual Status run(size_t variant, std::span<const Binding> inputs,
                     std::span<const Binding> outputs, bool wait) = 0;

  /// Runs a variant one step at a time and measures each.
  virtual Status profile(size_t variant, std::span<const Binding> inputs,
                         std::span<const Binding> outputs,
                         std::vector<StepTime> &times) = 0;

  /// Called with a step that ran and the contents of its arguments in host
  /// memory: results after it, operands before it. Null for operands that
  /// `trace` was not asked for.
  using Visit =
      std::function<void(size_t step, std::span<const void *const> arguments)>;

  /// Runs a variant one step at a time and passes the results of each to
  /// `visit`, and also its operands if `operands` is set.
  virtual Status trace(size_t variant, std::span<const Binding> inputs,
                       std::span<const Binding> outputs, bool operands,
                       const Visit &visit) = 0;

  virtual Status synchronize() = 0;

  /// Makes all-reduces average over a group; see frit_context_join.
  virtual Status join(const frit_group &group) = 0;

  /// Copy state tensors to or from the caller's memory, after earlier and
  /// before later calls of this execution and its peers. frit_state_read and
  /// frit_state_write say when they wait.
  virtual Status readState(std::span<const StateBinding> tensors) = 0;
  virtual Status writeState(std::span<const StateBinding> tensors) = 0;

  /// Creates a feed, which copies inputs of later calls. This execution
  /// outlives it.
  virtual Status createFeed(std::unique_ptr<InputFeed> &feed) {
    feed = std::make_unique<InputFeed>();
    return Status();
  }

  /// Enqueues later work on a CUstream of the caller, ordered after earlier
  /// work; null means the own stream. Has no effect on the CPU.
  virtual Status setStream(void *stream) { return Status(); }

  /// Returns the CUstream; null on the CPU.
  virtual void *stream() const { return nullptr; }

  /// Returns this execution's own buffer for an input or output, large enough
  /// for every variant; null when memory runs out.
  virtual void *inputBuffer(uint32_t index) = 0;
  virtual void *outputBuffer(uint32_t index) = 0;

  /// Names the kernel or the library's algorithm that computes a step. The
  /// variant must be open.
  virtual std::string pick(size_t variant, uint32_t step) const = 0;

  /// Returns whether a library computes the step.
  virtual bool isLibrary(size_t variant, uint32_t step) const { return false; }
};

class Executor {
public:
  virtual ~Executor() = default;
  /// Creates an execution. `peer`, if not null, is an execution of another
  /// function's executor on the same device: the new one shares its state and
  /// stream, and its scratch memory if that is large enough.
  virtual Status createExecution(Execution *peer,
                                 std::unique_ptr<Execution> &execution) = 0;

  /// Replaces the constants `changed` by their new weights. Executions use them
  /// from their next call on.
  virtual Status setWeights(std::span<const uint32_t> changed) = 0;

  virtual Status makeGroupId(frit_group_id &id) const = 0;

  /// Allocates memory of the device. `owner` frees it.
  virtual Status allocate(uint64_t bytes, std::shared_ptr<void> &owner,
                          void *&data) const = 0;

  /// Fills in all fields but `device`.
  virtual void describe(frit_device_info &info) const = 0;
};

/// Create an executor: load the target's code and weights and run its prepare
/// list, or share those of `sibling`, the executor of another function of the
/// artifact on the same device, if it is not null. A new execution opens its
/// last (largest) variant at once, the others at their first call.
Status createCpuExecutor(Model &model, const Executor *sibling,
                         std::unique_ptr<Executor> &executor);
Status createCudaExecutor(Model &model, int ordinal, const Executor *sibling,
                          std::unique_ptr<Executor> &executor);

/// Returns `status`; if it failed, with "node 'x': " before its message.
Status stepFailed(const PlanView &plan, const artifact::Step &step,
                  Status status);

/// Returns the error for a step that no library accepts and that has no kernel
/// of frit's. `deterministic` says whether some of the libraries' algorithms
/// were excluded.
Status noKernel(const PlanView &plan, const artifact::Step &step,
                bool deterministic = false);

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_EXECUTOR_H
