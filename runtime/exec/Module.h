//===- Module.h - Types behind the handles of runtime.h -------------------===//

#ifndef FRIT_RUNTIME_EXEC_MODULE_H
#define FRIT_RUNTIME_EXEC_MODULE_H

#include "runtime/exec/Call.h"
#include "runtime/exec/Executor.h"
#include "runtime/strings/StringCall.h"

#include <string>
#include <vector>

namespace frit {
/// An open artifact, shared by the modules of its functions.
struct OpenedArtifact {
  OpenedArtifact() = default;
  OpenedArtifact(const OpenedArtifact &) = delete;
  ~OpenedArtifact();

  const frit_image *image = nullptr;
  void *library = nullptr; ///< that contains the image; may be null
  Weights weights;
  std::string folder; ///< of external weights
};
} // namespace frit

struct frit_module {
  frit_module() = default;
  frit_module(const frit_module &) = delete;

  /// Implements frit_module_open. `folder` contains the files of external
  /// weights unless the options name another; `weights` replace some.
  frit::Status open(const frit_image &image, const frit_module_options *options,
                    const std::string &folder,
                    std::span<const frit_tensor> weights);

  /// Implements frit_module_load_weights.
  frit::Status load(const std::string &path, const frit_module_options *options,
                    std::span<const frit_tensor> weights);

  /// Implements frit_module_set_weights.
  frit::Status setWeights(std::span<const frit_tensor> weights);

  /// Implements frit_module_open_function for a function of `from`.
  frit::Status openFunction(const frit_module &from, const char *wanted);

  /// Destroyed last: all members below may point into the library's image.
  std::shared_ptr<frit::OpenedArtifact> artifact;
  frit::Model model;
  std::string name;
  std::string function;
  std::string device = "none";
  /// Names in the plan, null-terminated for C.
  std::vector<std::string> inputNames, outputNames, archs, symbolNames;
  std::vector<std::string> functionNames, stateNames, weightNames;
  std::vector<std::string> weightFiles; ///< paths, each once
  /// Per input, the uses of its indices.
  std::vector<std::vector<std::string>> indexUses;
  /// Per symbol, the sizes for which there are variants.
  std::vector<std::vector<int64_t>> symbolSizes;
  /// Per input or output, the symbol of each dimension, or -1.
  std::vector<std::vector<int32_t>> inputSymbols, outputSymbols;
  /// Per output, the count that each dimension depends on, or -1.
  std::vector<std::vector<int32_t>> outputCounts;
  std::unique_ptr<frit::Executor> executor;

private:
  void copyTexts();
  frit::Status chooseDevice(const char *wanted);
  frit::Status openOn(int ordinal, const frit::Executor *sibling);
};

struct frit_context {
  /// Implements frit_context_create, and frit_context_create_peer if `peer` is
  /// not null.
  frit::Status open(frit_module &module, frit_context *peer = nullptr);

  /// Matches the tensors of a call with the model's: fills `inputs` and
  /// `outputs` and chooses the variant.
  frit::Status bind(std::span<const frit_tensor> givenInputs,
                    std::span<const frit_tensor> givenOutputs);

  /// Writes the strings of the outputs, after a call.
  frit::Status finish();

  /// Matches the tensors of frit_state_read or frit_state_write with the
  /// model's: fills `state`. Tensors may have no data if `mayLackData`.
  frit::Status bindState(std::span<const frit_tensor> given, bool mayLackData);

  /// Implements frit_context_join.
  frit::Status join(const frit_group &group);

  struct StepTexts {
    const char *kind;
    std::string node, kernel;
  };

  /// Returns the texts of the steps of the current `variant`.
  std::vector<StepTexts> &stepTexts();

  frit_module *module = nullptr;
  std::unique_ptr<frit::Execution> execution;
  /// One per input and output of the plan; the counts are the last outputs.
  std::vector<frit::Binding> inputs, outputs;
  std::vector<frit::StateBinding> state;
  size_t variant = 0;
  /// Shapes of the outputs in the call that is bound, or in the last one.
  std::vector<std::vector<int64_t>> outputShapes;
  bool hasShapes = false; ///< whether a call set them

private:
  /// The ranks that divide the state of a context and its peers.
  struct Division {
    uint32_t rank = 0, size = 0; ///< size 0: none so far
  };

  std::shared_ptr<Division> division;
  bool usesShards = false; ///< whether calls use state that ranks divide
  bool hasJoined = false;
  frit::Call call;
  frit::StringCall strings;
  bool hasStrings = false;
  std::vector<bool> seen;                    ///< outputs that `bind` was given
  std::vector<std::vector<StepTexts>> steps; ///< by variant, empty until asked
};

#endif // FRIT_RUNTIME_EXEC_MODULE_H
