//===- Outputs.cpp - Write outputs, run programs --------------------------===//

#include "compiler/driver/Outputs.h"

#include "compiler/driver/Status.h"
#include "compiler/support/Interrupts.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace frit;

Error frit::outputError(StringRef path, std::error_code error) {
  if (!error)
    return Error::success();
  return make_error<StatusError>(isOutputFault(error) ? kBadUsage : kMachine,
                                 describeOutputError(path.str(), error));
}

Error frit::outputError(StringRef path, Error error) {
  return outputError(path, errorToErrorCode(std::move(error)));
}

Error frit::refusalError(const OutputRefusal &refusal) {
  if (!refusal.code)
    return Error::success();
  return make_error<StatusError>(
      isOutputFault(refusal.code) ? kBadUsage : kMachine, refusal.message);
}

Expected<OutputFile> frit::createOutput(StringRef path, mode_t mode) {
  OutputFile file;
  if (std::error_code error = OutputFile::create(path.str(), file, mode))
    return outputError(path, error);
  return file;
}

Error frit::writeText(StringRef path, StringRef text) {
  // Flush first, so that earlier output stays before it.
  outs().flush();
  return outputError(path, writeFile(path.str(), text));
}

int frit::finishOutput(StringRef tool, int status) {
  // Clear the errors of both streams, for which LLVM would end the program with
  // another status. Lost messages do not change the status.
  errs().clear_error();
  outs().flush();
  std::error_code error = outs().error();
  if (!error)
    return status;
  outs().clear_error();
  WithColor::error(errs(), tool)
      << "cannot write to the standard output: " << error.message() << "\n";
  errs().clear_error();
  return status ? status : int(kMachine);
}

Error frit::run(ArrayRef<std::string> command, ExitStatus fault) {
  SmallVector<StringRef> words(command.begin(), command.end());
  std::string message;
  ChildSignals signals;
  int status = sys::ExecuteAndWait(command.front(), words, std::nullopt, {}, 0,
                                   0, &message);
  if (status == 0)
    return Error::success();
  return make_error<StatusError>(
      fault, "'" + join(words, " ") + "' failed" +
                 (message.empty() ? " with status " + std::to_string(status)
                                  : ": " + message));
}
