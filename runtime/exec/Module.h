//===- Module.h - What is behind the handles of runtime.h -----------------===//

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

  /// Does what frit_module_open says; `folder` holds external weights where the
  /// options name no folder.
  frit::Status open(const frit_image &image, const frit_module_options *options,
                    const std::string &folder);

  /// Opens the image of the shared library at `path`.
  frit::Status load(const std::string &path,
                    const frit_module_options *options);

  frit::Model model;
  std::string name;
  std::string device = "none";
  /// Texts of the plan, with the final null that C wants.
  std::vector<std::string> inputNames, outputNames, archs, symbolNames;
  /// The sizes of each symbol that there are variants of.
  std::vector<std::vector<int64_t>> symbolSizes;
  /// The symbol of each dimension, or -1, of every input and output.
  std::vector<std::vector<int32_t>> inputSymbols, outputSymbols;
  /// The count of each dimension, or -1, of every output.
  std::vector<std::vector<int32_t>> outputCounts;
  std::unique_ptr<frit::Executor> executor;
  void *library = nullptr;

private:
  void copyTexts();
  frit::Status chooseDevice(const char *wanted);
};

struct frit_context {
  /// Does what frit_context_create says.
  frit::Status open(frit_module &module);

  /// Matches a call's tensors with the model's, into `inputs` and `outputs`,
  /// and finds the variant for them.
  frit::Status bind(std::span<const frit_tensor> givenInputs,
                    std::span<const frit_tensor> givenOutputs);

  struct StepTexts {
    const char *kind;
    std::string node, kernel;
  };

  /// Those of the variant that the last call was bound for.
  std::vector<StepTexts> &stepTexts();

  frit_module *module = nullptr;
  std::unique_ptr<frit::Execution> execution;
  /// Of all outputs of the plan: behind the model's are the counts.
  std::vector<frit::Binding> inputs, outputs;
  size_t variant = 0;
  /// The shapes that the outputs had in the last call, or have in the one that
  /// is bound.
  std::vector<std::vector<int64_t>> outputShapes;
  bool hasShapes = false; ///< whether there was a call

private:
  frit::Call call;
  std::vector<bool> seen; ///< outputs that the caller of `bind` has given
  std::vector<std::vector<StepTexts>> steps; ///< by variant, empty until asked
};

#endif // FRIT_EXEC_MODULE_H
