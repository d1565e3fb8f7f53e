//===- Model.h - The functions of a compiled training step ----------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_MODEL_H
#define FRIT_TOOLS_FRIT_TRAIN_MODEL_H

#include "frit/runtime.h"
#include "tools/frit-train/Options.h"
#include "tools/frit-train/Shortage.h"
#include "tools/frit-train/data/Loader.h"

#include <memory>
#include <string>
#include <vector>

namespace frit::train {

/// A scalar that a function returns, such as the loss.
struct Metric {
  uint32_t output; ///< index of the function's output
  std::string name;
  double value = 0; ///< of the last call
};

/// A function of an artifact, ready to be called.
class ModelFunction {
public:
  /// Sets inputs and metrics. On failure prints an error and returns false.
  bool describe(frit_module *opened);

  /// Runs a batch. Sets the metrics and fills `wanted`, other outputs by name.
  /// On failure the runtime's last error says why.
  frit_status run(frit_context *context, std::span<const frit_tensor> inputs,
                  std::span<Tensor> wanted = {});

  frit_module *module() const { return opened; }
  const std::vector<Input> &inputs() const { return takes; }
  const std::vector<Metric> &metrics() const { return numbers; }
  uint64_t batch() const { return samples; }
  /// Returns the outputs that are not scalars.
  const std::vector<Input> &tensors() const { return returned; }

private:
  frit_module *opened = nullptr;
  std::vector<Input> takes, returned;
  std::vector<Metric> numbers;
  uint64_t samples = 0;
};

/// Opens the data that options name for the inputs of a function: `sources`, or
/// a file of tokens, with labels that are `ignored`, if that is not empty.
Fault openSamples(Dataset &data, const std::vector<std::string> &sources,
                  const std::string &tokens, const ModelFunction &function,
                  int64_t ignored);

/// Returns a batch of inputs of these types as arguments of frit_run. They
/// point to both.
std::vector<frit_tensor> bindInputs(const std::vector<Input> &types,
                                    const Batch &batch);

/// An opened artifact: a training step, the evaluation step for the same batch
/// if it has one, and their state.
/// Functions that return bool print an error before they return false.
class Model {
public:
  explicit Model(const Options &options) : options(options) {}

  /// Opens the functions for `batch` samples per call of this rank, or for
  /// those of the options if `batch` is 0. If the options only evaluate, opens
  /// no training step.
  bool open(uint64_t batch);

  ModelFunction train, evaluate;
  bool hasEvaluation() const { return evaluate.module(); }
  frit_context *trainContext() const { return context.get(); }
  frit_context *evaluateContext() const {
    return peer ? peer.get() : context.get();
  }
  /// Copies batches to the device ahead of their step.
  frit_feed *trainFeed() const { return feed.get(); }

  /// Returns names, types and shapes of the state, without elements.
  const std::vector<TensorView> &stateTypes() const { return types; }
  bool hasState(frit_state_role role) const {
    return find(role) < stateTypes().size();
  }
  /// Returns the bytes of this rank's state, not counting the last rank's
  /// remainder.
  uint64_t stateBytes() const;
  void allocateState(std::vector<TensorView> &state) const;
  /// Reads all state. If ranks divide it, one calls this while the others call
  /// giveState.
  bool readState(std::vector<TensorView> &state);
  /// Sends this rank's part of the state to the ranks that read it.
  bool giveState();
  bool writeState(const std::vector<TensorView> &state);
  /// Sets the weights to those of the file that the options name, if they do.
  bool loadWeights();
  /// Set or read a scalar state on rank 0, converted to or from its type.
  bool writeNumber(frit_state_role role, double value);
  bool readNumber(frit_state_role role, double &value);

  /// Makes an id for a group whose rank 0 this is. `join` then waits until all
  /// ranks have joined.
  bool makeGroup(frit_group_id &id);
  bool join(const frit_group_id &id);

  std::string name() const { return frit_module_name(artifact.get()); }
  frit_device_info device() const;

  /// Prints the runtime's last error, sets the exit status for it and returns
  /// false.
  bool failed(frit_status status);
  bool failed(const Fault &fault);
  bool failed(const std::string &message, ExitStatus status = kBadInput);
  /// Sets the exit status of a rank that ends silently, and returns false.
  bool leave();
  /// Returns the exit status after a function returned false.
  int status() const { return exitStatus; }

private:
  struct Close {
    void operator()(frit_module *module) const { frit_module_close(module); }
    void operator()(frit_context *context) const {
      frit_context_destroy(context);
    }
    void operator()(frit_feed *feed) const { frit_feed_destroy(feed); }
  };
  using ModuleHandle = std::unique_ptr<frit_module, Close>;
  using ContextHandle = std::unique_ptr<frit_context, Close>;

  bool openFunctions(uint64_t batch);
  bool openStep(uint64_t batch);
  bool openEvaluation();
  bool openEvaluationAlone();
  /// Opens as `function` the one that takes the samples of the options, or
  /// `batch` of this rank if that is not 0, and fits into memory.
  bool choose(const std::vector<frit_module *> &functions, uint64_t batch,
              ModelFunction &function);
  /// Returns the function whose context has the state.
  const ModelFunction &main() const {
    return train.module() ? train : evaluate;
  }
  /// Returns the index of the first state tensor with this role, or their
  /// number.
  size_t find(frit_state_role role) const;
  bool describeState();
  bool readInto(const std::vector<TensorView> &state);
  bool isOnCpu() const;
  bool failedToJoin(frit_status status);
  MemoryNeed memoryNeed(const ModelFunction &function) const;
  /// Opens the functions of the artifact that compute `role`, in its order.
  bool openFunctions(frit_function_role role,
                     std::vector<frit_module *> &functions);

  const Options &options;
  int exitStatus = kBadInput;
  // The order matters: contexts are destroyed before modules.
  ModuleHandle artifact;
  std::vector<ModuleHandle> others; ///< other functions of it
  ContextHandle context, peer;
  std::unique_ptr<frit_feed, Close> feed;
  std::vector<TensorView> types;
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_MODEL_H
