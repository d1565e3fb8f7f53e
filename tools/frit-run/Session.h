//===- Session.h - A model, its inputs and its outputs --------------------===//

#ifndef FRIT_TOOLS_FRIT_RUN_SESSION_H
#define FRIT_TOOLS_FRIT_RUN_SESSION_H

#include "Options.h"
#include "frit/runtime.hpp"
#include "tools/support/ExitStatus.h"
#include "tools/support/Message.h"
#include "tools/support/RandomData.h"

namespace frit::run {

/// The opened model and its tensors, for every mode of frit-run. Functions that
/// return bool print an error before they return false.
class Session {
public:
  explicit Session(const Options &options) : options(options) {}

  bool openModule();
  /// Returns whether all options have an effect on the open module; prints
  /// which one has none.
  bool checkOptions();
  /// Replaces the module by the function named in the options.
  Error chooseFunction();
  bool openContext();
  /// Reads or generates every input, allocates the outputs, and checks that no
  /// file is written over one that is read.
  bool prepareTensors();
  bool run();
  /// Shrinks the outputs to their true shapes after the last run. They cannot
  /// be bound again.
  bool cutOutputs();

  /// Prints the error and returns false.
  bool failed(const Error &error);
  /// Returns the exit status after a function returned false.
  int status() const { return exitStatus; }

  /// Return the tensors as arguments of frit_run.
  std::vector<frit_tensor> bindInputs();
  std::vector<frit_tensor> bindOutputs();

  const Options &options;
  Module module;
  Context context;
  std::vector<Tensor> inputs, outputs;

private:
  bool applyShape(const std::string &argument);
  bool takeSizes(size_t input, const std::string &source);
  bool generateInputs();
  bool makeOutputs();
  bool checkOutputs();
  bool applyInput(const std::string &argument);
  bool applyFile(const std::string &name, const std::string &path);
  bool applyText(const std::string &argument);
  bool applyGenerated(const std::string &argument);
  /// Prints an error of the command line and returns false.
  bool misused(const std::string &message);
  bool place(Tensor tensor, const std::string &source);
  bool isInput(const std::string &name) const;
  bool isOutput(const std::string &name) const;
  bool nextInput(std::string &name) const;

  /// An input to be generated, of the model's type.
  struct GeneratedInput {
    size_t input;
    RandomSpec random;
    bool isNumber = false;
    double number = 0;
    std::optional<std::string> text = std::nullopt; ///< of all strings
  };

  RandomSpec inRange(const GeneratedInput &entry, frit_dtype dtype) const;

  int exitStatus = kBadInput;
  std::vector<bool> given;
  std::vector<int64_t> sizes;            ///< per symbol; -1: not known yet
  std::vector<GeneratedInput> generated; ///< generated once all sizes are known
};

/// Formats a tensor's type with symbol names, given its type for the largest
/// sizes: "batchx3x224x224xf32", "4*batchx10xf32". With `counts`, a
/// data-dependent dimension is its upper bound: "2x<=12xi64".
std::string openType(const Module &module, const Tensor &largest,
                     const int32_t *symbols, const int32_t *counts = nullptr);

/// Implement --time-report. Call startTimeReport first. printTimeReport prints
/// how long each phase up to the first results took.
void startTimeReport();
void printTimeReport(const Session &session);

int runOnce(Session &session);
int bench(Session &session);
int profile(Session &session);
/// Implements --precision-report: compares each step's results with the
/// shadow's.
int precision(Session &session);

/// Returns seconds per call without transfers; negative after a failure. The
/// first call includes transfers and is not counted.
double timeCalls(Session &session);
int info(Session &session);
/// Continues a prompt, or replies to it, by a language model.
int generate(Session &session);

/// Compares the outputs with the file named in the options and prints the
/// differences. The file must have every output. Returns whether they agree.
bool compare(const Session &session);

} // namespace frit::run

#endif // FRIT_TOOLS_FRIT_RUN_SESSION_H
