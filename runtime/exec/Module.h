//===- Module.h - What the handles of runtime.h point to ------------------===//

#ifndef FRIT_EXEC_MODULE_H
#define FRIT_EXEC_MODULE_H

#include "runtime/exec/Call.h"
#include "runtime/exec/Executor.h"

#include <string>
#include <vector>

struct frit_module {
  frit_module() = default;
  frit_module(const frit_module &) = delete;
  ~frit_module();

  /// Implements frit_module_open. `folder` holds the files of external weights
  /// unless the options name another.
  frit::Status open(const frit_image &image, const frit_module_options *options,
                    const std::string &folder);

  /// Implements frit_module_load.
  frit::Status load(const std::string &path,
                    const frit_module_options *options);

  frit::Model model;
  std::string name;
  std::string device = "none";
  /// Names in the plan, null-terminated for C.
  std::vector<std::string> inputNames, outputNames, archs, symbolNames;
  /// Per symbol, the sizes for which there are variants.
  std::vector<std::vector<int64_t>> symbolSizes;
  /// Per input or output, the symbol of each dimension, or -1.
  std::vector<std::vector<int32_t>> inputSymbols, outputSymbols;
  /// Per output, the count that each dimension depends on, or -1.
  std::vector<std::vector<int32_t>> outputCounts;
  std::unique_ptr<frit::Executor> executor;
  void *library = nullptr;

private:
  void copyTexts();
  frit::Status chooseDevice(const char *wanted);
};

struct frit_context {
  /// Implements frit_context_create.
  frit::Status open(frit_module &module);

  /// Matches the tensors of a call with the model's: fills `inputs` and
  /// `outputs` and chooses the variant.
  frit::Status bind(std::span<const frit_tensor> givenInputs,
                    std::span<const frit_tensor> givenOutputs);

  struct StepTexts {
    const char *kind;
    std::string node, kernel;
  };

  /// Texts of the steps of the current `variant`.
  std::vector<StepTexts> &stepTexts();

  frit_module *module = nullptr;
  std::unique_ptr<frit::Execution> execution;
  /// One per input and output of the plan; the counts are the last outputs.
  std::vector<frit::Binding> inputs, outputs;
  size_t variant = 0;
  /// Shapes of the outputs in the call that is bound, or in the last one.
  std::vector<std::vector<int64_t>> outputShapes;
  bool hasShapes = false; ///< whether a call set them

private:
  frit::Call call;
  std::vector<bool> seen;                    ///< which outputs `bind` was given
  std::vector<std::vector<StepTexts>> steps; ///< by variant, empty until asked
};

#endif // FRIT_EXEC_MODULE_H
