//===- Session.h - A model, its inputs and its outputs --------------------===//

#ifndef FRIT_RUN_SESSION_H
#define FRIT_RUN_SESSION_H

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

  /// The tensors as the runtime wants them.
  std::vector<frit_tensor> bindInputs();
  std::vector<frit_tensor> bindOutputs();

  const Options &options;
  Module module;
  Context context;
  std::vector<Tensor> inputs, outputs;

private:
  bool applyInput(const std::string &argument);
  bool applyFile(const std::string &name, const std::string &path);
  bool applyMadeUp(const std::string &argument);
  bool place(Tensor tensor, const std::string &source);
  bool isInput(const std::string &name) const;
  bool nextInput(std::string &name) const;

  std::vector<bool> given;
};

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

/// Compares the outputs with a file's; prints the differences. True: alike.
bool compare(const Options &options, const std::vector<Tensor> &outputs);

} // namespace frit::run

#endif // FRIT_RUN_SESSION_H
