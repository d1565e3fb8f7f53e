//===- Session.h - A model, its inputs and its outputs --------------------===//

#ifndef FRIT_RUN_SESSION_H
#define FRIT_RUN_SESSION_H

#include "ExitStatus.h"
#include "Options.h"
#include "Tensor.h"
#include "frit/runtime.hpp"

namespace frit::run {

/// What every way of running needs. The steps return false after they have
/// printed what is wrong.
class Session {
public:
  explicit Session(const Options &options) : options(options) {}

  bool openModule();
  bool openContext();
  /// Reads or makes up every input, and makes room for the outputs.
  bool prepareTensors();
  bool run();
  /// Cuts the outputs to what the last run made of them; they can be bound no
  /// more.
  bool cutOutputs();

  /// Prints what the runtime says and returns false.
  bool failed(const Error &error);
  /// What the program ends with after a step returned false.
  int status() const { return exitStatus; }

  /// The tensors as the runtime wants them.
  std::vector<frit_tensor> bindInputs();
  std::vector<frit_tensor> bindOutputs();

  const Options &options;
  Module module;
  Context context;
  std::vector<Tensor> inputs, outputs;

private:
  bool applyShape(const std::string &argument);
  bool takeSizes(size_t input, const std::string &source);
  bool makeUp();
  bool makeOutputs();
  bool applyInput(const std::string &argument);
  bool applyFile(const std::string &name, const std::string &path);
  bool applyMadeUp(const std::string &argument);
  bool place(Tensor tensor, const std::string &source);
  bool isInput(const std::string &name) const;
  bool isOutput(const std::string &name) const;
  bool nextInput(std::string &name) const;

  /// An input of the model's own type that is to be made up.
  struct MadeUp {
    size_t input;
    RandomSpec random;
    bool isNumber = false;
    double number = 0;
  };

  int exitStatus = kBadInput;
  std::vector<bool> given;
  std::vector<int64_t> sizes; ///< of the model's symbols; -1: not known yet
  std::vector<MadeUp> madeUp; ///< once all sizes are known
};

/// A tensor's type with symbols' names, from what it is for the largest sizes:
/// "batchx3x224x224xf32", or "4*batchx10xf32"; "2x<=12xi64" of a dimension that
/// the device counts, where `counts` are there.
std::string openType(const Module &module, const Tensor &largest,
                     const int32_t *symbols, const int32_t *counts = nullptr);

/// Prints "frit-run: message" and returns false.
bool complain(const std::string &message);

/// Called first: where the time up to the results of a run goes, for
/// --time-report.
void startTimeReport();
void printTimeReport(const Session &session);

int runOnce(Session &session);
int bench(Session &session);
int profile(Session &session);

/// Seconds of a call that stays on the device, after one that did not; negative
/// after a failure.
double timeCalls(Session &session);
int info(Session &session);

/// Compares the outputs with those of the file that the options name, which
/// must have every one; prints the differences. True: alike.
bool compare(const Session &session);

} // namespace frit::run

#endif // FRIT_RUN_SESSION_H
